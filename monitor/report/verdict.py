"""Defines the published outcome of a check: schema `resident-claims/verdict/2`."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, Literal

import msgspec

from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.language.schemas import framed_schema
from spec.language.verdicts import Verdict
from spec.stream.outcome import ModeVerdict

__all__ = [
    "SCHEMA",
    "Applies",
    "BreakReport",
    "ClaimReport",
    "Events",
    "Forgotten",
    "Input",
    "ModeChoice",
    "ModeReport",
    "ObligationReport",
    "Place",
    "Report",
    "Trust",
    "Unjudged",
    "UnjudgedClaim",
    "verdict_schema",
]

SCHEMA: Final = "resident-claims/verdict/2"


class ModeChoice(StrEnum):
    """The mode that claims are judged by; `auto`: each by the one that it states."""

    AUTO = "auto"
    BEST_EFFORT = Mode.BEST_EFFORT.value
    SOFT_PRIORITY = Mode.SOFT_PRIORITY.value
    HARD_PROTECTED = Mode.HARD_PROTECTED.value
    EXPIRING = Mode.EXPIRING.value
    DEMOTABLE = Mode.DEMOTABLE.value
    OFFLOADABLE = Mode.OFFLOADABLE.value
    ROUTED_REUSE = Mode.ROUTED_REUSE.value


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where the deciding event was read; lines count from 1."""

    file: str
    line: int
    sequence: int | None


class ObligationReport(msgspec.Struct, frozen=True, gc=False):
    """One obligation of one claim: its verdict, the event that decided it, and why.

    `allowed` says what was expected instead where the obligation was violated. Where nothing is
    concluded, `code` is the code of the reason, such as `RC101`, and `reason` its name, such as
    `lines-missing`. What a claim that never entered satisfies it did not exercise.
    """

    verdict: Verdict
    at: Place | None
    why: str
    allowed: str = ""
    code: str = ""
    reason: str = ""


class ClaimReport(msgspec.Struct, frozen=True, gc=False):
    """One claim in one period of a stream; `state` is where its lifecycle stands, as reported.

    `declared_mode` is what the claim asked for, in the word of its dialect; `mode` the one that it
    was judged by. `period` counts the runs of the stream from 1. `entered` says whether anything
    was owed to it: it was accepted, or registered where its mode is watched from there.
    """

    claim_id: str
    stream: str
    state: str
    verdict: ModeVerdict
    obligations: dict[str, ObligationReport]
    why: str = ""
    declared_mode: str | None = None
    mode: Mode | None = None
    period: int = 1
    entered: bool = True


class BreakReport(msgspec.Struct, frozen=True, gc=False):
    """Where a period of a stream ended because events are missing, contradict each other, or begin
    again. Nothing is concluded from there on of the claims that were alive.
    """

    file: str
    stream: str
    code: str
    reason: str
    why: str
    at: Place | None


class Input(msgspec.Struct, frozen=True):
    """A file as the user named it, with the SHA-256 of its bytes.

    `lines` counts those that are not blank; `rejection` is what was wrong with the first of the
    rejected. `form` says what was read of KV events: of which runtimes, and how many.
    """

    file: str
    sha256: str
    lines: int = 0
    rejected: int = 0
    rejection: str = ""
    form: str = ""


class Events(msgspec.Struct, frozen=True):
    """Events read, those of unknown kinds by kind, and lines rejected (only with --lenient).

    With --reorder also lines that were repeated, came early and were held back, came too late, and
    had the number of another line with another content. The first and the third are not read.
    """

    read: int
    unknown: dict[str, int]
    rejected: int
    duplicates: int = 0
    reordered: int = 0
    late: int = 0
    contradicting: int = 0


class Forgotten(msgspec.Struct, frozen=True):
    """Claims that ended and are not listed: how many, by verdict, and by obligation and verdict."""

    claims: int
    verdicts: dict[ModeVerdict, int]
    obligations: dict[str, dict[Verdict, int]]


class Trust(msgspec.Struct, frozen=True):
    """What the verdict takes for true: facts by kind.

    `derived` are the kinds of facts that the form of a stream does not state, and that were read
    from its reports and its metadata instead.
    """

    facts: dict[str, int]
    derived: list[str]


class Applies(msgspec.Struct, frozen=True):
    """Whether the theorem of the mode applies to what was read.

    Where it does not, `at` is the first place at which an assumption is left, and `because` how.
    """

    applies: bool
    at: Place | None = None
    because: str = ""


class UnjudgedClaim(msgspec.Struct, frozen=True):
    """A claim that no mode judges, where each is judged by the one that it states; and why.

    `hint` is the mode that recordings of its form are mostly judged by, where they have one.
    """

    claim_id: str
    stream: str
    state: str
    why: str
    declared_mode: str | None = None
    hint: Mode | None = None


class Unjudged(msgspec.Struct, frozen=True):
    """The claims that no mode judges; so many of them ended and are not listed.

    Those that were `turned_away` without more, such as malformed ones, are listed apart: nothing is
    owed to them in any mode, so they leave the verdict as it is.
    """

    claims: list[UnjudgedClaim]
    forgotten: int = 0
    turned_away: list[UnjudgedClaim] = []
    turned_away_forgotten: int = 0


class ModeReport(msgspec.Struct, frozen=True):
    """What the claims that one mode judges came to.

    `read_from` has the recorded forms whose own words for the mode stand for it. `code` is the code
    of the reason for which no claim can be kept, and `reason` its name, where there is one.
    """

    mode: Mode
    verdict: ModeVerdict
    why: str
    obligations: dict[str, Verdict]
    forgotten: Forgotten
    theorem: Applies
    read_from: list[str] = []
    code: str = ""
    reason: str = ""


class Report(msgspec.Struct, frozen=True):
    """A whole check. `why` says what decided the verdict. `code` is the code of the reason for
    which nothing can be kept, such as `RC404`, and `reason` its name, where there is one.

    `claims` has the live claims, those that ended last, and the first that ended and were not kept;
    the others are counted in `forgotten`. Claims that state another mode than the one that was
    asked for are counted in `others`. `breaks` has the places at which streams lack events or
    contradict themselves, also after a violation.

    `modes` has one part for each mode that judges claims; of the whole, `verdict`, `obligations`,
    `forgotten` and `theorem` are pooled over them. By a mode that was asked for there is one part.
    By `auto` there is one for each mode that a claim states, and the claims that state none are
    `unjudged`: the whole is then not kept, unless each was turned away.
    """

    schema: Literal["resident-claims/verdict/2"]
    tool: str
    spec: str
    inputs: list[Input]
    mode: ModeChoice
    bundle: Bundle
    strict: bool
    verdict: ModeVerdict
    why: str
    obligations: dict[str, Verdict]
    events: Events
    claims: list[ClaimReport]
    trust: Trust
    forgotten: Forgotten
    others: dict[Mode, int]
    theorem: Applies
    claim: str | None = None
    breaks: list[BreakReport] = []
    modes: list[ModeReport] = []
    unjudged: Unjudged = Unjudged([])
    code: str = ""
    reason: str = ""

    def __str__(self) -> str:
        """What `check` prints, without colours."""
        from monitor.report.report_text import as_text  # it lays out what is defined here
        from spec.cli.layout import Plain

        return as_text(self, Plain())


def verdict_schema() -> dict[str, Any]:
    """The JSON Schema of a report."""
    return framed_schema(SCHEMA, "python -m monitor schema", msgspec.json.schema(Report))
