"""Runs that a solver found, as events and as stories."""
