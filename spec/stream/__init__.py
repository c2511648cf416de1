"""Defines the meaning of a stream: what each event of it means for each claim.

Begin with `judge.py`: `Judge.take` and `Judge._event` name the other modules in the order in which
a line meets them. `docs/stream.md` has the rules in words.
"""
