"""Writes a run found by a solver as canonical events that the monitor can read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spec.contract.modes import MODES
from spec.events.alphabet import CONFLICT_ACTIONS, Kind
from spec.events.canonical import CapacityProof, Event

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from proofs.engines.bounded.search import Found
    from proofs.model.of_mode import Model

__all__ = ["OTHER", "TRACKED", "to_events"]

TRACKED = "claim:tracked"
OTHER = "claim:other"
_REQUEST = "request:1"
_STRANGER = "claim:stranger"
_OWNER = "tenant"
_CACHE = "model/tokenizer/16"

Value = bool | int


@dataclass
class _Claim:
    """The block ids of a claim."""

    claim_id: str
    threshold: int
    footprint: int = 0
    priority: int | None = None
    blocks: dict[int, int] = field(default_factory=dict)  # logical position -> physical id

    @property
    def lead(self) -> int:
        return len(self.blocks)


class _EventWriter:
    """Writes events in order, and tracks the sequence and the block ids."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.events: list[Event] = []
        self._next_block = 1

    def write(self, kind: Kind, **fields: Any) -> None:
        self.events.append(Event(kind=kind, stream="run", sequence=len(self.events), **fields))

    def register(self, claim: _Claim) -> None:
        self.write(
            Kind.CLAIM_REGISTERED,
            claim_id=claim.claim_id,
            cache_identity=_CACHE,
            object_id=f"object of {claim.claim_id}",
            predicate=f"leading_prefix_at_least({claim.threshold})",
            mode=self.mode,
            owner_scope=_OWNER,
            priority=claim.priority,
        )

    def hold(self, claim: _Claim, lead: int) -> dict[str, Any]:
        """Set the number of blocks held to `lead`; returns the new ones by physical id and
        position.
        """
        new = range(claim.lead, lead)
        for position in new:
            claim.blocks[position] = self._next_block
            self._next_block += 1
        return {"block_ids": tuple(claim.blocks[p] for p in new), "positions": tuple(new)}

    def drop(self, claim: _Claim, lead: int) -> dict[str, Any]:
        """Reduce the number of blocks held to `lead`; returns the ids that are gone."""
        gone = [claim.blocks.pop(p) for p in sorted(claim.blocks) if p >= lead]
        return {"block_ids": tuple(gone)}


def to_events(model: Model, found: Found) -> list[Event]:
    """Write the run as canonical events; one other claim represents the rest of the pool."""
    writer = _EventWriter(model.mode)
    first = found.states[0]
    claims = {
        side: _Claim(
            TRACKED if number == 0 else OTHER,
            int(first[f"{prefix}c.threshold"]),
            priority=int(first[f"{prefix}priority"]) if prefix else None,
        )
        for number, (side, prefix) in enumerate(model.sides.items())
    }
    rest = _Claim(OTHER, 1)
    if not MODES[model.mode].constants["watched"]:
        writer.register(next(iter(claims.values())))
    for event in found.events:
        kind = model.alphabet[int(event["kind"])]
        side = next((s for s in claims if event[model.mine(s)]), None)
        if side is not None:
            others = [c for s, c in claims.items() if s != side and event[f"takeable.{s}"]]
            _about_claim(writer, claims[side], kind, event, takeable=others)
        elif event.get("named"):
            _about_claim(writer, claims[""], kind, event, mine=False)
        elif kind in (Kind.CLAIM_COMMITTED, Kind.CLAIM_RETIRED):
            _about_rest(writer, rest, kind, event)
        else:
            _about_request(writer, rest, kind, event)
    return writer.events


