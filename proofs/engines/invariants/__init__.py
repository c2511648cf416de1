"""Inductive invariants: found by Spacer, recorded, weakened, and each checked by plain Z3."""
