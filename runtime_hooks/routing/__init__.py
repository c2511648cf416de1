"""Sends requests to the data-parallel rank that has their claim."""
