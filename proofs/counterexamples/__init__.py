"""The bad-lowering suite: naive inferences, each with a shortest run that refutes it."""
