"""Writes HTML pages of proofs and labels: elements, and the page around them."""
