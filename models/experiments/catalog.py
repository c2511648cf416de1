"""Lists the experiments by name; each is computed when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from models.experiments.agents import agents, load_sweep
from models.experiments.answers import answers
from models.experiments.capacity import capacity
from models.experiments.comparison import Experiment
from models.experiments.predictions import predictions
from models.experiments.scenarios import eviction, retention
from models.experiments.spans import materialization, no_admit
from spec.language.suggest import resolve

__all__ = ["EXPERIMENTS", "computed"]

EXPERIMENTS: Final[Mapping[str, Callable[[], Experiment]]] = {
    "capacity": capacity,
    "materialization": materialization,
    "no-admit": no_admit,
    "answers": answers,
    "predictions": predictions,
    "agents": agents,
    "load": load_sweep,
    "eviction": eviction,
    "retention": retention,
}


def computed(names: Iterable[str] = ()) -> list[Experiment]:
    """Compute the experiments of these names, or all.

    Raises:
        SpecError: there is none of that name.
    """
    asked = [resolve(n, EXPERIMENTS, what="experiment", listed=_LISTED) for n in names]
    return [EXPERIMENTS[name]() for name in asked or EXPERIMENTS]


_LISTED: Final = "models experiments"
