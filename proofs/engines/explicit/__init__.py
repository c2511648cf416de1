"""Explicit-state search over small instances, without Z3."""
