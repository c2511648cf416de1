"""Live verdicts: judges events as they arrive."""
