"""The terms that are defined once and used by many, with all forms in which they are used."""

from __future__ import annotations

from typing import Final

from spec.contract import ledgers as terms
from spec.contract.interpretations import CLOSES
from spec.contract.ledgers import now, req, req_was, was
from spec.contract.obligations.ends import lifecycle_allows, lifecycle_follows
from spec.contract.obligations.pressure import blame_is_right, names_blockers
from spec.contract.vocabulary import e
from spec.language.terms import Scope, Sort, Term, Var

__all__ = ["SHARED", "TERMS"]

_stage = Var(Scope.OWN, "stage", Sort.INT)
_OWN = (was.declared, was.footprint)
_BESIDE = (e.rest, e.rest_since_arrival)
TERMS: Final[dict[str, tuple[Term, ...]]] = {
    "closes": (CLOSES,),
    "demotes": (terms.demotes,),
    "ends": (terms.ends,),
    "rises": (terms.rises,),
    "loss": (terms.loss,),
    "breaks": (terms.breaks,),
    "usable": (terms.usable(was), terms.usable(now)),
    "live": (terms.live(was), terms.live(now)),
    "resident": tuple(terms.resident(own, beside) for own in _OWN for beside in _BESIDE),
    "conflict": tuple(
        terms.conflict(own, request, beside)
        for own in _OWN
        for request in (req_was, req)
        for beside in _BESIDE
    ),
    "contends": tuple(terms.contends(own, asked) for own in _OWN for asked in (req_was, req)),
    "endures": tuple(terms.endures(own, req_was) for own in _OWN),
    "blame_is_right": tuple(blame_is_right(own) for own in _OWN),
    "names_blockers": (names_blockers,),
    "lifecycle_allows": (lifecycle_allows(_stage),),
    "lifecycle_follows": (lifecycle_follows(_stage),),
}

SHARED: Final = frozenset(form for forms in TERMS.values() for form in forms)
"""All of them; a slip in one of these is no slip in a rule that uses it."""
