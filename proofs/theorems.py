"""The auditor's theorem, clause by clause, for each mode.

A clause holds of one event, with what was and is true, and what was and is believed. `settled`
clauses are compared only where nothing is owed about the claim; the others always, or "pending"
would hide that nothing ever comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from proofs.auditor import believed, believes
from spec.alphabet import Kind
from spec.claims import Mode
from spec.ledgers import endures, kind, loss, now, req, req_was, usable, was
from spec.obligations.pressure import blame_is_right, names_blockers
from spec.terms import conj
from spec.vocabulary import c, e

if TYPE_CHECKING:
    from spec.terms import Term

__all__ = ["CLAUSES", "Clause"]


@dataclass(frozen=True, slots=True)
class Clause:
    """`says` completes "the auditor ..." or states the promise; `settled` as in the module."""

    name: str
    says: str
    holds: Term
    settled: bool = False


_holds = c.threshold <= now.lead
_ends = e.here & kind(Kind.REQUEST_FINISHED)
_victim = e.mine & kind(Kind.BLOCK_EVICTED)
RESPONSIBILITY = Clause(
    "responsibility",
    "knows when the runtime is responsible for the claim",
    believes.responsible.eq(now.responsible),
    settled=True,
)
USEFULNESS = Clause(
    "usefulness",
    "knows whether the predicate holds while the runtime is responsible",
    now.responsible.implies(believes.useful.eq(_holds)),
    settled=True,
)
USEFULNESS_ONE_WAY = Clause(
    "usefulness",
    "never believes in a claim that cannot be used or restored while the runtime is responsible",
    conj(now.responsible, believes.useful).implies(usable(now)),
    settled=True,
)
USEFULNESS_WATCHED = Clause(
    "usefulness",
    "knows whether the predicate holds",
    now.registered.implies(believes.useful.eq(_holds)),
    settled=True,
)
HARM = Clause(
    "harm",
    "counts every loss that happened under responsibility, and beyond those only failed restores",
    conj(now.losses <= believes.harms, believes.harms <= now.losses + now.failures),
    settled=True,
)
ARBITRATION = Clause(
    "arbitration",
    "has heard of an explicit action when a request that conflicts with the claim ends",
    (_ends & endures(was.footprint, req_was)).implies(believed.acted),
)
BLAME = Clause(
    "blame",
    "is told the claims that made the request infeasible: responsible, sufficient, irredundant",
    names_blockers.implies(blame_is_right(was.footprint)),
)
NO_VICTIM = Clause(
    "promise",
    "no block of a responsible claim is chosen as a victim",
    _victim.implies(~was.responsible),
)
NO_BREAKING_VICTIM = Clause(
    "promise",
    "no eviction breaks the predicate while the runtime is responsible",
    _victim.implies(~loss),
)
FAILURE_KNOWN = Clause(
    "failure",
    "has heard an outcome that names the claim when a request ends whose restore failed",
    (_ends & req_was.failed).implies(believed.answered),
)
RESTORED_FIRST = Clause(
    "promise",
    "a reuse under responsibility finds the blocks on the GPU, and after a load the auditor was "
    "told that they were restored",
    conj(e.mine, e.here, kind(Kind.PREFIX_REUSED), was.responsible).implies(
        (c.threshold <= was.lead) & req_was.loaded.implies(believed.restored)
    ),
)
ROUTE_COST = Clause(
    "cost",
    "knows what the route cost when the routed request ends",
    (_ends & req.routed).implies(believed.cost_told & believed.cost.eq(req.cost)),
)
PLACEMENT = Clause(
    "placement",
    "knows where the request was routed when it ends",
    (_ends & req.routed).implies(believed.worker_told & believed.worker.eq(req.worker)),
)
ROUTE_REUSE = Clause(
    "reuse",
    "knows whether the routed request hit the claim's prefix when it ends",
    (_ends & req.served).implies(believed.hit_told & believed.hit.eq(req.hit)),
)

CLAUSES: dict[Mode, tuple[Clause, ...]] = {
    Mode.BEST_EFFORT: (USEFULNESS_WATCHED,),
    Mode.HARD_PROTECTED: (RESPONSIBILITY, USEFULNESS, HARM, ARBITRATION, BLAME, NO_VICTIM),
    Mode.DEMOTABLE: (RESPONSIBILITY, USEFULNESS_ONE_WAY, HARM, NO_BREAKING_VICTIM),
    Mode.EXPIRING: (RESPONSIBILITY, HARM, NO_BREAKING_VICTIM),
    Mode.OFFLOADABLE: (
        RESPONSIBILITY,
        USEFULNESS_ONE_WAY,
        HARM,
        FAILURE_KNOWN,
        RESTORED_FIRST,
    ),
    Mode.ROUTED_REUSE: (ROUTE_COST, PLACEMENT, ROUTE_REUSE),
}
