"""Defines what the recorded dialects have in common: fields, and how claims begin and end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from monitor.input.errors import InputError
from monitor.input.records import Doubt
from spec.claims.predicates import MAX_BLOCKS, MaterializationPredicate
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.events.alphabet import Kind
from spec.events.canonical import CapacityProof, Event, Name

__all__ = [
    "ENDS",
    "READ_FROM_REPORTS",
    "Bound",
    "Count",
    "Ended",
    "Head",
    "Order",
    "Recorded",
    "acceptance",
    "answer",
    "ends",
    "materialized",
    "rebinds",
    "unstated",
]

Count = Annotated[int, Meta(ge=0, le=MAX_BLOCKS)]
Order = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Text = Annotated[str, Meta(max_length=1024)]
_SCALE: Final = 1000
_MOST_VALUE: Final = 10**12

ENDS: Final = {
    "resident_claim_demoted": Kind.CLAIM_DEMOTED,
    "resident_claim_expired": Kind.CLAIM_EXPIRED,
}

_OUTCOMES: Final = {
    "demotion": Kind.CLAIM_DEMOTED,
    "expiry": Kind.CLAIM_EXPIRED,
    "harm": Kind.CLAIM_HARMED,
}

READ_FROM_REPORTS: Final = frozenset(
    {
        Kind.CLAIM_REGISTERED,
        Kind.CLAIM_COMMITTED,
        Kind.CLAIM_RETIRED,
        Kind.DURATION_ELAPSED,
    }
)
"""The facts that `acceptance` and `ends` read from reports, in every recorded dialect."""


class Head(msgspec.Struct, frozen=True):
    """What is read of every line, of an unknown event too."""

    run_id: Text | None = None
    hook_scope: Text | None = None
    event_sequence: Order | None = None
    monotonic_ns: Order | None = None
    timestamp_ns: Order | None = None

    def stream(self, file: str) -> str:
        """The run, else the scope of the hooks, else the file."""
        return self.run_id or self.hook_scope or file


class Recorded(Head, frozen=True):
    """Fields of every dialect; counts are in blocks."""

    request_id: Name | None = None
    claim_id: Name | None = None
    prefix_id: Name | None = None
    protection_mode: Name | None = None
    resident_blocks_required: Count | None = None
    resident_blocks_materialized: Count | None = None
    useful_threshold_blocks: Count | None = None
    priority: Annotated[int, Meta(ge=-_MOST_VALUE, le=_MOST_VALUE)] | None = None
    predicted_value: object = None
    predicate_materialized: bool | None = None
    blocking_claim_ids: tuple[Name, ...] | None = None
    protected_resident_blocks: Count | None = None
    active_live_blocks_required: Count | None = None
    resident_plus_active_blocks: Count | None = None
    usable_blocks: Count | None = None
    capacity_shortfall_blocks: Count | None = None

    def need(self, field: str, event: str, file: str, line: int) -> Any:
        """The value of `field`.

        Raises:
            InputError: it is absent or null.
        """
        value = getattr(self, field)
        if value is None:
            raise InputError(file, f"{event} needs it", line=line, field=field, hint="add it")
        return value

    def rank(self, file: str, line: int) -> int | None:
        """`priority`, else `predicted_value` in thousandths where it is a number.

        Raises:
            InputError: the value is absurd.
        """
        value = self.predicted_value
        if self.priority is not None or not isinstance(value, int | float):
            return self.priority
        if isinstance(value, bool):
            return None
        if not abs(value) <= _MOST_VALUE:
            reason, hint = f"the value is beyond {_MOST_VALUE}", "give a value of ordinary size"
            raise InputError(file, reason, line=line, field="predicted_value", hint=hint)
        return round(value * _SCALE)

    def proof(self, needed: int, usable: int) -> tuple[CapacityProof | None, tuple[str, ...]]:
        """The capacity proof, and the names of the numbers that it leaves out.

        A number that is left out is put in as it follows from the others, so that those can be
        checked. There is no proof where none is given, or nothing follows from those that are.

        Args:
            needed: blocks that the request needs.
            usable: blocks of the pool, for a line that does not say.
        """
        stated = {name: getattr(self, name) for name in _PROOF}
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


class Bound(Recorded, frozen=True):
    """Fields of the dialects that bind each claimed line to the claim's object."""

    cache_identity: Name | None = None
    reusable_object_id: Name | None = None
    materialization_predicate: Name | None = None
    predicate_id: Name | None = None
    request_token_map_id: Name | None = None
    block_count_footprint: Count | None = None
    offload_generation: Order | None = None
    restored_from_offload_tier: bool | None = None
    restoration_source: str | None = None
    claim_scoped_outcome_type: Name | None = None
    outcome_type: Name | None = None
    outcome_claim_id: Name | None = None

    @property
    def binding(self) -> dict[str, Any]:
        """The claim that the line is about; none, unless it names one."""
        if self.claim_id is None:
            return {}
        return {
            "claim_id": self.claim_id,
            "cache_identity": self.cache_identity,
            "object_id": self.reusable_object_id,
            "predicate": self.materialization_predicate,
            "predicate_id": self.predicate_id,
            "token_map": self.request_token_map_id,
        }

    def identity(self, predicate: MaterializationPredicate | None) -> dict[str, object]:
        """What the claim is bound to, the predicate by its meaning."""
        return {**self.binding, "predicate": predicate}


