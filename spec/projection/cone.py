"""Computes which registers and fields can matter to the observers of some obligations.

A register that no rule reads, that no register in the cone is computed from, and that the
projection does not look at itself, cannot change a verdict. A search leaves it out, so that states
which differ in it alone are one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from spec.contract.facts import FACTS_ARE_FACTS
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.obligations import OBLIGATIONS
from spec.language.terms import Scope, Term, variables
from spec.projection.case import Reads

__all__ = ["LOOKED_AT", "Cone", "cone_of"]

LOOKED_AT: Final = frozenset(
    {
        *("registered", "committed", "responsible", "footprint", "declared"),
        *("lead", "there", "host"),
    }
)
"""The registers of a claim that the projection looks at itself."""

_CLAIM: Final = {**CLAIM_FACTS.following, **DECLARED.following}
_AFTER: Final = {Scope.NOW: Scope.WAS, Scope.REQ: Scope.REQ_WAS}

Read: TypeAlias = tuple[Scope, str]


class Cone(NamedTuple):
    """What can matter: the registers of the ledgers, and the fields of events."""

    registers: Reads
    fields: frozenset[str]


@cache
def cone_of(names: tuple[str, ...]) -> Cone:
    """What the observers of these obligations, and the check of facts, may read."""
    rules = [rule for name in names for rule in OBLIGATIONS[name].rules]
    terms = [term for rule in rules for term in (rule.when, *rule.sets.values())]
    terms += [each.holds for each in FACTS_ARE_FACTS]
    found: set[Read] = set()
    todo = _read(terms) | {(Scope.WAS, name) for name in LOOKED_AT}
    while todo:
        found |= todo
        ledgers = [_following(each) for each in todo if each[0] is not Scope.EVENT]
        todo = _read(ledgers) - found
    claim, request, fields = (
        frozenset(name for scope, name in found if scope is which)
        for which in (Scope.WAS, Scope.REQ_WAS, Scope.EVENT)
    )
    return Cone(Reads(claim, request), fields)


def _following(register: Read) -> Term:
    scope, name = register
    return (_CLAIM if scope is Scope.WAS else REQUEST_FACTS.following)[name]


def _read(terms: Iterable[Term]) -> set[Read]:
    """The registers that terms read, before or after an event, and the fields."""
    read = {(_AFTER.get(v.scope, v.scope), v.name) for term in terms for v in variables(term)}
    return {each for each in read if each[0] in (Scope.WAS, Scope.REQ_WAS, Scope.EVENT)}
