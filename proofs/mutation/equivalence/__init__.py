"""Whether the solver proves a mutant equivalent to the original, or shows a run that differs."""
