"""Reads the request records of routers for claims in the mode `routed_reuse`."""
