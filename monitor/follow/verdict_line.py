"""Defines the lines of a file of verdicts: violations, claims that ended, limits; counts them.

Losses are posted as verdicts are, and stand in no file.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from monitor.report.verdict import Place
from spec.claims.states import Mode
from spec.language.prose import printable
from spec.language.verdicts import Verdict
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "NO_MODE",
    "ClaimLine",
    "Counts",
    "LimitLine",
    "LossLine",
    "PostedLine",
    "Reason",
    "VerdictLine",
    "ViolationLine",
    "key_of",
    "line_text",
]


class ViolationLine(
    msgspec.Struct,
    frozen=True,
    tag_field="schema",
    tag="resident-claims/followed-violation/2",
):
    """An obligation of a claim was violated, which no later event undoes.

    `id` is a digest of the source, the stream, the claim, the obligation and the event: whoever has
    a line of this id has this one. `at` is the event that decided; its line counts those of the
    source since it is followed, from 1. `allowed` says what was expected there instead. `period`
    counts the runs of the stream from 1.
    """

    id: str
    source: str
    stream: str
    claim_id: str
    mode: Mode
    obligation: str
    at: Place
    why: str
    allowed: str
    period: int = 1


class Reason(msgspec.Struct, frozen=True):
    """Why the verdict on an obligation is not known; `at` is the event that decided, if one did.

    `code` is the code of the reason where nothing is concluded, such as `RC101`, and `reason` its
    name, such as `lines-missing`.
    """

    why: str
    at: Place | None
    code: str = ""
    reason: str = ""


class ClaimLine(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    tag_field="schema",
    tag="resident-claims/followed-claim/2",
):
    """The verdict on a claim, by its mode, which is None where it states none.

    It is written when nothing but a late report can change it, and again if one does: the last line
    of a claim in a period counts. `at` is the event by which it was so. Of a claim that is still
    open when the stream ends, `final` is set. `period` counts the runs of the stream from 1.
    `entered` says whether the runtime owed it anything. `obligations` are those that were
    exercised, and `reasons` says of each that is inconclusive or pending why.
    """

    id: str
    source: str
    stream: str
    claim_id: str
    mode: Mode | None
    state: str
    verdict: ModeVerdict
    why: str
    at: Place
    obligations: dict[str, Verdict] = {}
    entered: bool = True
    final: bool = False
    reasons: dict[str, Reason] = {}
    period: int = 1


class LimitLine(
    msgspec.Struct,
    frozen=True,
    tag_field="schema",
    tag="resident-claims/followed-limit/1",
):
    """A limit of a stream was reached, for the first time: `live`, `requests` or `ids`.

    `at` is the event by which it was, and `why` says what is given up from there on.
    """

    id: str
    source: str
    stream: str
    limit: str
    at: Place
    why: str


class LossLine(
    msgspec.Struct,
    frozen=True,
    tag_field="schema",
    tag="resident-claims/watched-loss/1",
):
    """A prefix that an engine held is not held any more. `watch` posts it; it is no verdict.

    `id` is a digest of the stream, the claim and the batch: who watches again posts the same.
    `time_ns` is that of the engine's wall clock. Of the blocks that a hit `needed`, `held` are in
    the `tier` after the batch, and `why` is the cause.
    """

    id: str
    stream: str
    claim_id: str
    mode: Mode
    time_ns: int
    tier: str
    needed: int
    held: int
    why: str


VerdictLine: TypeAlias = ViolationLine | ClaimLine | LimitLine
PostedLine: TypeAlias = VerdictLine | LossLine


def key_of(origin: str, *parts: str | int | None) -> str:
    """A digest of what a line is about, in 32 hexadecimal characters."""
    text = msgspec.json.encode([origin, *parts])
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def line_text(line: VerdictLine) -> str:
    """One line for people."""
    if isinstance(line, ViolationLine):
        words = ["violated", line.claim_id, f"{line.mode}: {line.obligation}", line.why]
    elif isinstance(line, LimitLine):
        words = ["limit", line.limit, f"stream {line.stream}", line.why]
    else:
        words = [str(line.verdict), line.claim_id, f"{line.mode or 'no mode'}, {line.state}"]
        words += [line.why] if line.verdict is not ModeVerdict.KEPT else []
    number = "" if line.at.sequence is None else f", sequence {line.at.sequence}"
    where = f"({line.at.file}:{line.at.line}{number})"
    return f"{printable('  '.join([*words, where]))}\n"


NO_MODE = "none"
"""The mode of a claim that states none, or two."""


@dataclass(slots=True)
class Counts:
    """Numbers since the process started; those of sources by the source as the user named it.

    `verdicts` are on claims by mode and verdict, `obligations` by mode, name and verdict,
    `violations` by mode and name. `limits` counts the streams that reached one, by the limit.
    """

    events: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    obligations: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    violations: Counter[tuple[str, str]] = field(default_factory=Counter)
    limits: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    gaps: Counter[str] = field(default_factory=Counter)

    def note(self, lines: Iterable[VerdictLine]) -> None:
        """Count what was decided."""
        for line in lines:
            if isinstance(line, ViolationLine):
                self.violations[line.mode, line.obligation] += 1
            elif isinstance(line, LimitLine):
                self.limits[line.limit] += 1
            else:
                mode = line.mode or NO_MODE
                self.verdicts[mode, line.verdict if line.entered else "not_entered"] += 1
                for name, verdict in line.obligations.items():
                    self.obligations[mode, name, verdict] += 1
