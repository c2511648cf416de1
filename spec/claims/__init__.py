"""Defines claims: predicates, durations, and the lifecycle."""
