"""The contract: ledgers, obligations, interpretations and modes."""
