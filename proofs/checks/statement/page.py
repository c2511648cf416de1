"""What docs/theorem.md states of each mode: its clauses, what they wait for, and when they matter.

It is written out here, and not computed from `proofs.model.theorems`, so that a clause that is left
out there, waits for more or loses a situation does not go unnoticed.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from spec.claims.states import Mode

__all__ = ["CLAUSES", "Stated"]

_ACCEPTED: Final = ("explicit_acceptance", "ordered_lifecycle_events")
_HARM: Final = ("claim_harm_attribution",)


class Stated(NamedTuple):
    """A clause: the obligations that it waits for, and the situations in which it is compared."""

    waits: frozenset[str]
    situations: tuple[str, ...]


def _clause(*situations: str, waits: tuple[str, ...] = ()) -> Stated:
    return Stated(frozenset(waits), situations)


CLAUSES: Final[dict[Mode, dict[str, Stated]]] = {
    Mode.BEST_EFFORT: {
        "usefulness": _clause(
            "holds", "lost", waits=("claim_materialized_event", "claim_scoped_telemetry")
        ),
    },
    Mode.SOFT_PRIORITY: {
        "first loss": _clause("lost", waits=("claim_scoped_telemetry",)),
        "promise": _clause("a lower one", "either"),
    },
    Mode.HARD_PROTECTED: {
        "responsibility": _clause("responsible", "no more", waits=_ACCEPTED),
        "usefulness": _clause("holds", "lost", waits=(*_HARM, "claim_materialized_event")),
        "harm": _clause("lost", "failed", waits=_HARM),
        "arbitration": _clause("conflict"),
        "blame": _clause("named", "nobody"),
        "promise": _clause("victim"),
    },
    Mode.DEMOTABLE: {
        "responsibility": _clause("responsible", "no more", waits=_ACCEPTED),
        "usefulness": _clause("usable", "lost", waits=_HARM),
        "harm": _clause("lost", "failed", waits=_HARM),
        "promise": _clause("victim", "breaks"),
    },
    Mode.EXPIRING: {
        "responsibility": _clause(
            "responsible", "no more", waits=(*_ACCEPTED, "claim_expired_boundary")
        ),
        "harm": _clause("lost", "failed", waits=_HARM),
        "promise": _clause("victim", "breaks"),
    },
    Mode.OFFLOADABLE: {
        "responsibility": _clause("responsible", "no more", waits=_ACCEPTED),
        "usefulness": _clause("usable", "lost", waits=_HARM),
        "harm": _clause("lost", "failed", waits=_HARM),
        "failure": _clause("failed"),
        "promise": _clause("reuse", "loaded"),
    },
    Mode.ROUTED_REUSE: {
        "cost": _clause("routed"),
        "placement": _clause("routed"),
        "reuse": _clause("hit", "miss"),
    },
}
