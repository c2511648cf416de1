"""Tracks the blocks of claims: cached, used, evicted, lost, copied to a tier and loaded back."""
