"""The obligations: each is stated in one module of this folder, which `_MODULES` lists."""

from typing import Final

from spec.contract.obligation import Obligation
from spec.contract.obligations import (
    ends,
    harm,
    identity,
    offload,
    pressure,
    restoration,
    routing,
    telemetry,
)
from spec.language.machine import Observer

__all__ = ["ALIASES", "OBLIGATIONS", "STATED"]

_MODULES: Final = (
    identity,
    ends,
    telemetry,
    harm,
    offload,
    restoration,
    pressure,
    routing,
)
_LAST: Final = 1000


def _listed(obligation: Obligation) -> int:
    return obligation.row or _LAST


STATED: Final[dict[str, Obligation]] = {
    obligation.name: obligation
    for obligation in sorted((o for module in _MODULES for o in module.STATED), key=_listed)
}
"""Each obligation with all that is stated of it: in the order of table 1, and then the others."""

OBLIGATIONS: dict[str, Observer] = {name: stated.observer for name, stated in STATED.items()}

ALIASES: dict[str, str] = {
    alias: observer.name for observer in OBLIGATIONS.values() for alias in observer.aliases
}
