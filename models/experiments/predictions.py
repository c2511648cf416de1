"""Tests the predictions of table 12 on the models, and names the command that tests each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from models.experiments.answers import live, outcome
from models.experiments.capacity import boundary
from models.experiments.comparison import Compared, Experiment
from models.experiments.spans import BULKY, CARRIER, Keep, SpanCache, retained, value_of
from models.runtimes.micro import Mechanism
from models.sweep import Cell

__all__ = ["PREDICTIONS", "Prediction", "predictions"]


class Prediction(NamedTuple):
    """A row of table 12: a short name, its test on a model if there is one, and a command."""

    name: str
    holds: Callable[[], bool] | None
    command: str


def _fragments() -> bool:
    leading = retained(Keep.FAIR, CARRIER)
    return all(leading) and not value_of(CARRIER, leading)


def _whole() -> bool:
    fair, *others = (
        value_of(CARRIER, retained(policy, CARRIER))
        for policy in (Keep.FAIR, Keep.COMPLETE, Keep.DENSITY)
    )
    return all(value > fair for value in others)


def _bulky(policy: Keep) -> tuple[int, int]:
    """Blocks that a repeat of the bulky request finds, and the value left of the residents."""
    cache = SpanCache(policy, BULKY, 80)
    for span in BULKY:
        cache.request(span)
    repeat = cache.request(BULKY[-1])
    return repeat, value_of(BULKY[:-1], [cache.request(span) for span in BULKY[:-1]])


def _without_action() -> bool:
    """No answer serves the request and keeps the claim, but those that act on one of both."""
    silent = (Mechanism.NATIVE, Mechanism.NO_ADMIT, Mechanism.RELAX)
    return not any(outcome(each).kept for each in silent)


def _chunking() -> bool:
    cuts = ((70,), (35, 35), (20, 20, 20, 10), (10,) * 7, (1,) * 70)
    return all(max(live(cut)) == 70 for cut in cuts)


def _refuses() -> bool:
    rows = boundary(60, 70, range(80, 132)).rows
    return all((row.exclusion == Cell("refused", 0)) == (row.usable < 130) for row in rows)


_SAYS: Final = {None: "none", True: "holds", False: "refuted"}
_PAGE: Final = "python -m models experiments"
PREDICTIONS: Final = (
    Prediction(
        "fair shares keep blocks and lose their value", _fragments, f"{_PAGE} materialization"
    ),
    Prediction("complete prefixes and density keep more value", _whole, f"{_PAGE} materialization"),
    Prediction(
        "no-admit prevents reuse of the bulky request",
        lambda: _bulky(Keep.NATIVE)[0] > _bulky(Keep.NO_ADMIT)[0] == 0,
        f"{_PAGE} no-admit",
    ),
    Prediction(
        "no-admit does not protect residents",
        lambda: _bulky(Keep.NO_ADMIT)[1] == 0,
        f"{_PAGE} no-admit",
    ),
    Prediction(
        "beyond the capacity another action is needed",
        _without_action,
        "python -m proofs check capacity",
    ),
    Prediction("chunks do not bound live KV", _chunking, f"{_PAGE} answers"),
    Prediction(
        "hard exclusion refuses below the boundary",
        _refuses,
        "python -m models sweep --resident 60 --active 70",
    ),
    Prediction("a real scheduler states the action", None, "make test-vllm"),
)
"""Section 8, table 12. The paper states of each that it was confirmed."""


def predictions() -> Experiment:
    """Table 12: each prediction with what a model says of it."""
    found = [(each, None if each.holds is None else each.holds()) for each in PREDICTIONS]
    held = sum(holds is True for _, holds in found)
    return Experiment(
        name="predictions",
        title="Falsifiable predictions",
        source="*Resident KV Claims*, section 8, table 12",
        inputs="The paper's 60, 70 and 80 blocks, and those of the experiments above.",
        head=("prediction", "on a model", "command that tests it"),
        rows=tuple((each.name, _SAYS[holds], f"`{each.command}`") for each, holds in found),
        compared=tuple(
            Compared(
                each.name, True, holds, "" if each.holds else f"no model has it: `{each.command}`"
            )
            for each, holds in found
        ),
        finding=(
            f"{held} of {len(found)} predictions hold on a model; the rest needs a real engine."
        ),
        command=f"{_PAGE} predictions",
    )
