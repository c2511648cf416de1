"""k-induction over mathematical integers, with candidate invariants from the specification."""
