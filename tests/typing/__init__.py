"""Calls of the Python API that are checked by mypy, and run."""
