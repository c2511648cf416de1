"""Is it so for every run? Terms to Z3, engines, theorems, counterexamples. Z3 lives only here."""
