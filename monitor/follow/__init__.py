"""Follows events of running processes: judges them as they come, and survives restarts."""
