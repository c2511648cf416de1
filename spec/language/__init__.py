"""How obligations are written: terms, observers, verdicts, and what goes wrong."""
