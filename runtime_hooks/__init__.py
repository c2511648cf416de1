"""How a real runtime is seen and steered: the vLLM plugin, its hooks, and what they enforce."""
