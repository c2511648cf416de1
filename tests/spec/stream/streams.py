"""Writes small streams for the tests of the judge, one event a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from spec.events.alphabet import Kind
from spec.events.canonical import CacheGroup, Event, Mark, StreamMark
from spec.language.verdicts import Verdict
from spec.stream.breaks import Line, line_of
from spec.stream.claim import outcome_of
from spec.stream.judge import Judge
from spec.stream.outcome import ClaimOutcome, ModeVerdict

__all__ = ["claim", "ended", "event", "judged", "mark", "numbered", "of", "verdict"]


def event(kind: str, **fields: Any) -> Event:
    """An event without a sequence number; `judged` numbers those that have none."""
    return Event(kind=Kind(kind), **fields)


def mark(kind: str, **fields: Any) -> StreamMark:
    """A mark of a stream."""
    groups = tuple(CacheGroup(*each) for each in fields.pop("groups", ()))
    return StreamMark(kind=Mark(kind), groups=groups, **fields)


def claim(
    name: str = "a", *, mode: str = "hard_protected", blocks: int = 2, **fields: Any
) -> Iterator[Event]:
    """A claim of so many blocks, registered, committed and accepted."""
    stated = {"cache_identity": "cache", "object_id": f"object of {name}", "owner_scope": "owner"}
    keys = fields.pop("keys", ())
    footprint = fields.pop("footprint", blocks)
    yield event(
        "claim_registered",
        claim_id=name,
        predicate=f"leading_prefix_at_least({blocks})",
        mode=mode,
        keys=keys,
        **{**stated, **fields},
    )
    yield event("claim_committed", claim_id=name, footprint=footprint)
    yield event("claim_accepted", claim_id=name, footprint=footprint)


def ended(name: str = "a") -> Iterator[Event]:
    """The owner withdraws a claim."""
    yield event("claim_retired", claim_id=name, by="owner")
    yield event("claim_released", claim_id=name, by="owner")


def numbered(lines: Iterable[Event | StreamMark], first: int = 0) -> Iterator[Line]:
    """Lines with sequence numbers from `first` on; one that has a number goes on from there."""
    number = first
    for place, each in enumerate(lines, 1):
        if each.sequence is not None:
            number = each.sequence
        yield line_of(each, place)._replace(sequence=number)
        number += 1


def judged(lines: Iterable[Event | StreamMark], **options: Any) -> Judge:
    """The judge that has taken in these lines."""
    judge = Judge(**options)
    for line in numbered(lines):
        judge.take(line)
    judge.finish()
    return judge


def of(judge: Judge, name: str = "a") -> ClaimOutcome:
    """What a claim of the last period came to."""
    return outcome_of(judge.claims[name])


def verdict(judge: Judge, name: str = "a", obligation: str = "") -> ModeVerdict | Verdict:
    """The verdict on a claim, or on an obligation of it."""
    found = of(judge, name)
    return found.findings[obligation].verdict if obligation else found.verdict
