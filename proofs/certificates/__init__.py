"""Writes proofs as files, and checks them again without the engines."""
