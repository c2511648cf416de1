"""Commands of `python -m proofs` that are more than a call."""
