"""An event as one claim sees it: the fields that guards read, with their plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from monitor.records import At
    from spec.alphabet import Kind

__all__ = ["Constants", "View"]


@dataclass(slots=True)
class View:
    """The fields of `spec.vocabulary.EVENT_FIELDS`; `here` is set for each request in turn."""

    kind: Kind
    at: At | None
    request_id: str | None = None
    mine: bool = False
    named: bool = False
    here: bool = False
    lead: int = 0
    footprint: int = 0
    needed: int = 0
    usable: int = 0
    rest: int = 0
    blamed: bool = False
    blamed_rest: int = 0
    blamed_least: int = 0
    stranger: bool = False
    accuses: bool = False
    restore: bool = False
    smear: bool = False
    echo: bool = False
    outcome: bool = False
    from_tier: bool = False
    authorised: bool = True
    breaks: bool = False
    rival: int = 0
    proof: bool = False
    said_resident: int = 0
    said_active: int = 0
    said_total: int = 0
    said_usable: int = 0
    said_shortfall: int = 0
    cost: int = 0
    worker: int = 0
    hit: bool = False


@dataclass(slots=True)
class Constants:
    """The fields of `spec.vocabulary.CONSTANTS`."""

    threshold: int
    lapses: bool
    watched: bool
    ranked: bool
