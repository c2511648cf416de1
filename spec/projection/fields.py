"""Lists the fields that guards read: the kinds on which each is computed, and its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Final, NamedTuple

from spec.contract.interpret import Value
from spec.contract.vocabulary import EVENT_FIELDS
from spec.events.alphabet import BLOCKS_GONE, CONFLICT_ACTIONS, ENDS, Kind
from spec.events.fields import REQUEST_KINDS, ROUTE_REPORTS
from spec.projection import definitions
from spec.projection.room import Sharing
from spec.projection.sight import Sight
from spec.projection.unknown import POOL

__all__ = ["EVERY", "FIELDS", "Field", "view", "views"]


class Field(NamedTuple):
    """A field of `e`: the kinds on which it is computed, and what it says.

    On every other kind nothing reads it.
    """

    kinds: frozenset[Kind]
    says: str


_ALL: Final = frozenset(Kind)
_STATED: Final = frozenset({Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED})
_ARRIVED: Final = frozenset({Kind.REQUEST_ARRIVED})
_FINISHED: Final = frozenset({Kind.REQUEST_FINISHED})
_CACHED: Final = frozenset({Kind.BLOCK_CACHED})
_EVICTED: Final = frozenset({Kind.BLOCK_EVICTED})
_PLACED: Final = BLOCKS_GONE | _CACHED | {Kind.LOAD_FINISHED}
_FAILED: Final = frozenset({Kind.CLAIM_RESTORATION_FAILED})
_REFUSED: Final = frozenset({Kind.REQUEST_REFUSED})
_ACTS: Final = CONFLICT_ACTIONS
_WHERE: Final[Mapping[str, frozenset[Kind]]] = {
    "mine": _ALL,
    "named": _ALL,
    "here": REQUEST_KINDS | _CACHED,
    "lead": _PLACED,
    "footprint": _STATED,
    "needed": _ARRIVED,
    "usable": _ARRIVED,
    "rest": _ARRIVED | _ACTS,
    "rest_since_arrival": _FINISHED,
    "shared": _ARRIVED | _ACTS | _FINISHED,
    "others": _ACTS,
    "blamed": _ACTS,
    "shared_unblamed": _ACTS,
    "blamed_rest": _ACTS,
    "blamed_least": _ACTS,
    "accuses": _ACTS,
    "invalid_blocker": _ACTS,
    "restore": _ACTS,
    "blames_unfailed": _FAILED | _REFUSED,
    "unfounded_failure": _REFUSED,
    "echo": _FAILED | _REFUSED,
    "outcome": _FAILED,
    "refusal": _FAILED,
    "harm": _FAILED,
    "from_tier": frozenset({Kind.CLAIM_RESTORED}),
    "intact": frozenset({Kind.LOAD_FINISHED}),
    "authorised": ENDS,
    "by": ENDS | {Kind.CLAIM_RETIRED},
    "found": _CACHED,
    "covers": frozenset({Kind.PREFIX_LOOKUP}),
    "breaks": frozenset({Kind.CLAIM_BLOCK_LOST}),
    "new_loss": frozenset({Kind.CLAIM_BLOCK_LOST}),
    "lower_priority_available": _EVICTED,
    "higher_priority_kept": _EVICTED,
    "proof": _ACTS,
    "said_resident": _ACTS,
    "said_active": _ACTS,
    "said_total": _ACTS,
    "said_usable": _ACTS,
    "said_shortfall": _ACTS,
    "cost": frozenset({Kind.REQUEST_ROUTED, Kind.ROUTE_COST_REPORTED}),
    "worker": frozenset({Kind.REQUEST_ROUTED, Kind.ROUTE_PLACEMENT_REPORTED}),
    "hit": frozenset({Kind.REUSE_SERVED, Kind.ROUTE_REUSE_REPORTED}),
    "several_unreported": frozenset(ROUTE_REPORTS),
    "matches_oldest": frozenset(ROUTE_REPORTS),
}
if set(_WHERE) != set(EVENT_FIELDS) or not all(hasattr(definitions, name) for name in _WHERE):
    raise TypeError("each field of an event has one row, and a definition under its name")

FIELDS: Final[Mapping[str, Field]] = MappingProxyType(
    {name: Field(_WHERE[name], says) for name, (_, says) in EVENT_FIELDS.items()}
)
"""One row a field, in the order of the vocabulary."""

EVERY: Final = frozenset(FIELDS)


def view(sight: Sight, names: Iterable[str] = FIELDS) -> dict[str, Value | None]:
    """These fields of an event, as one claim sees it; None for those that nothing reads."""
    kind = sight.event.kind
    return {
        name: getattr(definitions, name)(sight) if kind in FIELDS[name].kinds else None
        for name in names
    }


def views(sight: Sight, only: frozenset[str] = EVERY) -> list[dict[str, Value | None]]:
    """An event as one claim sees it: once where the room is known, else at each end of what it may
    be.

    Args:
        only: the fields that are read at all; there are no others.
    """
    nothing, alone, room = _parts(sight.event.kind, only)
    first = {**nothing, **view(sight, alone)}
    if not room:
        return [first]
    ends = (replace(sight, sharing=sharing) for sharing in Sharing)
    least, most = ({**first, **view(end, room)} for end in ends)
    return [least] if least == most else [least, most]


@cache
def _parts(
    kind: Kind, only: frozenset[str]
) -> tuple[dict[str, None], tuple[str, ...], tuple[str, ...]]:
    """Fields, of which nothing reads some on this kind, and of the others some rest on room."""
    names = [name for name in FIELDS if name in only]
    found = [name for name in names if kind in FIELDS[name].kinds]
    alone, room = ([n for n in found if (n in POOL) is rests] for rests in (False, True))
    return dict.fromkeys(names), tuple(alone), tuple(room)
