"""The plugin inside a real engine: `make test-vllm`."""

import tests_vllm.tiny  # noqa: F401  (the environment is set before vLLM is imported)