def _about_claim(
    writer: _EventWriter,
    claim: _Claim,
    kind: Kind,
    event: Mapping[str, Value],
    *,
    mine: bool = True,
    takeable: Sequence[_Claim] = (),
) -> None:
    fields: dict[str, Any] = {"claim_id": claim.claim_id}
    if not mine:
        fields["object_id"] = "another object"
    elif event.get("named") is False:
        fields["claim_id"], fields["object_id"] = _STRANGER, f"object of {claim.claim_id}"
        fields["cache_identity"] = _CACHE
    if event["here"]:
        fields["request_id"] = _REQUEST
    lead = int(event["lead"])
    match kind:
        case Kind.CLAIM_REGISTERED:
            writer.register(claim)
            return
        case Kind.CLAIM_COMMITTED | Kind.CLAIM_ACCEPTED:
            fields["footprint"] = int(event["footprint"])
        case Kind.BLOCK_CACHED | Kind.LOAD_FINISHED:
            fields |= writer.hold(claim, lead)
        case Kind.BLOCK_EVICTED | Kind.BLOCK_LOST:
            fields |= writer.drop(claim, lead)
            if kind is Kind.BLOCK_EVICTED and claim.priority is not None:
                ranks = [c.priority for c in (claim, *takeable) if c.priority is not None]
                fields["lowest_priority"] = min(ranks)
        case Kind.PREFIX_LOOKUP:
            asked = claim.threshold - (not event["covers"])
            fields |= {"asked": asked, "held": min(asked, claim.lead)}
        case Kind.CLAIM_RESTORED:
            fields["from_tier"] = bool(event["from_tier"])
        case Kind.CLAIM_RESTORATION_FAILED:
            fields["outcome"] = _outcome(event)
            fields["outcome_claim_id"] = _STRANGER if event["blames_unfailed"] else claim.claim_id
        case Kind.CLAIM_DEMOTED | Kind.CLAIM_EXPIRED | Kind.CLAIM_RELEASED | Kind.CLAIM_RETIRED:
            fields["by"] = _OWNER
        case Kind.CLAIM_OFFLOADED if event["by"]:
            fields["by"] = _OWNER
        case Kind.REQUEST_ROUTED:
            fields |= {"cost": int(event["cost"]), "worker": f"worker:{event['worker']}"}
        case Kind.ROUTE_COST_REPORTED:
            fields["cost"] = int(event["cost"])
        case Kind.ROUTE_PLACEMENT_REPORTED:
            fields["worker"] = f"worker:{event['worker']}"
        case Kind.REUSE_SERVED | Kind.ROUTE_REUSE_REPORTED:
            fields["hit"] = bool(event["hit"])
    writer.write(kind, **fields)


def _outcome(event: Mapping[str, Value]) -> str:
    if not event["outcome"]:
        return "fallback_recompute"
    return "refusal" if event["refusal"] else "harm" if event["harm"] else "demotion"


def _about_rest(writer: _EventWriter, rest: _Claim, kind: Kind, event: Mapping[str, Value]) -> None:
    """Report about the other claim, so that it keeps its own contract and does not affect the
    verdict.
    """
    about: dict[str, Any] = {"claim_id": rest.claim_id}
    if kind is Kind.CLAIM_COMMITTED:
        rest.footprint = int(event["footprint"])
        writer.register(rest)
        writer.write(Kind.CLAIM_COMMITTED, **about, footprint=rest.footprint)
        writer.write(Kind.CLAIM_ACCEPTED, **about, footprint=rest.footprint)
    else:
        writer.write(Kind.CLAIM_RETIRED, **about)
        writer.write(Kind.CLAIM_RELEASED, **about, by=_OWNER)


def _about_request(
    writer: _EventWriter, rest: _Claim, kind: Kind, event: Mapping[str, Value]
) -> None:
    fields: dict[str, Any] = {"request_id": _REQUEST}
    if kind is Kind.REQUEST_ARRIVED:
        fields |= {"needed": int(event["needed"]), "usable": int(event["usable"])}
    elif kind in CONFLICT_ACTIONS:
        blamed = [TRACKED] if event["blamed"] else []
        blamed += [rest.claim_id] if event["blamed_rest"] else []
        blamed += [_STRANGER] if event["invalid_blocker"] else []
        fields |= {"blocking_claim_ids": tuple(blamed), "restore": bool(event["restore"])}
        if event["proof"]:
            names = ("resident", "active", "total", "usable", "shortfall")
            fields["proof"] = CapacityProof(*(int(event[f"said_{n}"]) for n in names))
    writer.write(kind, **fields)
