"""Decodes what engines publish of their KV caches."""
