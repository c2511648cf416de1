"""Checks trace files and reports the outcome."""
