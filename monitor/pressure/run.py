"""Reads one run of the experiment: which of two claims lost a block first."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from monitor.check.conclude import found_in
from monitor.core import Streams
from monitor.input.dialects import Reader
from monitor.input.records import content_of
from monitor.input.sources import Source
from monitor.watch.preconditions import Evaluated, Met, preconditions
from monitor.watch.reader import Joins
from monitor.watch.registry import load_registry
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.language.prose import counted
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from monitor.check.conclude import Found
    from monitor.input.records import Record
    from monitor.watch.registry import Watching
    from spec.events.canonical import Event

__all__ = ["PAIR", "Arm", "First", "Run", "read_run", "run_in"]

PAIR: Final = "="
"""Stands between a registry and a capture of KV events that are one run."""

_TERMS: Final = frozenset({Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED})
_LOSSES: Final = frozenset({Kind.CLAIM_BLOCK_LOST, Kind.CLAIM_UNMATERIALIZED})
_TAKES: Final = frozenset({Kind.BLOCK_EVICTED, Kind.BLOCK_LOST})
_USES: Final = frozenset({Kind.CLAIM_MATERIALIZED, Kind.PREFIX_REUSED})
_CHECKED: Final = ("claim_identity", "claim_scoped_telemetry")
_INFLUENCE: Final = "priority_influence"


class Arm(StrEnum):
    """How the priorities of a run are: the first claim, by its id, is higher, lower, or equal."""

    ORIGINAL = "original"
    SWAPPED = "swapped"
    EQUAL = "equal"


class First(StrEnum):
    """Which claim lost a block first; of equal priorities the first or the second by its id."""

    LOWER = "lower"
    HIGHER = "higher"
    A = "a"
    B = "b"
    SAME_EVENT = "same event"


@dataclass(frozen=True, slots=True)
class Run:
    """One run.

    Attributes:
        names: the two claims, by their ids.
        about: the owner, the object, the cache identity and the predicate of each.
        older: the claim that was cached, or reused, longer ago when the first block was lost.
        arm: None if the run does not have two claims with priorities.
        first: None if the run does not say it; `why` says why.
        sha256: of its events, or of the bytes of a capture, to which a registry adds claims.
        preconditions: of the join, where claims were joined with a capture.
    """

    file: str
    names: tuple[str, ...] = ()
    about: tuple[tuple[str | None, ...], ...] = ()
    older: str = ""
    arm: Arm | None = None
    first: First | None = None
    why: str = ""
    sha256: str = ""
    preconditions: tuple[Evaluated, ...] = ()


@dataclass(slots=True)
class _Seen:
    """What is stated of the claims of a run, in order."""

    priorities: dict[str, int | None] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)  # claims of other modes
    about: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    streams: set[str] = field(default_factory=set)
    used: dict[str, None] = field(default_factory=dict)  # claims that are there, the oldest first
    losses: dict[str, int] = field(default_factory=dict)  # the number of the event that took it
    taken: int = 0  # events that took blocks
    last: Kind | None = None  # of the event that took blocks last
    first_taken_by: Kind | None = None
    odd: str = ""  # why the terms of a claim are not those of one run

    def note(self, record: Record) -> None:
        for event, _ in record.events:
            name = event.claim_id
            if event.kind in _TAKES:
                self.taken, self.last = self.taken + 1, event.kind
            elif name is None:
                continue
            elif event.kind in _TERMS:
                self._terms(name, event)
            elif event.kind in _USES and name in self.priorities and not self.losses:
                self.used.pop(name, None)
                self.used[name] = None
            elif event.kind in _LOSSES and name in self.priorities and name not in self.losses:
                self.first_taken_by = self.first_taken_by or self.last
                self.losses[name] = self.taken
            if name in self.priorities:
                self.streams.add(record.stamp.stream)

    def _terms(self, name: str, event: Event) -> None:
        """What a claim asks for: once in a run, and the same in each statement of it."""
        if event.mode not in (None, Mode.SOFT_PRIORITY):
            self.others.setdefault(name, event.mode)
        if name in self.others:
            if name in self.priorities or event.mode is Mode.SOFT_PRIORITY:
                self.odd = self.odd or f"claim {name} is stated in two modes"
            return
        again = event.kind is Kind.CLAIM_REGISTERED and name in self.priorities
        known = self.priorities.setdefault(name, event.priority)
        if (again and not event.restated) or event.priority not in (None, known):
            self.odd = self.odd or f"claim {name} is stated twice, or with two priorities"
        stated = (event.owner_scope, event.object_id, event.cache_identity, event.predicate)
        both = [*zip(self.about.get(name, stated), stated, strict=True)]
        self.about[name] = tuple(b if a is None else a for a, b in both)
        if any(a != b for a, b in both if None not in (a, b)):
            self.odd = self.odd or f"claim {name} is stated with two owners, or about two objects"


def read_run(text: str) -> Run:
    """The run in a trace, or in a capture of KV events: `REGISTRY=CAPTURE`.

    Raises:
        InputError: a file cannot be read.
        SpecError: the registry is none.
    """
    registry, pair, path = text.rpartition(PAIR)
    run = run_in(path, load_registry(Path(registry)) if pair else None)
    return replace(run, file=text)


def run_in(path: str, watching: Watching | None = None) -> Run:
    """The run in a trace, or in a capture of KV events with the claims of a registry.

    Raises:
        InputError: the file cannot be read.
    """
    joins = None if watching is None else Joins(watching)
    streams, seen, digest = Streams(Mode.SOFT_PRIORITY), _Seen(), hashlib.sha256()
    source = Source([path], reader_of=Reader if joins is None else joins.reader)
    for record in source:
        streams.take(record)
        seen.note(record)
        digest.update(content_of(record))
    streams.finish()
    found = found_in(streams, source.accounts)
    if watching is None or joins is None:
        return replace(_concluded(path, seen, found), sha256=digest.hexdigest())
    conditions = tuple(preconditions(watching, joins.made))
    run = _concluded(path, seen, found, conditions)
    return replace(run, sha256=source.accounts[0].sha256, preconditions=conditions)


def _concluded(file: str, seen: _Seen, found: Found, conditions: tuple[Evaluated, ...] = ()) -> Run:
    """The run.

    Args:
        conditions: of the join, if there is one; its events do not say what else could have been
            evicted.
    """
    names = tuple(sorted(seen.priorities))
    if len(names) != 2:
        rest = "".join(f", {n} of {mode}" for mode, n in Counter(seen.others.values()).items())
        claims = counted(len(names), "claim")
        return Run(file, names, why=f"{claims} of soft_priority{rest}; two are needed")
    one, other = (seen.priorities[name] for name in names)
    if one is None or other is None:
        return Run(file, names, why="a claim states no priority")
    arm = Arm.EQUAL if one == other else Arm.ORIGINAL if one > other else Arm.SWAPPED
    about = tuple(seen.about[name] for name in names)
    run = Run(file, names, about, next(iter(seen.used), ""), arm)
    unmet = (f"{each.precondition} is {each.met}" for each in conditions if each.met != Met.MET)
    if why := _unsound(names, seen, found) or next(unmet, ""):
        return replace(run, why=why)
    a, b = (seen.losses.get(name) for name in names)
    if a == b:
        why = "" if arm is Arm.EQUAL else "both claims lost a block in one event"
        return replace(run, first=First.SAME_EVENT if not why else None, why=why)
    a_first = b is None or (a is not None and a < b)
    if arm is Arm.EQUAL:
        return replace(run, first=First.A if a_first else First.B)
    passed_over = _is_passed_over(names, found)
    lower_first = a_first is not (arm is Arm.ORIGINAL)
    if passed_over or (not lower_first and conditions):
        return replace(run, first=First.HIGHER)
    if not lower_first:
        return replace(run, why="no block of the lower claim is known to have been free to go")
    return replace(run, first=First.LOWER)


def _is_passed_over(names: tuple[str, ...], found: Found) -> bool:
    """Whether a claim lost a block although one of the lower claim could be taken."""
    return any(
        claim.findings[_INFLUENCE].verdict is Verdict.VIOLATED
        for stream in found.streams
        for claim in stream.claims
        if claim.claim_id in names and claim.mode is Mode.SOFT_PRIORITY
    )


def _unsound(names: tuple[str, ...], seen: _Seen, found: Found) -> str:
    """Why a run does not show which claim lost a block first; empty where it does."""
    if seen.odd or len(seen.streams) > 1:
        return seen.odd or "the claims are in several streams"
    for stream in found.streams:
        for reason in stream.gaps:
            return f"{reason.text} ({reason.code.number})"
        for claim in stream.claims:
            if claim.claim_id not in names:
                continue
            if claim.mode is not Mode.SOFT_PRIORITY:
                return f"claim {claim.claim_id} is stated in two modes"
            for name in _CHECKED:
                verdict = claim.findings[name].verdict
                if verdict in (Verdict.VIOLATED, Verdict.INCONCLUSIVE):
                    return f"claim {claim.claim_id}: {name} is {verdict}"
    if missing := [name for name in names if name not in seen.used]:
        return f"claim {missing[0]} was not there before the first loss"
    if not seen.losses:
        return "no claim lost a block: there was no pressure"
    if seen.first_taken_by is not Kind.BLOCK_EVICTED:
        return "the first loss was no eviction"
    return ""
