"""Reads the allocator dialect: block and claim events of a patched block pool, in line order.

Two habits of these recordings are undone here. The report that a claim materialized may stand just
before the last block of it, in its run: the two events change places. The loss of a block after
release stands before the choice of that block as a victim: the loss stands for both, and the victim
that follows is a block without an owner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from msgspec.structs import replace

from monitor.input.dialects import _recorded
from monitor.input.dialects._recorded import (
    ENDINGS,
    READ_FROM_REPORTS,
    Claim,
    Events,
    Meaning,
    RecordedDialect,
    Request,
    acceptance,
    materialized,
    no_events,
    unstated,
)
from monitor.input.dialects._recorded_line import Count, Head, Recorded
from monitor.input.records import Doubt, Form, Record
from spec.claims.predicates import LeadingPrefixAtLeast
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import CapacityProof, Event

__all__ = ["DERIVED", "DIALECT", "FORM", "OBSERVES", "AllocatorDialect", "recognises"]

DERIVED: Final = READ_FROM_REPORTS | {Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED}
"""The kinds of facts that no line states: requests show only where they are refused or deferred."""

OBSERVES: Final = DERIVED | {Kind.BLOCK_CACHED, Kind.BLOCK_EVICTED}
"""The kinds of facts of which each one is here, those taken on trust included."""

FORM: Final = Form("allocator", derived=DERIVED, usual=Mode.HARD_PROTECTED)


def recognises(obj: dict[str, object]) -> bool:
    """Whether a recorded line that no dialect before this one knows is of the allocator."""
    return "event" in obj


_PROOF: Final = (
    "protected_resident_blocks",
    "resident_plus_active_blocks",
    "capacity_shortfall_blocks",
    "usable_blocks",
)


class _Line(Recorded, frozen=True):
    physical_block_id: Count | None = None
    logical_block_position: Count | None = None
    ref_count: Count | None = None
    free_queue_rank: Count | None = None
    free_blocks_before_allocate: Count | None = None
    active_live_blocks_current: Count | None = None


@dataclass(slots=True)
class _Run(_recorded.Run[Claim, Request]):
    """What one run has shown: requests that wait, and the size of its pool.

    `held` is a report that may change places with the next line.
    """

    deferred: dict[str, int] = field(default_factory=dict)
    usable: int | None = None
    held: Record | None = None


@dataclass(frozen=True, slots=True)
class _Now(_recorded.Now[_Line, Claim, Request]):
    """A line in its run."""

    run: _Run

    @property
    def binding(self) -> dict[str, Any]:
        """The claim that the line is about: its cache is the run, and its object the prefix."""
        return {
            "claim_id": self.need("claim_id"),
            "cache_identity": f"run:{self.line.stream(self.file)}",
            "object_id": self.line.prefix_id,
        }

    @property
    def block(self) -> tuple[int, ...]:
        """The block of the line."""
        return (self.need("physical_block_id"),)


def _accepted(now: _Now) -> Events:
    line, footprint = now.line, now.need("resident_blocks_required")
    threshold = line.useful_threshold_blocks or footprint
    if not 1 <= threshold <= footprint:
        name = "useful_threshold_blocks" if footprint else "resident_blocks_required"
        hint = "give at least 1 block, and a threshold within them"
        now.refuse(name, f"{threshold} of {footprint} blocks can never hold", hint)
    doubts = unstated(
        line.claim_id or "",
        run_id=line.run_id or line.hook_scope,
        prefix_id=line.prefix_id,
        useful_threshold_blocks=line.useful_threshold_blocks or None,
    )
    now.doubts.extend(doubts)
    return acceptance(
        {**now.binding, "predicate": str(LeadingPrefixAtLeast(threshold))},
        footprint=footprint,
        mode=line.protection_mode,
        priority=line.rank(now.file, now.number),
    )


def _cached(now: _Now) -> Events:
    positions, blocks = (now.need("logical_block_position"),), now.block
    binding = {} if now.line.claim_id is None else now.binding
    return (Event(kind=Kind.BLOCK_CACHED, **binding, block_ids=blocks, positions=positions),)


def _victim(now: _Now) -> Events:
    evicted = Event(kind=Kind.BLOCK_EVICTED, block_ids=now.block, request_id=now.line.request_id)
    if now.line.claim_id is None:
        return (evicted,)
    return (evicted, now.say(Kind.CLAIM_BLOCK_LOST, block_ids=now.block))


def _conflict(now: _Now) -> Events:
    """A refusal or a deferral; the same need that was deferred before does not arrive again.

    The request meets the pool that the run began with, whatever size its own proof gives it.
    """
    line, run, request = now.line, now.run, now.need("request_id")
    needed = now.need("active_live_blocks_required")
    usable = now.need("usable_blocks") if run.usable is None else run.usable
    proof, left_out = _proof(line, needed, usable)
    if left_out:
        why = f"the capacity proof does not give {', '.join(left_out)}"
        now.doubts.append(Doubt(why, only=frozenset({"footprint_accounting"})))
    refused = now.event == "active_request_refused"
    arrives = run.deferred.pop(request, None) != needed
    events = [
        Event(
            kind=Kind.REQUEST_REFUSED if refused else Kind.REQUEST_DEFERRED,
            request_id=request,
            blocking_claim_ids=line.blocking_claim_ids,
            proof=proof,
        )
    ]
    if arrives:
        arrived = Kind.REQUEST_ARRIVED
        events.insert(0, Event(kind=arrived, request_id=request, needed=needed, usable=usable))
    if refused:
        events.append(Event(kind=Kind.REQUEST_FINISHED, request_id=request))
    else:
        run.deferred[request] = needed
    return tuple(events)


def _proof(line: _Line, needed: int, usable: int) -> tuple[CapacityProof | None, tuple[str, ...]]:
    """The capacity proof, and the names of the numbers that it leaves out.

    A number that is left out is put in as it follows from the others, so that those can be
    checked. There is no proof where none is given, or nothing follows from those that are.

    Args:
        needed: blocks that the request needs.
        usable: blocks of the pool, for a line that does not say.
    """
    stated = {name: getattr(line, name) for name in _PROOF}
    resident, total, shortfall, capacity = stated.values()
    if resident is total is shortfall is None:
        return None, ()
    left_out = tuple(name for name, number in stated.items() if number is None)
    capacity = usable if capacity is None else capacity
    if total is None and resident is not None:
        total = resident + needed
    elif total is None and shortfall:
        total = capacity + shortfall
    if total is None:
        return None, left_out
    if resident is None:
        resident = max(0, total - needed)
    if shortfall is None:
        shortfall = max(0, total - capacity)
    return CapacityProof(resident, needed, total, capacity, shortfall), left_out


class AllocatorDialect(RecordedDialect):
    """Reads the allocator events of one file; holds back at most one record of each run."""

    form, observes, line, now, run = FORM, OBSERVES, _Line, _Now, _Run
    events: ClassVar = {
        "allocation_victim_selected": Meaning(_victim, ("physical_block_id",)),
        "resident_block_materialized": Meaning(_cached, ()),
        "resident_claim_accepted": Meaning(_accepted, ("resident_blocks_required", "claim_id")),
        "resident_claim_materialized": Meaning(materialized),
        **ENDINGS,
        "resident_claim_block_lost_after_release": Meaning(
            _victim, ("physical_block_id", "claim_id")
        ),
        "active_request_refused": Meaning(_conflict, ("request_id",)),
        "active_request_deferred": Meaning(_conflict, ("request_id",)),
        "future_reuse_denied": Meaning(no_events, ()),
    }

    def order(self, line: Head) -> tuple[int | None, int | None]:
        """Its time alone."""
        return None, line.timestamp_ns

    def meant(self, now: _Now, of: Callable[[_Now], Events]) -> Events:
        """The events of a line. A pool of another size than before is in doubt."""
        run, usable = now.run, now.line.usable_blocks
        run.usable = usable if run.usable is None else run.usable
        events = of(now)
        if usable not in (None, run.usable) and not any(event.proof for event in events):
            now.doubts.append(Doubt(f"usable_blocks is {usable} here and was {run.usable} before"))
        return events

    def passed(self, record: Record, now: _Now) -> Sequence[Record]:
        """None, one or two records: a report is held back until the next line."""
        held, now.run.held = now.run.held, None
        if held is not None and now.event == "resident_block_materialized" and _same(held, record):
            return replace(held, events=()), replace(record, events=record.events + held.events)
        before = () if held is None else (held,)
        if now.event == "resident_claim_materialized":
            now.run.held = record
            return before
        return (*before, record)

    def flush(self, stream: str | None = None) -> Sequence[Record]:
        """The reports that were held back, of one stream or of all."""
        runs = self._runs if stream is None else (stream,)
        held = []
        for run in filter(None, map(self._runs.get, runs)):
            if run.held is not None:
                held.append(run.held)
                run.held = None
        return tuple(held)


def _same(one: Record, other: Record) -> bool:
    """Both are about the same claim."""
    return one.events[0][0].claim_id == other.events[0][0].claim_id


DIALECT: Final = AllocatorDialect
