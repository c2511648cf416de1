"""How many KV blocks a model has in vLLM, and how many claims fit into them, by its config.json."""

from models.budget.budget import Budget, budget_of

__all__ = ["Budget", "budget_of"]
