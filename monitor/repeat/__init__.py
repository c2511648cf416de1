"""Judges repeated runs of a connector boundary: restores, failed restores, and their controls."""
