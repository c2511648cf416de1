"""A second implementation of the lowering relation, in Z3, and the proofs about it.

It is written from `docs/lowering.md` and the paper, independently of `spec.lowering`.
"""
