"""The commands `cores`, `explain` and `recheck` of `python -m proofs`."""
