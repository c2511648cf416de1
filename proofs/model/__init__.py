"""The transition systems and theorems: the most general runtime, the auditor, the clauses."""
