"""Terms as formulas: to Z3, made smaller, and as SMT-LIB text."""
