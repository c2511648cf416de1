"""Defines the terms by which an event is delivered to a claim and to its scopes.

A claim is followed in scopes. One is the claim itself, where no event is `here` and every request
register keeps its first value. There is one more for each request, where the events of that request
are `here`. By definition every scope takes in every event. What follows says which of them it must
really take in; `python -m proofs check frame` proves that nothing else changes anything.

A request is not followed for a claim until `opens` is true of one of its events. Until then its
scope is the scope of the claim itself, but for the registers `known`, which are the same for every
claim of the pool, and those that are `derived` from the claim's own ledger. To open it is to copy
the observers of the claim as they stand before the event, to take the registers `known` from the
pool, to derive those that are `derived`, to leave the others at their first values, and then to
deliver the event.

Each term is a disjunction whose parts have names, so that a proof can say which of them it needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from spec.contract.interpretations import CLOSES
from spec.contract.ledgers import contends, endures, kind, req, req_was, was
from spec.contract.vocabulary import c, e
from spec.events.alphabet import CONFLICT_ACTIONS, Kind
from spec.language.terms import Scope, Sort, Term, Var, conj, disj

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DELIVERY", "STANDS", "Delivery"]

STANDS: Final[Mapping[str, tuple[Sort, str]]] = MappingProxyType(
    {
        "owes": (
            Sort.BOOL,
            "something is owed in the scope of the claim itself: one of its observers is in a "
            "state whose verdict is pending",
        ),
        "responsible_at_arrival": (
            Sort.BOOL,
            "the request of the event arrived, and responsibility for the claim last began before",
        ),
    }
)
"""What is derived of where a claim stands before an event: sort, and meaning."""

_owes: Final = Var(Scope.STANDS, "owes", STANDS["owes"][0])
_at_arrival: Final = Var(
    Scope.STANDS, "responsible_at_arrival", STANDS["responsible_at_arrival"][0]
)


@dataclass(frozen=True)
class Delivery:
    """When an event is delivered, by the name of the reason.

    `claim`: to the scope of the claim itself. `request`: to the scope of a request that the claim
    follows. `opens`: the request of the event is followed from this event on.

    `known` are the request registers that the pool knows of a request, whichever scope tracks it:
    they rest on kinds, on `here` and on the fields `shared` alone, which every claim sees alike.
    `derived` are those that follow from the claim's own ledger as long as no scope tracks the
    request: terms over that ledger, over `STANDS` and over registers that are `known`. `left` are
    those that matter of a request that has ended before any scope tracked it.

    `unmet` is how every event looks to a claim that no event before it was about. No reason of
    `claim` or `opens` holds of such a claim.

    In `claim` nothing is `here`, and every request register has its first value.
    """

    claim: Mapping[str, Term]
    request: Mapping[str, Term]
    opens: Mapping[str, Term]
    known: frozenset[str]
    derived: Mapping[str, Term]
    shared: frozenset[str]
    left: frozenset[str]
    unmet: Term

    def term(self, scope: str) -> Term:
        """Whether an event is delivered: `claim`, `request` or `opens`, all reasons together."""
        return disj(*self.reasons[scope].values())

    @property
    def reasons(self) -> dict[str, Mapping[str, Term]]:
        """The three sets of reasons by their names."""
        return {"claim": self.claim, "request": self.request, "opens": self.opens}


_evicted: Final = kind(Kind.BLOCK_EVICTED)

DELIVERY: Final = Delivery(
    claim={
        "about the claim": e.mine | e.named,
        "due": _owes & CLOSES,
        "due before another's victim": _owes & c.ranked & _evicted,
    },
    request={
        "about the claim": e.mine,
        "of the request": e.here,
    },
    opens={
        "touches the claim": e.here & e.mine,
        "does not fit": e.here & kind(Kind.REQUEST_ARRIVED) & contends(was.declared, req),
        "ends in conflict": conj(
            e.here, kind(Kind.REQUEST_FINISHED), endures(was.declared, req_was)
        ),
        "acted on": conj(e.here, kind(*CONFLICT_ACTIONS), was.responsible | e.blamed),
    },
    known=frozenset({"seen", "arrived", "needed", "usable"}),
    derived=MappingProxyType(
        {"away": req_was.seen & (was.lead < c.threshold), "held": was.responsible & _at_arrival}
    ),
    shared=frozenset({"needed", "usable"}),
    left=frozenset({"seen"}),
    unmet=conj(~e.mine, ~e.named, ~e.blamed),
)
