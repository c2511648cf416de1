"""The language of obligations: terms, observers, verdicts and errors."""
