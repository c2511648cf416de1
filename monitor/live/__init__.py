"""Verdicts while the events come."""
