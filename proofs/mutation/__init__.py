"""Mutants of the specification, and the checks that must notice each of them."""
