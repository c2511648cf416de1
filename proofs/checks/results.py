"""The published results of single checks."""

from __future__ import annotations

import msgspec

from proofs.traces.narrative import Line
from spec.events.canonical import Event

__all__ = ["Lacking", "Leaned", "Paper", "PaperClause", "Sound"]


class Leaned(msgspec.Struct, frozen=True):
    """A lemma that a mode's theorem depends on: `proved` by Z3, `failed`, or `unknown`.

    `parts` are the questions of which it consists, as the base case and the step of an induction.
    """

    name: str
    says: str
    result: str
    parts: list[str]


class Sound(msgspec.Struct, frozen=True):
    """`proved` for every run, and checked again. `bounded`: only of runs of up to `bound` events,
    with up to `blocks` of anything that is counted; null is any number.

    `refuted` comes with the clauses that fail and a shortest run that shows it, of `bound` events;
    where that run could not be written as events, `trace` is empty and `story` still tells it.
    """

    result: str
    engine: str
    bound: int | None
    blocks: int | None
    rechecked: bool
    seconds: float
    clauses: dict[str, str]
    failed: list[str]
    trace: list[Event]
    story: list[Line]
    reason: str = ""


class PaperClause(msgspec.Struct, frozen=True):
    """One clause by itself: `proved` for every run, or `refuted` by a shortest run to its failure.

    `length` is how many events the fewest are; `trace` is empty where no such run can be written
    as events.
    """

    result: str
    length: int | None = None
    trace: list[Event] = []
    story: list[Line] = []
    reason: str = ""


class Paper(msgspec.Struct, frozen=True):
    """The bundle as the papers print it, clause by clause.

    `is_contract`: nothing had to be added, so the proof of the contract answers for it.
    """

    is_contract: bool
    seconds: float
    clauses: dict[str, PaperClause]


class Lacking(msgspec.Struct, frozen=True):
    """The contract without one obligation, or without one rule of one.

    `necessary`: a run breaks a clause (`failed`) and keeps all the rest. `length` is how many
    events the fewest are; `trace` is a shortest run that can be written as events, and empty where
    none was found, while `story` tells a run in any case. `redundant`: every clause is proved
    without it.
    """

    result: str
    length: int | None = None
    failed: list[str] = []
    trace: list[Event] = []
    story: list[Line] = []
    reason: str = ""
