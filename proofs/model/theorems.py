"""The auditor's theorem, clause by clause, for each mode.

A clause is a predicate of one event with the facts and beliefs before and after it. A clause may
wait for some obligations, the fewest that it is proved with: while one of these is pending the
clause is not compared. All other clauses are always compared, so that "pending" cannot hide that a
report never comes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proofs.model.auditor import believed, believes
from spec.claims.states import Mode
from spec.contract.ledgers import breaks, endures, kind, live, loss, now, req, req_was, usable, was
from spec.contract.obligations.pressure import blame_is_right, names_blockers
from spec.contract.vocabulary import c, e
from spec.events.alphabet import Kind
from spec.language.terms import conj

if TYPE_CHECKING:
    from spec.language.terms import Term

__all__ = ["CLAUSES", "Clause"]


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a theorem; `says` completes "the auditor ..." or states the promise.

    `waits` are the obligations that it waits for; outside the bundle they have no effect.
    `tested` names the places where it could be false: some run must reach each of these while it is
    compared.
    """

    name: str
    says: str
    holds: Term
    tested: tuple[tuple[str, Term], ...] = ()
    waits: frozenset[str] = frozenset()

    def after(self, *obligations: str) -> Clause:
        """The same clause, compared where these obligations owe nothing."""
        return replace(self, waits=frozenset(obligations))


_holds = c.threshold <= now.lead
_ends = e.here & kind(Kind.REQUEST_FINISHED)
_victim = e.mine & kind(Kind.BLOCK_EVICTED)
_conflicts = _ends & endures(was.footprint, req_was)
_reuses = conj(e.mine, e.here, kind(Kind.PREFIX_REUSED), was.responsible)
RESPONSIBILITY = Clause(
    "responsibility",
    "knows when the runtime is responsible for the claim",
    believes.responsible.eq(now.responsible),
    (("responsible", now.responsible), ("no more", now.committed & ~now.responsible)),
)
USEFULNESS = Clause(
    "usefulness",
    "knows whether the predicate holds while the runtime is responsible",
    now.responsible.implies(believes.useful.eq(_holds)),
    (
        ("holds", conj(now.responsible, _holds)),
        ("lost", conj(now.responsible, believed.useful, ~_holds)),
    ),
)
USEFULNESS_ONE_WAY = Clause(
    "usefulness",
    "never believes in a claim that cannot be used or restored while the runtime is responsible",
    conj(now.responsible, believes.useful).implies(usable(now)),
    (
        ("usable", conj(now.responsible, believes.useful)),
        ("lost", conj(now.responsible, believed.useful, ~usable(now))),
    ),
)
USEFULNESS_WATCHED = Clause(
    "usefulness",
    "knows whether the predicate holds while news of the claim is owed",
    live(now).implies(believes.useful.eq(_holds)),
    (
        ("holds", conj(live(now), _holds)),
        ("lost", conj(live(now), believed.useful, ~_holds)),
    ),
)
HARM = Clause(
    "harm",
    "counts every loss that happened under responsibility, and beyond those only failed restores",
    conj(now.losses <= believes.harms, believes.harms <= now.losses + now.failures),
    (("lost", now.losses >= 1), ("failed", now.failures >= 1)),
)
ARBITRATION = Clause(
    "arbitration",
    "has received a report of an explicit action when a request that conflicts with the claim ends",
    _conflicts.implies(believed.acted),
    (("conflict", _conflicts),),
)
BLAME = Clause(
    "blame",
    "learns from each action which claims made the request infeasible: responsible, sufficient, "
    "irredundant",
    names_blockers.implies(blame_is_right(was.footprint)),
    (("named", names_blockers & e.accuses), ("nobody", names_blockers & ~e.accuses)),
)
NO_VICTIM = Clause(
    "promise",
    "no block of a responsible claim is chosen as a victim",
    _victim.implies(~was.responsible),
    (("victim", _victim & (e.lead < was.lead)),),
)
NO_BREAKING_VICTIM = Clause(
    "promise",
    "no eviction breaks the predicate while the runtime is responsible",
    _victim.implies(~loss),
    (("victim", _victim & was.responsible), ("breaks", _victim & breaks)),
)
FAILURE_KNOWN = Clause(
    "failure",
    "has received an outcome that names the claim when a request ends whose restore failed",
    (_ends & req_was.failed).implies(believed.answered),
    (("failed", _ends & req_was.failed),),
)
RESTORED_FIRST = Clause(
    "promise",
    "a reuse under responsibility finds the blocks on the GPU, and after a load the auditor was "
    "told that they were restored",
    _reuses.implies((c.threshold <= was.lead) & req_was.loaded.implies(believed.restored)),
    (("reuse", _reuses), ("loaded", _reuses & req_was.loaded)),
)
ROUTE_COST = Clause(
    "cost",
    "knows what the route cost when the routed request ends",
    (_ends & req.routed).implies(believed.cost_told & believed.cost.eq(req.cost)),
    (("routed", _ends & req.routed),),
)
PLACEMENT = Clause(
    "placement",
    "knows where the request was routed when it ends",
    (_ends & req.routed).implies(believed.worker_told & believed.worker.eq(req.worker)),
    (("routed", _ends & req.routed),),
)
ROUTE_REUSE = Clause(
    "reuse",
    "knows whether the routed request hit the claim's prefix when it ends",
    (_ends & req.served).implies(believed.hit_told & believed.hit.eq(req.hit)),
    (("hit", _ends & req.served & req.hit), ("miss", _ends & req.served & ~req.hit)),
)

_ENTRY = ("explicit_acceptance", "ordered_lifecycle_events")  # reports its begin and its end
_HARMED = HARM.after("claim_harm_attribution")
_USEFUL_ONE_WAY = USEFULNESS_ONE_WAY.after("claim_harm_attribution")

# What each clause waits for is minimal: tests take out one after another, and a run breaks it.
CLAUSES: dict[Mode, tuple[Clause, ...]] = {
    Mode.BEST_EFFORT: (
        USEFULNESS_WATCHED.after("claim_materialized_event", "claim_scoped_telemetry"),
    ),
    Mode.HARD_PROTECTED: (
        RESPONSIBILITY.after(*_ENTRY),
        USEFULNESS.after("claim_harm_attribution", "claim_materialized_event"),
        _HARMED,
        ARBITRATION,
        BLAME,
        NO_VICTIM,
    ),
    Mode.DEMOTABLE: (
        RESPONSIBILITY.after(*_ENTRY),
        _USEFUL_ONE_WAY,
        _HARMED,
        NO_BREAKING_VICTIM,
    ),
    Mode.EXPIRING: (
        RESPONSIBILITY.after(*_ENTRY, "claim_expired_boundary"),
        _HARMED,
        NO_BREAKING_VICTIM,
    ),
    Mode.OFFLOADABLE: (
        RESPONSIBILITY.after(*_ENTRY),
        _USEFUL_ONE_WAY,
        _HARMED,
        FAILURE_KNOWN,
        RESTORED_FIRST,
    ),
    Mode.ROUTED_REUSE: (ROUTE_COST, PLACEMENT, ROUTE_REUSE),
}
