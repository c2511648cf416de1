"""What must hold: ledgers, obligations, readings and modes."""
