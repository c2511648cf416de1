"""Decides whether priorities have influence, across the runs of an experiment.

Influence is shown if in every run with unequal priorities the claim of lower priority lost a block
first, in runs with the priorities as given and swapped, and the same claim was the older one in all
of them: a cache that evicts the oldest block would have taken the higher one in half of them. Runs
with equal priorities are the control: they say what happens without a difference. Source:
Fail-Closed Lowering of Resident KV Claims, section 6.1.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from monitor.pressure.run import Arm, First
from monitor.watch.preconditions import Evaluated
from spec.events.fields import OF_MODEL
from spec.language.prose import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.pressure.run import Run

__all__ = ["Experiment", "Influence", "decide"]


class Influence(StrEnum):
    """Whether the priorities decided which claim lost a block first."""

    SHOWN = "shown"
    ABSENT = "absent"
    INCONCLUSIVE = "inconclusive"


class Counts(msgspec.Struct, frozen=True):
    """The runs of one arm: how many there are, by which claim lost a block first, and how many are
    unclear. Of equal priorities `lower` and `higher` are 0, and `a` and `b` count the claims.
    """

    runs: int
    lower: int
    higher: int
    a: int
    b: int
    same_event: int
    unclear: int


class Experiment(msgspec.Struct, frozen=True, tag_field="schema", tag="resident-claims/pressure/1"):
    """The runs of an experiment together.

    `claims` are the two that all runs have, in the order of their ids. `unclear` has the runs
    that do not say which claim lost a block first, each with the reason. `copies` has the runs that
    were given before, each with that one; they are not counted. `of_model` says that the runs are
    of a model, and not of an engine. `preconditions` are those of the join with a capture, by the
    run; a join is no evidence of enforcement.
    """

    influence: Influence
    why: str
    claims: list[str]
    arms: dict[Arm, Counts]
    unclear: dict[str, str]
    copies: dict[str, str]
    of_model: bool
    preconditions: dict[str, list[Evaluated]]


def decide(given: Sequence[Run]) -> Experiment:
    """Judge the runs together."""
    first: dict[str, Run] = {}
    copies: dict[str, str] = {}
    for run in given:
        if (same := first.setdefault(run.sha256 or run.file, run)) is not run:
            copies[run.file] = same.file
    runs = [*first.values()]
    arms = {arm: _counts([run for run in runs if run.arm is arm]) for arm in Arm}
    names = {run.names for run in runs if run.arm is not None}
    unclear = {run.file: run.why for run in runs if run.why}
    influence, why = _influence(arms, runs, unclear)
    of_model = any(OF_MODEL in about for run in runs for about in run.about)
    joined = {run.file: [*run.preconditions] for run in runs if run.preconditions}
    claims = [*min(names, default=())]
    return Experiment(influence, why, claims, arms, unclear, copies, of_model, joined)


def _counts(runs: Sequence[Run]) -> Counts:
    firsts = [run.first for run in runs]
    return Counts(
        runs=len(runs),
        lower=firsts.count(First.LOWER),
        higher=firsts.count(First.HIGHER),
        a=firsts.count(First.A),
        b=firsts.count(First.B),
        same_event=firsts.count(First.SAME_EVENT),
        unclear=firsts.count(None),
    )


def _influence(
    arms: dict[Arm, Counts], runs: Sequence[Run], unclear: dict[str, str]
) -> tuple[Influence, str]:
    if len({(run.names, run.about) for run in runs if run.arm is not None}) > 1:
        return Influence.INCONCLUSIVE, "the runs are not about the same two claims and objects"
    for arm in (Arm.ORIGINAL, Arm.SWAPPED):
        counts = arms[arm]
        if counts.higher:
            why = f"in {counts.higher} of {counts.runs} {arm} runs the higher claim was taken from"
            return Influence.ABSENT, why
    if unclear:
        file, why = next(iter(unclear.items()))
        return Influence.INCONCLUSIVE, f"{counted(len(unclear), 'unclear run')}; {file}: {why}"
    if missing := [str(arm) for arm, counts in arms.items() if not counts.runs]:
        return Influence.INCONCLUSIVE, f"there is no run with priorities {' and '.join(missing)}"
    if len({run.older for run in runs if run.arm is not Arm.EQUAL}) > 1:
        why = "not the same claim was cached first in all runs, so age may have decided"
        return Influence.INCONCLUSIVE, why
    pairs = (f"{arms[a].lower}/{arms[a].runs} {a}" for a in (Arm.ORIGINAL, Arm.SWAPPED))
    return Influence.SHOWN, f"the lower claim lost a block first in {', '.join(pairs)} runs"
