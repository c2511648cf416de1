"""Defines a line of the reference dialect: its fields, and its meaning in the run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from monitor.input.dialects._recorded import Bound, Count, Ended, Order
from monitor.input.errors import InputError
from monitor.input.records import Doubt
from spec.claims.predicates import MaterializationPredicate
from spec.events.alphabet import Kind
from spec.events.canonical import Event, Name

__all__ = ["REQUESTS", "Line", "Now", "Run"]

REQUESTS: Final = 100_000
"""Requests remembered per run; beyond them the oldest is forgotten."""


class Line(Bound, frozen=True):
    block_ids: tuple[Count, ...] | None = None
    leading_blocks_survived: Count | None = None
    lifecycle_generation: Order | None = None
    source_tier: Name | None = None
    destination_tier: Name | None = None
    cache_tier_from: Name | None = None
    cache_tier_to: Name | None = None
    restoration_completed: bool | None = None
    predicate_satisfied: bool | None = None
    claim_scoped_outcome: bool | None = None
    restoration_failure_event_sequence: Order | None = None
    feasibility: str | None = None


@dataclass(slots=True)
class Claim:
    """One claim of a run; `tier` is where it was offloaded to last."""

    predicate: MaterializationPredicate | None = None
    identity: dict[str, object] = field(default_factory=dict)
    tier: str | None = None
    ended: Ended = field(default_factory=Ended)


@dataclass(slots=True)
class Request:
    """One request: the claims whose restore failed for it, and whether it ended."""

    failed: set[str] = field(default_factory=set)
    ended: bool = False


@dataclass(slots=True)
class Run:
    """One stream: its claims, the requests that arrived, and those that claims were accepted by."""

    claims: dict[str, Claim] = field(default_factory=dict)
    requests: dict[str, Request] = field(default_factory=dict)
    residents: set[str] = field(default_factory=set)

    def begin(self, name: str) -> None:
        """A request arrives, whatever was known of this id."""
        self.requests.pop(name, None)
        if len(self.requests) >= REQUESTS:
            del self.requests[next(iter(self.requests))]
        self.requests[name] = Request()


@dataclass(frozen=True, slots=True)
class Now:
    """A line in its run."""

    event: str
    line: Line
    run: Run
    predicate: MaterializationPredicate | None
    file: str
    number: int
    doubts: list[Doubt] = field(default_factory=list)

    @property
    def claim(self) -> Claim:
        """The claim that the line names."""
        claim = self.run.claims.setdefault(self.line.claim_id or "", Claim())
        claim.predicate = claim.predicate or self.predicate
        return claim

    @property
    def request(self) -> Request:
        """The request that the line names, which has arrived."""
        return self.run.requests[self.line.request_id or ""]

    def check(self, *needed: str) -> None:
        """Raises InputError where a needed field has no value, or a block is listed twice."""
        for name in needed:
            self.need(name)
        ids = self.line.block_ids or ()
        if len(set(ids)) != len(ids):
            reason, hint = "a number occurs twice", "list each once"
            raise InputError(self.file, reason, line=self.number, field="block_ids", hint=hint)

    def need(self, name: str) -> Any:
        """The value of a field; raises InputError where it has none."""
        return self.line.need(name, self.event, self.file, self.number)

    def doubt(self, why: str, *only: str) -> None:
        """From here on nothing new is concluded about the claim, or of the obligations `only`."""
        self.doubts.append(Doubt(why, self.line.claim_id, frozenset(only)))

    def say(self, kind: Kind, **more: Any) -> Event:
        """An event about the claim of this line."""
        return Event(kind=kind, **self.line.binding, **more)

    def ask(self, kind: Kind, **more: Any) -> Event:
        """An event about the claim and the request of this line."""
        return self.say(kind, request_id=self.line.request_id, **more)

    def blocks(self) -> dict[str, Any] | None:
        """The blocks of the line at their positions, from 0 on; None where it does not say."""
        ids, predicate = self.line.block_ids, self.claim.predicate
        if not ids:
            self.doubt(f"{self.event} does not say which blocks")
            return None
        if predicate is not None and predicate.start:
            self.doubt(f"{self.event} does not say at which positions its blocks are")
            return None
        return {"block_ids": ids, "positions": tuple(range(len(ids)))}
