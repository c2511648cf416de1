"""Tests against SGLang's own code, which `make test-sglang` fetches."""
