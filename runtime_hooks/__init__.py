"""How a real runtime is seen and steered: the vLLM plugin and its hooks (not built yet)."""
