"""The lowering relation a second time, for Z3, and what is proved of it.

Written from `docs/lowering.md` and the paper, without the Python relation of `spec.lowering`.
"""
