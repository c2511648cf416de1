"""Renders the outcome of a check: published schemas, text and CI formats."""
