"""Enforces promises on blocks: which are never victims, and in which order others are."""
