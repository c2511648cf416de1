"""Evaluates the obligations of one claim: compiled observers and ledgers."""
