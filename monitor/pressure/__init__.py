"""Judges the controlled experiment of soft_priority: two claims under pressure, in several runs."""