_PROOF: Final = (
    "protected_resident_blocks",
    "resident_plus_active_blocks",
    "capacity_shortfall_blocks",
    "usable_blocks",
)


_WATCHED: Final = frozenset(mode.value for mode in Mode if MODES[mode].constants["watched"])


def acceptance(
    binding: dict[str, Any],
    *,
    footprint: int | None = None,
    mode: str | None = None,
    priority: int | None = None,
) -> tuple[Event, ...]:
    """A claim that is submitted, committed and accepted at one place of a recording.

    In a mode that promises only telemetry there is no commitment. Read from the same line, it would
    be an act of the runtime before which it could not report that the claim is there.
    """
    stated: dict[str, Any] = {"footprint": footprint, "mode": mode, "priority": priority}
    commitment = Event(kind=Kind.CLAIM_COMMITTED, **binding, footprint=footprint)
    watched = mode in _WATCHED
    return (
        Event(kind=Kind.CLAIM_REGISTERED, **binding, **stated),
        *(() if watched else (commitment,)),
        Event(kind=Kind.CLAIM_ACCEPTED, **binding, **stated),
    )


def rebinds(known: dict[str, object], identity: dict[str, object]) -> bool:
    """Whether `identity` contradicts what is `known` of a claim's; what is new in it is added."""
    stated = {name: value for name, value in identity.items() if value is not None}
    for name, value in stated.items():
        known.setdefault(name, value)
    return any(known[name] != value for name, value in stated.items())


def unstated(claim: str, **stated: object) -> tuple[Doubt, ...]:
    """A doubt about a claim that was accepted without one of these.

    Source: Resident KV Claims, table 2 (what every claim has).
    """
    missing = ", ".join(name for name, value in stated.items() if value is None)
    return (Doubt(f"it was accepted without {missing}", claim),) if missing else ()


def materialized(line: Recorded, binding: dict[str, Any]) -> Event:
    """The report that the predicate holds, or, where it says so, that it does not."""
    holds = line.predicate_materialized is not False
    return Event(kind=Kind.CLAIM_MATERIALIZED if holds else Kind.CLAIM_UNMATERIALIZED, **binding)


@dataclass(slots=True)
class Ended:
    """The reported ends of a claim, so that none is emitted twice.

    An outcome of a failed restore and the event that it states are one, in either order; of a
    harm, where both name one request.
    """

    retired: bool = False
    _stated: dict[Kind, str | None] = field(default_factory=dict)
    _reported: dict[Kind, str | None] = field(default_factory=dict)

    def report(self, kind: Kind, request: str | None, binding: dict[str, Any]) -> tuple[Event, ...]:
        """A demotion, an expiry or a harm; nothing where an outcome has stated it."""
        if _repeats(self._stated, kind, request):
            del self._stated[kind]
            return ()
        self._reported[kind] = request
        return self._say(kind, binding)

    def state(self, kind: Kind, request: str | None, binding: dict[str, Any]) -> tuple[Event, ...]:
        """The same as the outcome of a failed restore; nothing where it was emitted before."""
        if _repeats(self._reported, kind, request):
            del self._reported[kind]
            return ()
        if _repeats(self._stated, kind, request):
            return ()
        self._stated[kind] = request
        return self._say(kind, binding)

    def _say(self, kind: Kind, binding: dict[str, Any]) -> tuple[Event, ...]:
        if kind is Kind.CLAIM_HARMED:
            return (Event(kind=kind, **binding),)
        retired, self.retired = self.retired, True
        return ends(kind, binding, retired=retired)


def _repeats(ends: dict[Kind, str | None], kind: Kind, request: str | None) -> bool:
    return kind in ends and (kind is not Kind.CLAIM_HARMED or ends[kind] == request)


def answer(failed: Event, ended: Ended, binding: dict[str, Any]) -> tuple[Event, ...]:
    """What the outcome of a failed restore says that happened to the claim that it names.

    The recordings have no other event for it, so that the outcome is the event.
    """
    kind = _OUTCOMES.get(failed.outcome or "")
    named = failed.outcome_claim_id in (None, failed.claim_id)
    if kind is None or failed.repeats or not named:
        return ()
    return ended.state(kind, failed.request_id, binding)


def ends(report: Kind, binding: dict[str, Any], *, retired: bool) -> tuple[Event, ...]:
    """A demotion or an expiry, with the facts behind it unless the claim had `retired` before.

    The recorded dialects carry no scope and no duration: their transitions count as authorised.
    """
    facts = [] if retired else [Event(kind=Kind.CLAIM_RETIRED, **binding)]
    if report is Kind.CLAIM_EXPIRED and not retired:
        facts.insert(0, Event(kind=Kind.DURATION_ELAPSED, **binding))
    return (*facts, Event(kind=report, **binding))
