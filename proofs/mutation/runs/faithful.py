"""States which events a faithful stream can contain, as one term for Z3 and Python.

The alphabet is not restricted to a mode, and no obligation is assumed. An event is assumed to be
faithful, and to carry only fields that its kind has.
"""

from __future__ import annotations

from functools import cache

from proofs.engines.bounded.minimise import CARRIES
from proofs.model import environment
from spec.contract.ledgers import kind
from spec.contract.vocabulary import EVENT_FIELDS, e
from spec.language.terms import Const, Scope, Sort, Term, Var, conj, disj

__all__ = ["faithful", "well_formed"]

_WHOM = frozenset({"mine", "named", "here", "rest"})


@cache
def faithful() -> Term:
    """The condition on every event of a faithful stream."""
    return environment.faithful() & well_formed()


@cache
def well_formed() -> Term:
    """The condition on the fields of an event by its kind and subject; reads only the event."""
    return conj(
        e.mine | ~(e.lower_priority_available | e.higher_priority_kept),
        *(_carried(name, sort) for name, (sort, _) in EVENT_FIELDS.items() if name not in _WHOM),
    )


def _carried(name: str, sort: Sort) -> Term:
    """The field is plain on the kinds that do not carry it."""
    kinds = {k for k, carried in CARRIES.items() if name in carried}
    plain: bool | int = 0 if sort is Sort.INT else name == "authorised"
    return disj(kind(*kinds), Var(Scope.EVENT, name, sort).eq(Const(plain)))
