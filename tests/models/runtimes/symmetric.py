"""Counts the states of a model with and without the symmetry of names."""

from __future__ import annotations

from typing import Any

from models.framework.model import Model
from models.framework.symmetry import renamings
from proofs.product.graph import Graph

__all__ = ["counts"]


def counts(model: Model[Any], *tracked: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """States and transitions without symmetry, and with it.

    Args:
        tracked: the names that are not interchanged.
    """
    assert list(renamings(model, tracked))
    graphs = Graph(model, symmetric=False), Graph(model, fixed=tracked)
    whole, ours = map(_counted, graphs)
    return whole, ours


def _counted(graph: Graph) -> tuple[int, int]:
    transitions = sum(len(graph.leaving(number)) for number, _ in enumerate(graph.states))
    return len(graph.states), transitions
