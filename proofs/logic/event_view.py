"""Holds the fields of an event that guards read, with their values for one claim."""

from __future__ import annotations

import msgspec

from spec.events.alphabet import Kind

__all__ = ["EventView"]


class EventView(msgspec.Struct, gc=False):
    """The fields of `spec.contract.vocabulary.EVENT_FIELDS`; `here` is set for each request."""

    kind: Kind
    mine: bool = False
    named: bool = False
    here: bool = False
    direct: bool = True
    lead: int = 0
    stored: bool = False
    restorable: bool = False
    footprint: int = 0
    overstates: bool = False
    needed: int = 0
    usable: int = 0
    rest: int = 0
    rest_since_arrival: int = 0
    shared: int = 0
    others: int = 0
    blamed: bool = False
    shared_unblamed: int = 0
    blamed_rest: int = 0
    blamed_least: int = 0
    invalid_blocker: bool = False
    accuses: bool = False
    restore: bool = False
    blames_unfailed: bool = False
    unfounded_failure: bool = False
    duplicate: bool = False
    outcome: bool = False
    refusal: bool = False
    harm: bool = False
    from_tier: bool = False
    intact: bool = False
    authorised: bool = True
    by: int = 0
    found: bool = False
    covers: bool = False
    breaks: bool = False
    new_loss: bool = False
    lower_priority_available: bool = False
    higher_priority_kept: bool = False
    proof: bool = False
    said_resident: int = 0
    said_active: int = 0
    said_total: int = 0
    said_usable: int = 0
    said_shortfall: int = 0
    cost: int = 0
    worker: int = 0
    hit: bool = False
    several_unreported: bool = False
    matches_oldest: bool = False
