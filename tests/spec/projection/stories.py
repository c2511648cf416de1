"""Lines of short streams, written event by event."""

from __future__ import annotations

from typing import Any

import msgspec

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection.lines import Line
from spec.projection.outcome import Outcome, judge

Said = Event | dict[str, Any]


def event(kind: Kind, name: str | None = None, **fields: Any) -> Event:
    return Event(kind=kind, claim_id=name, **fields)


def begun(
    name: str = "a",
    mode: Mode = Mode.HARD_PROTECTED,
    *,
    size: int = 2,
    block: int = 10,
    **terms: Any,
) -> list[Event]:
    """A claim that is taken on and filled, all of it told."""
    asked = {"cache_identity": "cache", "object_id": f"object of {name}", "owner_scope": "owner"}
    asked |= {"predicate": f"leading_prefix_at_least({size})", "mode": str(mode), **terms}
    return [
        event(Kind.CLAIM_REGISTERED, name, **asked),
        event(Kind.CLAIM_COMMITTED, name, footprint=size),
        event(Kind.CLAIM_ACCEPTED, name, footprint=size),
        cached(name, *range(block, block + size)),
        event(Kind.CLAIM_MATERIALIZED, name),
    ]


def keyed(claim: list[Event], keys: tuple[str, ...]) -> list[Event]:
    """The claim, with content keys stated by its commitment."""
    states: dict[str, Any] = {"content_keys": keys}
    return [
        msgspec.structs.replace(each, **states) if each.kind is Kind.CLAIM_COMMITTED else each
        for each in claim
    ]


def cached(name: str, *blocks: int, **more: Any) -> Event:
    positions = tuple(range(len(blocks)))
    return event(Kind.BLOCK_CACHED, name, block_ids=blocks, positions=positions, **more)


def ended(name: str = "a") -> list[Event]:
    """The owner gives the claim up, and it is reported."""
    return [
        event(Kind.CLAIM_RETIRED, name, by="owner"),
        event(Kind.CLAIM_RELEASED, name, by="owner"),
    ]


def arrives(request: str, needed: int, usable: int = 8) -> Event:
    return Event(kind=Kind.REQUEST_ARRIVED, request_id=request, needed=needed, usable=usable)


def finishes(request: str) -> Event:
    return Event(kind=Kind.REQUEST_FINISHED, request_id=request)


def refused(request: str, *names: str, **more: Any) -> Event:
    kind, blamed = Kind.REQUEST_REFUSED, {"blocking_claim_ids": names}
    return Event(kind=kind, request_id=request, **blamed, **more)


def lines(*events: Event, **more: Any) -> list[Line]:
    """The events as a stream, each one line with its number."""
    return [Line(at, (e,), at - 1, e.time_ns, **more) for at, e in enumerate(events, 1)]


def judged(*events: Event, mode: Mode = Mode.HARD_PROTECTED) -> Outcome:
    return judge(lines(*events), mode)


def verdicts(outcome: Outcome, name: str = "a") -> dict[str, str]:
    """The verdicts on one claim by obligation."""
    return {n: str(found.verdict) for n, found in outcome.claims[name].findings.items()}


def having(outcome: Outcome, verdict: str, name: str = "a") -> set[str]:
    """The obligations of one claim that came to this."""
    return {n for n, found in verdicts(outcome, name).items() if found == verdict}
