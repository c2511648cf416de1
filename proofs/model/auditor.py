"""The auditor: the beliefs of a reader who receives only reports and the ids in them.

`BELIEFS` may read the kind of a report, `named`, `here` and the fields of the report; it cannot
read facts, the key of an object, or any ledger of facts. `check_reports_only` enforces this.
"""

from __future__ import annotations

from spec.contract.ledgers import demotes, ends, kind
from spec.contract.vocabulary import e
from spec.events.alphabet import CONFLICT_ACTIONS, FACTS, Kind
from spec.language.machine import Ledger, Register
from spec.language.terms import KindIn, Scope, Sort, Term, Var, children, variables

__all__ = ["BELIEFS", "REPORT_FIELDS", "believed", "believes", "check_reports_only"]

_B, _I = Sort.BOOL, Sort.INT
_SORTS: dict[str, Sort] = {
    "responsible": _B,
    "useful": _B,
    "harms": _I,
    "acted": _B,
    "restored": _B,
    "answered": _B,
    "cost_told": _B,
    "cost": _I,
    "worker_told": _B,
    "worker": _I,
    "hit_told": _B,
    "hit": _B,
}
REPORT_FIELDS = frozenset(
    {
        "named",
        "here",
        "duplicate",
        "outcome",
        "breaks",
        "by",
        "cost",
        "worker",
        "hit",
        "from_tier",
        "blamed",
    }
)


class _Beliefs:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __getattr__(self, name: str) -> Var:
        if name not in _SORTS:
            raise AttributeError(name)
        return Var(self._scope, name, _SORTS[name])


believed, believes = _Beliefs(Scope.BELIEVED), _Beliefs(Scope.BELIEVES)


def _receives(*kinds: Kind) -> Term:
    return e.named & kind(*kinds)


def _last_reported(what: str, report: Kind, value: Term) -> dict[str, Term]:
    received = e.here & _receives(report)
    return {
        f"{what}_told": Var(Scope.BELIEVED, f"{what}_told", _B) | received,
        what: received.ite(value, Var(Scope.BELIEVED, what, value.sort)),
    }


_over = e.named & ends
_gone = _receives(Kind.CLAIM_UNMATERIALIZED, Kind.CLAIM_HARMED) | (
    _receives(Kind.CLAIM_BLOCK_LOST) & e.breaks
)
_answer = (e.named & (demotes | kind(Kind.CLAIM_EXPIRED, Kind.CLAIM_HARMED))) | (
    ~e.duplicate
    & e.here
    & (
        (_receives(Kind.CLAIM_RESTORATION_FAILED) & e.outcome)
        | (kind(Kind.REQUEST_REFUSED) & e.blamed)
    )
)

BELIEFS = Ledger(
    name="beliefs",
    registers=tuple(Register(n, s, False if s is _B else 0) for n, s in _SORTS.items()),
    following={
        "responsible": (believed.responsible | _receives(Kind.CLAIM_ACCEPTED)) & ~_over,
        "useful": (believed.useful | _receives(Kind.CLAIM_MATERIALIZED, Kind.CLAIM_RESTORED))
        & ~_gone,
        "harms": _receives(Kind.CLAIM_HARMED).ite(believed.harms + 1, believed.harms),
        "acted": believed.acted | (e.here & kind(*CONFLICT_ACTIONS)),
        "restored": (believed.restored | _receives(Kind.CLAIM_RESTORED))
        & ~(e.here & _receives(Kind.CLAIM_RESTORE_REQUIRED)),
        "answered": believed.answered | _answer,
        **_last_reported("cost", Kind.ROUTE_COST_REPORTED, e.cost),
        **_last_reported("worker", Kind.ROUTE_PLACEMENT_REPORTED, e.worker),
        **_last_reported("hit", Kind.ROUTE_REUSE_REPORTED, e.hit),
    },
)


def check_reports_only(ledger: Ledger) -> None:
    """Raise for a ledger that reads anything but reports.

    Raises:
        ValueError: a term reads a fact, a field that no report carries, or another scope.
    """
    for register, term in ledger.following.items():
        for var in variables(term):
            if var.scope is not Scope.BELIEVED and not (
                var.scope is Scope.EVENT and var.name in REPORT_FIELDS
            ):
                raise ValueError(f"{ledger.name}.{register} reads {var.scope.value}.{var.name}")
        if any(kinds & FACTS for kinds in _kinds(term)):
            raise ValueError(f"{ledger.name}.{register} reads a fact")


def _kinds(term: Term) -> list[frozenset[Kind]]:
    found = [term.kinds] if isinstance(term, KindIn) else []
    for child in children(term):
        found.extend(_kinds(child))
    return found


check_reports_only(BELIEFS)
