"""Checks that the transition system of a mode is the statement that its page makes."""
