"""Observes vLLM and enforces claims in it: a plugin without changes to vLLM's files."""
