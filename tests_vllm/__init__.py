"""The plugin inside a real engine: `make test-vllm`."""

import runtime_hooks.demo.tiny  # noqa: F401  (the environment is set before vLLM is imported)
