"""Which facts a term rests on: those that it reads, and those behind its registers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from spec.alphabet import FACTS, Kind
from spec.ledgers import CLAIM_FACTS, REQUEST_FACTS
from spec.terms import KindIn, Scope, Term, Var, children, variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spec.machine import Observer

__all__ = ["facts_behind", "facts_of", "fields_behind"]

_LEDGERS = {
    Scope.WAS: CLAIM_FACTS.following,
    Scope.NOW: CLAIM_FACTS.following,
    Scope.REQ_WAS: REQUEST_FACTS.following,
    Scope.REQ: REQUEST_FACTS.following,
}


def facts_behind(term: Term) -> frozenset[Kind]:
    """The kinds of facts that decide a term, through whatever registers."""
    found: set[Kind] = set()
    seen: set[tuple[Scope, str]] = set()
    todo = [term]
    while todo:
        for part in _parts(todo.pop()):
            if isinstance(part, KindIn):
                found |= part.kinds & FACTS
            elif isinstance(part, Var) and (part.scope, part.name) not in seen:
                seen.add((part.scope, part.name))
                todo += [t for n, t in _LEDGERS.get(part.scope, {}).items() if n == part.name]
    return frozenset(found)


def facts_of(observer: Observer) -> frozenset[Kind]:
    """The kinds of facts that an obligation rests on."""
    return frozenset[Kind]().union(*(facts_behind(rule.when) for rule in observer.rules))


@cache
def fields_behind(fields: frozenset[str]) -> frozenset[str]:
    """These fields of events, and the registers that nobody knows where they are unknown."""
    found = fields
    while True:
        terms = [*CLAIM_FACTS.following.items(), *REQUEST_FACTS.following.items()]
        more = {n for n, term in terms if any(v.name in found for v in variables(term))}
        if more <= found:
            return found
        found |= more


def _parts(term: Term) -> Iterator[Term]:
    yield term
    for child in children(term):
        yield from _parts(child)
