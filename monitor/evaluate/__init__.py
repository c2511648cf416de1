"""One claim under observation: compiled observers, ledgers, and what they found."""
