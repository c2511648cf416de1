"""Translates terms to formulas: to Z3, partially evaluated, and as SMT-LIB text."""
