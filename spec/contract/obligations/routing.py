"""States the obligations of a router: report cost, placement and reuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.claims.states import Mode
from spec.contract.ledgers import kind, live, req_was, was
from spec.contract.obligation import Answer, Obligation, Place, While
from spec.contract.obligations._build import (
    IN_HAND,
    OF_REGISTERED,
    TABLE_1,
    discharged,
    due,
    false_report,
    idle,
    owed,
    pending,
    satisfied,
    violated,
)
from spec.contract.supply import Depth, Order
from spec.contract.vocabulary import e
from spec.events.alphabet import Kind
from spec.language.machine import Observer

if TYPE_CHECKING:
    from spec.language.terms import Term

__all__ = ["STATED"]


def _attribution(
    name: str,
    code: str,
    reason: str,
    noun: str,
    what: str,
    fact: Kind,
    report: Kind,
    known: Term,
    agrees: Term,
) -> Observer:
    """One of three alike: a fact about a routed request must be reported truly before it ends.

    Args:
        noun: the fact in the names of rules.
        what: the fact in sentences.
    """
    ours = e.mine & e.here
    return Observer(
        name=name,
        code=code,
        reason=reason,
        source=TABLE_1,
        per_request=True,
        states=(
            idle("no request was routed for the claim"),
            pending("owed", f"{what} is not reported for the claim yet"),
            satisfied("reported", f"{what} was reported for the claim"),
            violated(f"{what} was reported wrongly for the claim, or not in time"),
        ),
        rules=(
            false_report(
                f"{noun}_misreported",
                ours & kind(report) & ~(known & agrees) & (known | live(was)),
                source=("idle", "reported"),
                why=f"the report of {what} does not agree with the fact",
                allowed=f"a report of {what} that agrees with the fact",
            ),
            false_report(
                f"oldest_{noun}_misreported",
                ours & kind(report) & ~(known & e.several_unreported.ite(e.matches_oldest, agrees)),
                source=("owed",),
                why=f"the report of {what} does not agree with the oldest fact not yet reported",
                allowed=f"reports of {what} that agree with the facts, in their order",
            ),
            discharged(
                f"{noun}_reported",
                ours & kind(report) & ~e.several_unreported,
                "reported",
                why=f"{what} is reported for the claim",
            ),
            due(
                f"{noun}_not_reported",
                e.here & kind(Kind.REQUEST_FINISHED),
                source=("owed",),
                why=f"the request ended, and {what} was not reported for the claim",
                allowed=f"a report of {what} before the request ends",
            ),
            owed(
                f"{noun}_report_due",
                ours & kind(fact) & live(was),
                "owed",
                source=("idle", "reported"),
                why=f"{what} is a fact now, and its report for the claim is due",
            ),
        ),
    )


ROUTE_COST_ATTRIBUTION = _attribution(
    "route_cost_attribution",
    "RC",
    "Keeping or reusing a claim through routing has a cost. What the claim cost is known only if "
    "the cost is reported for it.",
    "cost",
    "the cost of the route",
    Kind.REQUEST_ROUTED,
    Kind.ROUTE_COST_REPORTED,
    req_was.routed,
    e.cost.eq(req_was.cost),
)
PLACEMENT_ATTRIBUTION = _attribution(
    "placement_attribution",
    "PL",
    "Which worker was chosen is the router's own decision until it is reported as chosen for a "
    "claim.",
    "placement",
    "the placement",
    Kind.REQUEST_ROUTED,
    Kind.ROUTE_PLACEMENT_REPORTED,
    req_was.routed,
    e.worker.eq(req_was.worker),
)
REUSE_ROUTING_ATTRIBUTION = _attribution(
    "reuse_routing_attribution",
    "RR",
    "A later hit or miss must be attributed to the route that was taken for the claim. Otherwise "
    "the route proves nothing.",
    "reuse",
    "the later hit or miss",
    Kind.REUSE_SERVED,
    Kind.ROUTE_REUSE_REPORTED,
    req_was.served,
    e.hit.eq(req_was.hit),
)

_ROUTED = (
    While(IN_HAND, ("owed",), req_was.arrived),
    While("a route owed was taken", ("owed",), req_was.routed),
    While(OF_REGISTERED, ("owed",), was.registered),
)

STATED: Final = (
    Obligation(
        ROUTE_COST_ATTRIBUTION,
        row=17,
        places=(Place(Mode.ROUTED_REUSE, printed=3),),
        order=Order.ROUTE_BEFORE_REUSE,
        depths=frozenset({Depth.ROUTING_HOOK}),
        answers=(
            Answer(
                "tell the cost",
                Kind.ROUTE_COST_REPORTED,
                ("owed",),
                {"cost": req_was.cost},
                of_request=True,
            ),
        ),
        invariants=_ROUTED,
    ),
    Obligation(
        PLACEMENT_ATTRIBUTION,
        row=18,
        places=(Place(Mode.ROUTED_REUSE, printed=4),),
        order=Order.ROUTE_BEFORE_REUSE,
        depths=frozenset({Depth.ROUTING_HOOK}),
        answers=(
            Answer(
                "tell the placement",
                Kind.ROUTE_PLACEMENT_REPORTED,
                ("owed",),
                {"worker": req_was.worker},
                of_request=True,
            ),
        ),
        invariants=_ROUTED,
    ),
    Obligation(
        REUSE_ROUTING_ATTRIBUTION,
        row=19,
        places=(Place(Mode.ROUTED_REUSE, printed=5),),
        order=Order.ROUTE_BEFORE_REUSE,
        depths=frozenset({Depth.ROUTING_HOOK}),
        answers=(
            Answer(
                "tell the reuse",
                Kind.ROUTE_REUSE_REPORTED,
                ("owed",),
                {"hit": req_was.hit},
                of_request=True,
            ),
        ),
        invariants=(
            While(IN_HAND, ("owed",), req_was.arrived),
            While(OF_REGISTERED, ("owed",), was.registered),
            While("a reuse owed was served", ("owed",), req_was.served),
        ),
    ),
)
