"""Bounded search: runs of up to a length, minimised, and many questions over one unrolling."""
