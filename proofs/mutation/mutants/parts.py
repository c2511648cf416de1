"""Weakens, narrows and widens a guard: terms with one part left out or added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.events.alphabet import KINDS, Kind
from spec.language.terms import And, Ite, KindIn, Not, Or, Term, conj, disj

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["narrower", "neighbour", "weaker", "wider"]

Changed = tuple[Term, Term]  # the part that is left out or let in, and the whole after it


def weaker(term: Term) -> Iterator[Changed]:
    """The term without one of its conjuncts; a single one becomes `TRUE`."""
    if not isinstance(term, And | Or | Not | Ite):
        yield term, conj()
    yield from _without(term, weak=True)


def narrower(term: Term) -> Iterator[Changed]:
    """The term without one of the cases in which it holds."""
    return _without(term, weak=False)


def wider(term: Term) -> Iterator[Changed]:
    """The term with one more kind in one of the sets of kinds that make it hold."""
    match term:
        case KindIn(kinds):
            near = neighbour(kinds)
            if near is not None:
                yield KindIn(frozenset({near})), KindIn(kinds | {near})
        case And(args) | Or(args):
            for number, arg in enumerate(args):
                for part, changed in wider(arg):
                    yield part, _join(term, (*args[:number], changed, *args[number + 1 :]))
        case Ite(cond, then, otherwise):
            for part, changed in wider(then):
                yield part, Ite(cond, changed, otherwise)
            for part, changed in wider(otherwise):
                yield part, Ite(cond, then, changed)


def _without(term: Term, *, weak: bool) -> Iterator[Changed]:
    """Each part of a conjunction (if weak) or of a disjunction left out, at any depth.

    A negation swaps the two. The condition of an if-then-else is left unchanged.
    """
    match term:
        case Not(arg):
            for part, changed in _without(arg, weak=not weak):
                yield part, ~changed
        case And(args) | Or(args):
            for number, arg in enumerate(args):
                rest = (*args[:number], *args[number + 1 :])
                if isinstance(term, And) is weak:
                    yield arg, _join(term, rest)
                for part, changed in _without(arg, weak=weak):
                    yield part, _join(term, (*args[:number], changed, *args[number + 1 :]))
        case KindIn(kinds) if not weak and len(kinds) > 1:
            for kind in sorted(kinds):
                yield KindIn(frozenset({kind})), KindIn(kinds - {kind})
        case Ite(cond, then, otherwise):
            for part, changed in _without(then, weak=weak):
                yield part, Ite(cond, changed, otherwise)
            for part, changed in _without(otherwise, weak=weak):
                yield part, Ite(cond, then, changed)


def _join(term: And | Or, args: tuple[Term, ...]) -> Term:
    return conj(*args) if isinstance(term, And) else disj(*args)


def neighbour(kinds: frozenset[Kind]) -> Kind | None:
    """The next kind after these in the alphabet, of the role of the last of them."""
    order = list(KINDS)
    last = max(kinds, key=order.index)
    role = KINDS[last].role
    after = [*order[order.index(last) + 1 :], *order]
    return next((k for k in after if KINDS[k].role is role and k not in kinds), None)
