"""Disturbs a follower for minutes, and compares each of its verdicts with an offline check."""
