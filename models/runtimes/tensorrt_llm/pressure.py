"""Runs the experiment of soft_priority on the model: two prefixes, and a request that evicts one.

The counts are those that are published of TensorRT-LLM: five runs with the priorities as given,
five with them swapped, and three with equal ones. The model is deterministic, so the runs of an arm
have pools of different sizes. Source: Fail-Closed Lowering of Resident KV Claims, section 6.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from models.framework.model import step
from models.framework.shims import Shim, stream_of
from models.runtimes.tensorrt_llm.model import TensorrtLlm
from models.runtimes.tensorrt_llm.pools import Ask, Range
from spec.claims.states import Mode
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from models.framework.model import Emitted
    from spec.events.canonical import Event

__all__ = ["pressure_runs"]

_ARMS: Final = {"original": (80, 50, 5), "swapped": (50, 80, 5), "equal": (50, 50, 3)}
"""The priorities of both prefixes, and the number of runs."""

_NEXT: Final = ("finish", "start", "arrive")
_SHIM: Final = Shim(
    Mode.SOFT_PRIORITY,
    frozenset({"retention_config"}),
    {"stored": Kind.CLAIM_MATERIALIZED, "removed": Kind.CLAIM_UNMATERIALIZED},
)


def pressure_runs() -> dict[str, list[Event]]:
    """The events of each run, by its name."""
    return {
        f"{arm}-{number + 1}": stream_of(_SHIM, _emitted(a, b, number), "model")
        for arm, (a, b, runs) in _ARMS.items()
        for number in range(runs)
    }


def _emitted(a: int, b: int, spare: int) -> Iterator[Emitted]:
    """One request after another, in a pool with room for both prefixes and some blocks more."""
    prefixes = (Ask(name, name, 0, (Range(0, 1, p),)) for name, p in (("a", a), ("b", b)))
    asks = (*prefixes, Ask("active", None, spare + 1))
    model = TensorrtLlm(2 + spare, asks, host=0, in_order=True)
    state = next(model.initial())
    while actions := {action.name: action for action in model.actions(state)}:
        state, emits = step(model, state, next(actions[name] for name in _NEXT if name in actions))
        yield from emits
