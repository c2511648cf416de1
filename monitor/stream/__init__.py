"""Tracks one stream: order of lines, claims, and what each event means for each claim."""
