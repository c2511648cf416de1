"""Compares the native core with the judge in Python."""
