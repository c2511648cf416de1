"""Tracks the blocks of a pool: owners, sharing, and capacity."""
