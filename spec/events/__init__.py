"""Defines the kinds of events, their fields, and the canonical form."""
