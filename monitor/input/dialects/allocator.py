"""Reads the allocator dialect: block and claim events of a patched block pool, in line order.

Two habits of these recordings are undone here. The report that a claim materialized may stand just
before the last block of it, in its run: the two events change places. The loss of a block after
release stands before the choice of that block as a victim: the loss stands for both, and the victim
that follows is a block without an owner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from monitor.input.dialects._json import kind_in, struct
from monitor.input.dialects._recorded import (
    ENDS,
    READ_FROM_REPORTS,
    Count,
    Head,
    Recorded,
    acceptance,
    ends,
    materialized,
    unstated,
)
from monitor.input.errors import InputError
from monitor.input.records import Doubt, Form, Record, Stamp, at_line
from spec.claims.predicates import LeadingPrefixAtLeast
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event

__all__ = ["DERIVED", "DIALECT", "FORM", "OBSERVES", "AllocatorDialect", "recognises"]

DERIVED: Final = READ_FROM_REPORTS | {Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED}
"""The kinds of facts that no line states: requests show only where they are refused or deferred."""

OBSERVES: Final = DERIVED | {Kind.BLOCK_CACHED, Kind.BLOCK_EVICTED}
"""The kinds of facts of which each one is here, those taken on trust included."""

FORM: Final = Form("allocator", derived=DERIVED, usual=Mode.HARD_PROTECTED)


def recognises(obj: dict[str, object]) -> bool:
    """Whether a recorded line that no dialect before this one knows is of the allocator."""
    return "event" in obj


class _Line(Recorded, frozen=True):
    physical_block_id: Count | None = None
    logical_block_position: Count | None = None
    ref_count: Count | None = None
    free_queue_rank: Count | None = None
    free_blocks_before_allocate: Count | None = None
    active_live_blocks_current: Count | None = None


@dataclass(slots=True)
class _Run:
    """What one run has shown: claims whose entry ended, requests that wait, the size of its pool.

    `held` is a report that may change places with the next line.
    """

    retired: set[str] = field(default_factory=set)
    deferred: dict[str, int] = field(default_factory=dict)
    usable: int | None = None
    held: Record | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """A line: its event's name, where it stands, the stream it belongs to, what it leaves open."""

    event: str
    file: str
    line: int
    stream: str
    doubts: list[Doubt] = field(default_factory=list)


class AllocatorDialect:
    """Reads the allocator events of one file; holds back at most one record of each run."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._runs: dict[str, _Run] = {}

    def feed(self, obj: dict[str, object], line: int) -> tuple[Record, ...]:
        """The records that are complete with this line: none, one or two.

        Raises:
            InputError: a field of the event has no sensible value.
        """
        name = kind_in(obj, "event", self._file, line)
        known = name in _EVENTS
        data = struct(obj, _Line if known else Head, self._file, line)
        stream = data.stream(self._file)
        at = at_line(self._file, line)
        stamp = Stamp(stream, None, data.timestamp_ns, FORM, observes=OBSERVES)
        if not isinstance(data, _Line):
            return (*self.flush(stream), Record(at, stamp, unknown=name))
        run = self._runs.setdefault(stream, _Run())
        place = _Place(name, self._file, line, stream)
        run.usable = data.usable_blocks if run.usable is None else run.usable
        events = _EVENTS[name](data, run, place)
        if data.usable_blocks not in (None, run.usable) and not any(e.proof for e in events):
            why = f"usable_blocks is {data.usable_blocks} here and was {run.usable} before"
            place.doubts.append(Doubt(why))
        record = Record(at, stamp, tuple((e, at) for e in events), doubts=tuple(place.doubts))
        held, run.held = run.held, None
        if held is not None and name == "resident_block_materialized" and _same(held, record):
            return replace(held, events=()), replace(record, events=record.events + held.events)
        before = () if held is None else (held,)
        if name == "resident_claim_materialized":
            run.held = record
            return before
        return (*before, record)

    def flush(self, stream: str | None = None) -> tuple[Record, ...]:
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


def _binding(line: _Line, place: _Place) -> dict[str, Any]:
    """Whom a claim's event is about: the run is the cache identity, the prefix is the object."""
    claim = line.need("claim_id", place.event, place.file, place.line)
    return {
        "claim_id": claim,
        "cache_identity": f"run:{place.stream}",
        "object_id": line.prefix_id,
    }


def _block(line: _Line, place: _Place) -> tuple[int, ...]:
    return (line.need("physical_block_id", place.event, place.file, place.line),)


