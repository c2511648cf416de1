"""Is it so for every run? Terms to Z3, engines, theorems, counterexamples. Z3 lives only here."""

import z3

z3.set_param("ctrl_c", False)  # Z3 would take an interrupt for itself, and call the answer unknown
