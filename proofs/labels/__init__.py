"""Labelling runtimes: rows, what they rest on, and the pages made of them."""
