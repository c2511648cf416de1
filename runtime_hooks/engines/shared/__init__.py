"""Supplies what the adapters of all engine versions share."""
