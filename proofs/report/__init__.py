"""Answers for people, for CI and for the documentation."""
