"""Defines the modes of a claim, and the states and transitions of its lifecycle."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = [
    "OWNER_TRIGGERS",
    "RESPONSIBLE",
    "RUNTIME_TRIGGERS",
    "TERMINAL",
    "TRANSITIONS",
    "TRIGGERS",
    "ClaimState",
    "Mode",
    "Transition",
    "next_state",
]


class Mode(StrEnum):
    """How a claim is protected (Resident KV Claims, table 3, and routed_reuse)."""

    BEST_EFFORT = "best_effort"
    SOFT_PRIORITY = "soft_priority"
    HARD_PROTECTED = "hard_protected"
    DEMOTABLE = "demotable"
    EXPIRING = "expiring"
    OFFLOADABLE = "offloadable"
    ROUTED_REUSE = "routed_reuse"


class ClaimState(StrEnum):
    """Where a claim stands (Resident KV Claims, table 2, with the tiers and the withdrawal)."""

    SUBMITTED = "submitted"
    ACCEPTED = "accepted"
    MATERIALIZED = "materialized"
    OFFLOADED = "offloaded"
    RESTORING = "restoring"
    DEMOTED = "demoted"
    EXPIRED = "expired"
    RELEASED = "released"
    REFUSED = "refused"
    HARMED = "harmed"


@dataclass(frozen=True)
class Transition:
    """One row of the lifecycle: in `source`, `trigger` leads to `dest`; `why` says what it is."""

    trigger: str
    source: ClaimState
    dest: ClaimState
    why: str


_S = ClaimState
_LIVE = (_S.ACCEPTED, _S.MATERIALIZED, _S.OFFLOADED, _S.RESTORING, _S.HARMED)


def _rows(trigger: str, why: str, *routes: tuple[ClaimState, ClaimState]) -> list[Transition]:
    return [Transition(trigger, source, dest, why) for source, dest in routes]


def _to(dest: ClaimState, *sources: ClaimState) -> list[tuple[ClaimState, ClaimState]]:
    return [(source, dest) for source in sources]


TRANSITIONS: Final[tuple[Transition, ...]] = (
    *_rows("claim_accepted", "responsibility begins", (_S.SUBMITTED, _S.ACCEPTED)),
    *_rows("claim_rejected", "rejected before acceptance", (_S.SUBMITTED, _S.REFUSED)),
    *_rows(
        "claim_materialized",
        "the predicate holds",
        *_to(_S.MATERIALIZED, *_LIVE),
    ),
    *_rows(
        "claim_unmaterialized",
        "the predicate does not hold",
        *_to(_S.ACCEPTED, _S.ACCEPTED, _S.MATERIALIZED),
        *((state, state) for state in (_S.OFFLOADED, _S.RESTORING, _S.HARMED)),
    ),
    *_rows(
        "claim_offloaded",
        "out of GPU memory, and restorable",
        *_to(_S.OFFLOADED, _S.ACCEPTED, _S.MATERIALIZED, _S.OFFLOADED, _S.HARMED),
    ),
    *_rows(
        "claim_restore_required",
        "reuse needs the blocks back",
        *_to(_S.RESTORING, _S.OFFLOADED, _S.RESTORING, _S.MATERIALIZED, _S.HARMED),
    ),
    *_rows(
        "claim_restored",
        "the blocks are back, and the predicate holds",
        *_to(_S.MATERIALIZED, _S.RESTORING, _S.MATERIALIZED, _S.OFFLOADED, _S.HARMED),
    ),
    *_rows(
        "claim_restoration_failed",
        "the blocks did not come back; responsibility continues",
        *_to(_S.OFFLOADED, _S.RESTORING, _S.OFFLOADED),
        *((state, state) for state in (_S.MATERIALIZED, _S.HARMED)),
    ),
    *_rows(
        "claim_demoted", "responsibility ended explicitly before the loss", *_to(_S.DEMOTED, *_LIVE)
    ),
    *_rows("claim_expired", "responsibility ended at the duration", *_to(_S.EXPIRED, *_LIVE)),
    *_rows("claim_released", "withdrawn by the owner", *_to(_S.RELEASED, _S.SUBMITTED, *_LIVE)),
    *_rows(
        "claim_harmed",
        "the predicate became false while the runtime was responsible",
        *_to(_S.HARMED, *_LIVE),
    ),
)
"""Every step a claim can take; each pair of a trigger and a source stands once."""

TRIGGERS: Final = tuple(dict.fromkeys(row.trigger for row in TRANSITIONS))
"""The report kinds that move a claim, in the order of the table."""

OWNER_TRIGGERS: Final = frozenset({"claim_demoted", "claim_expired", "claim_released"})
"""What the owning scope may send; no other caller may send anything."""

RUNTIME_TRIGGERS: Final = frozenset(TRIGGERS) - {"claim_released"}
"""What the runtime may send; demotion and expiry have conditions (see ClaimLifecycle)."""

TERMINAL: Final = frozenset(ClaimState) - {row.source for row in TRANSITIONS}
"""The states that nothing leads out of."""

RESPONSIBLE: Final = frozenset(_LIVE)
"""The states in which the runtime answers for the claim's predicate."""

_NEXT: Final = {(row.source, row.trigger): row.dest for row in TRANSITIONS}


def next_state(state: ClaimState, trigger: str) -> ClaimState | None:
    """Where `trigger` leads from `state`; None where the table has no such row."""
    return _NEXT.get((state, trigger))
