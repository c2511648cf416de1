"""Proofs on paper: written once, and checked again without the engines."""
