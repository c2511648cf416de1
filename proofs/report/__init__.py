"""Prints results for people, for CI and for the documentation."""
