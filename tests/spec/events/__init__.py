"""Tests of the kinds of events and their fields."""