def _accepted(line: _Line, run: _Run, place: _Place) -> tuple[Event, ...]:
    footprint = line.need("resident_blocks_required", place.event, place.file, place.line)
    threshold = line.useful_threshold_blocks or footprint
    if not 1 <= threshold <= footprint:
        name = "useful_threshold_blocks" if footprint else "resident_blocks_required"
        reason = f"{threshold} of {footprint} blocks can never hold"
        hint = "give at least 1 block, and a threshold within them"
        raise InputError(place.file, reason, line=place.line, field=name, hint=hint)
    binding = {**_binding(line, place), "predicate": str(LeadingPrefixAtLeast(threshold))}
    doubts = unstated(
        binding["claim_id"],
        run_id=line.run_id or line.hook_scope,
        prefix_id=line.prefix_id,
        useful_threshold_blocks=line.useful_threshold_blocks or None,
    )
    place.doubts.extend(doubts)
    return acceptance(
        binding,
        footprint=footprint,
        mode=line.protection_mode,
        priority=line.rank(place.file, place.line),
    )


def _cached(line: _Line, run: _Run, place: _Place) -> tuple[Event, ...]:
    position = line.need("logical_block_position", place.event, place.file, place.line)
    blocks = _block(line, place)
    binding = _binding(line, place) if line.claim_id is not None else {}
    cached = Event(kind=Kind.BLOCK_CACHED, **binding, block_ids=blocks, positions=(position,))
    return (cached,)


def _materialized(line: _Line, run: _Run, place: _Place) -> tuple[Event, ...]:
    return (materialized(line, _binding(line, place)),)


def _victim(line: _Line, run: _Run, place: _Place) -> tuple[Event, ...]:
    blocks = _block(line, place)
    evicted = Event(kind=Kind.BLOCK_EVICTED, block_ids=blocks, request_id=line.request_id)
    if line.claim_id is None:
        return (evicted,)
    lost = Event(kind=Kind.CLAIM_BLOCK_LOST, **_binding(line, place), block_ids=blocks)
    return (evicted, lost)


def _lost(line: _Line, run: _Run, place: _Place) -> tuple[Event, ...]:
    blocks, binding = _block(line, place), _binding(line, place)
    return (
        Event(kind=Kind.BLOCK_EVICTED, block_ids=blocks, request_id=line.request_id),
        Event(kind=Kind.CLAIM_BLOCK_LOST, **binding, block_ids=blocks),
    )


def _ended(line: _Line, run: _Run, place: _Place) -> tuple[Event, ...]:
    binding = _binding(line, place)
    events = ends(ENDS[place.event], binding, retired=line.claim_id in run.retired)
    run.retired.add(binding["claim_id"])
    return events


def _harmed(line: _Line, run: _Run, place: _Place) -> tuple[Event, ...]:
    return (Event(kind=Kind.CLAIM_HARMED, **_binding(line, place)),)


def _conflict(line: _Line, run: _Run, place: _Place) -> tuple[Event, ...]:
    """A refusal or a deferral; the same need that was deferred before does not arrive again.

    The request meets the pool that the run began with, whatever size its own proof gives it.
    """
    request = line.need("request_id", place.event, place.file, place.line)
    needed = line.need("active_live_blocks_required", place.event, place.file, place.line)
    if (usable := run.usable) is None:
        usable = line.need("usable_blocks", place.event, place.file, place.line)
    proof, left_out = line.proof(needed, usable)
    if left_out:
        why = f"the capacity proof does not give {', '.join(left_out)}"
        place.doubts.append(Doubt(why, only=frozenset({"footprint_accounting"})))
    refused = place.event == "active_request_refused"
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


def _nothing(line: _Line, run: _Run, place: _Place) -> tuple[Event, ...]:
    return ()


_EVENTS: Final[dict[str, Callable[[_Line, _Run, _Place], tuple[Event, ...]]]] = {
    "allocation_victim_selected": _victim,
    "resident_block_materialized": _cached,
    "resident_claim_accepted": _accepted,
    "resident_claim_materialized": _materialized,
    "resident_claim_demoted": _ended,
    "resident_claim_expired": _ended,
    "resident_claim_harmed": _harmed,
    "resident_claim_block_lost_after_release": _lost,
    "active_request_refused": _conflict,
    "active_request_deferred": _conflict,
    "future_reuse_denied": _nothing,
}


DIALECT: Final = AllocatorDialect
