"""Runs found by a solver, as events, scenarios and text."""
