"""The published result of `check frame`: schema `resident-claims/frame/1`."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from spec.claims.states import Mode
from spec.language.schemas import framed_schema

__all__ = [
    "SCHEMA",
    "Answer",
    "Change",
    "Counterexample",
    "Failure",
    "FrameCheck",
    "Invariant",
    "exit_code",
    "frame_schema",
]

SCHEMA: Final = "resident-claims/frame/1"

Result = Literal["proved", "refuted", "unknown"]


class Change(msgspec.Struct, frozen=True):
    """A value that differs from the expected one."""

    what: str
    expected: str
    found: str


class Counterexample(msgspec.Struct, frozen=True):
    """A state and an event that refute a lemma, and the values that differ from the expected ones.

    Initial values of the state and defaults of the event are left out.
    """

    state: dict[str, str]
    event: dict[str, str]
    changes: list[Change]


class Failure(msgspec.Struct, frozen=True):
    """A question that was not proved: its subject (an observer, a ledger, a source), and the part
    or kind of event. `says` is set if the question could not be asked.
    """

    of: str
    part: str
    result: Literal["refuted", "unknown"]
    says: str = ""
    counterexample: Counterexample | None = None


class Answer(msgspec.Struct, frozen=True):
    """The result of one lemma: the number of questions by subject, and those not proved."""

    name: str
    part: Literal["frame", "translation"]
    says: str
    result: Result
    questions: dict[str, int]
    failures: list[Failure]
    seconds: float


class Invariant(msgspec.Struct, frozen=True):
    """An invariant of the reachable states of an observer that a lemma uses."""

    observer: str
    says: str


class FrameCheck(msgspec.Struct, frozen=True):
    """The published result of `check frame`.

    `observers` are the obligations of the modes' bundles; `invariants` those that the lemmas use.
    `not_checked` says what no lemma is about, and why.
    """

    schema: Literal["resident-claims/frame/1"]
    tool: str
    spec: str
    modes: list[Mode]
    observers: list[str]
    lemmas: list[Answer]
    invariants: list[Invariant]
    not_checked: list[str] = []


def exit_code(check: FrameCheck) -> int:
    """0 all proved, 1 one refuted, 3 one unknown."""
    results = {lemma.result for lemma in check.lemmas}
    if "refuted" in results:
        return 1
    return 0 if results == {"proved"} else 3


def frame_schema() -> dict[str, Any]:
    """The JSON Schema of a check."""
    return framed_schema(SCHEMA, "python -m proofs docs", msgspec.json.schema(FrameCheck))
