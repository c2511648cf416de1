"""Decides what becomes of claims and requests, from what an engine adapter observes."""
