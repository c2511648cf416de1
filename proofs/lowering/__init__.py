"""A second implementation of the lowering relation, in Z3, and the proofs about it.

Written from `docs/lowering.md` and the paper, without the Python relation of `spec.lowering`.
"""
