"""Tracks the requests of a stream: the blocks that each needs, and the claims named for its
outcome.
"""
