"""Tests with NixlConnector between two real engines of vLLM on the CPU."""
