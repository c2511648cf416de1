"""Defines the assumptions about facts, and computes the facts that terms and obligations rest on.

The monitor evaluates the assumptions on every event of a stream. A fact that contradicts those
before it was not observed faithfully, or not all of them were. Then nothing is concluded from there
on: it is a break (`spec.stream.breaks`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS, kind, was
from spec.contract.vocabulary import c, e
from spec.events.alphabet import FACTS, Kind
from spec.language.terms import KindIn, Scope, Var, conj, parts

if TYPE_CHECKING:
    from spec.language.machine import Observer
    from spec.language.terms import Term

__all__ = [
    "FACTS_ARE_FACTS",
    "ROOM",
    "Assumption",
    "facts_are_facts",
    "facts_behind",
    "facts_of",
]

_LEDGERS: Final = {
    Scope.WAS: {**CLAIM_FACTS.following, **DECLARED.following},
    Scope.NOW: {**CLAIM_FACTS.following, **DECLARED.following},
    Scope.REQ_WAS: REQUEST_FACTS.following,
    Scope.REQ: REQUEST_FACTS.following,
}


def facts_behind(*terms: Term) -> frozenset[Kind]:
    """The kinds of facts that decide any of the terms, through whatever registers."""
    found: set[Kind] = set()
    seen: set[tuple[Scope, str]] = set()
    todo = [*terms]
    while todo:
        for part in parts(todo.pop()):
            if isinstance(part, KindIn):
                found |= part.kinds & FACTS
            elif isinstance(part, Var) and (part.scope, part.name) not in seen:
                seen.add((part.scope, part.name))
                todo += [t for n, t in _LEDGERS.get(part.scope, {}).items() if n == part.name]
    return frozenset(found)


def facts_of(observer: Observer) -> frozenset[Kind]:
    """The kinds of facts that an obligation rests on."""
    return facts_behind(*(rule.when for rule in observer.rules))


class Assumption(Struct, frozen=True):
    """`holds` of each event of a faithful stream; `broken` says what contradicts where it fails."""

    name: str
    holds: Term
    broken: str

    @property
    def rests_on(self) -> frozenset[Kind]:
        """The facts of which each one has to be observed for it to be broken."""
        return facts_behind(self.holds)


def _of_mine(kinds: Term, then: Term) -> Term:
    return (e.mine & kinds).implies(then)


ROOM: Final = "room for the predicate"
"""The assumption that cannot be evaluated if a commitment states no footprint."""

FACTS_ARE_FACTS: tuple[Assumption, ...] = (
    Assumption(
        "one commitment",
        _of_mine(kind(Kind.CLAIM_COMMITTED), ~was.responsible & ~(c.watched & was.committed)),
        "the registry commits to a claim that it already holds, or held",
    ),
    Assumption(
        ROOM,
        _of_mine(kind(Kind.CLAIM_COMMITTED), c.threshold <= e.footprint),
        "the footprint committed is smaller than what the predicate needs",
    ),
    Assumption(
        "an entry to end",
        _of_mine(kind(Kind.CLAIM_RETIRED), was.responsible | ~was.committed | c.lapses),
        "the registry ends an entry that had ended before",
    ),
    Assumption(
        "copies of what was there",
        _of_mine(kind(Kind.STORE_FINISHED), was.there),
        "a copy was stored of blocks that were never there",
    ),
    Assumption(
        "a copy to lose",
        _of_mine(kind(Kind.HOST_COPY_LOST), was.copied),
        "a copy is lost that never existed",
    ),
    Assumption(
        "a copy to load",
        _of_mine(kind(Kind.LOAD_FINISHED), was.copied),
        "a load is of a claim that never had a copy",
    ),
)
"""The assumptions about the facts of one claim, in the order in which they are evaluated."""


def facts_are_facts() -> Term:
    """All of `FACTS_ARE_FACTS`."""
    return conj(*(assumption.holds for assumption in FACTS_ARE_FACTS))
