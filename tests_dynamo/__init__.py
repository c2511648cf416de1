"""Tests with the KV indexer of NVIDIA Dynamo beside a real vLLM on the CPU."""
