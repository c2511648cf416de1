"""Writes the state of a monitor as bytes, and reads it back."""
