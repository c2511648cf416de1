"""The transition systems and theorems: the most general runtime, the auditor, the clauses.

`system` has the statement. `inductive_invariant`, `owed` and `strategy` are of another theorem:
that a runtime can always keep the obligations (`proofs.checks.receptiveness`).
"""
