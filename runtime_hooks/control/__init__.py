"""Connects the operator to a running engine: a Unix socket, and the commands `claims`."""
