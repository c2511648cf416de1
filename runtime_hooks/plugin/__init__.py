"""Turns the plugin on and off in a process, and diagnoses the engine."""
