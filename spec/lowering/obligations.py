"""Defines what each obligation needs in a descriptor, and what its absence means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.claims.states import Mode
from spec.contract.obligations import STATED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spec.contract.supply import Order

__all__ = ["NEVER_BY_TELEMETRY", "REJECTED_WITHOUT", "RELEVANT_ORDER"]

RELEVANT_ORDER: Final[Mapping[str, Order]] = {name: o.order for name, o in STATED.items()}
"""The order that a run must preserve before it shows an obligation."""

NEVER_BY_TELEMETRY: Final = frozenset(name for name, o in STATED.items() if o.beyond_telemetry)
"""What no join of telemetry can create (section 5)."""

REJECTED_WITHOUT: Final[Mapping[Mode, frozenset[str]]] = {
    mode: frozenset(n for n, o in STATED.items() for p in o.places if p.mode is mode and p.rejects)
    for mode in Mode
}
"""Per mode, the obligations without any one of which a tempting mapping is rejected."""
