"""Tests of the checks of a statement."""
