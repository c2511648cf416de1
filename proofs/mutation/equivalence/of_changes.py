"""States the verification conditions under which a mutant is equivalent to the original.

A changed register may always have its original value; if not, its readers may not be affected. A
changed clause may be equivalent for every possible event.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from proofs.mutation.equivalence.product import (
    Comparable,
    Compared,
    Comparison,
    compared,
    same_step,
    same_terms,
    shortest,
)
from proofs.mutation.mutants.trusted import ORIGINAL, Change, Trusted, dependents, renamed
from proofs.mutation.runs.judge import alike
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.language.machine import Ledger, Register
from spec.language.terms import TRUE, Scope, Term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spec.language.machine import Observer

__all__ = ["compare_change", "shown_same"]


def compare_change(change: Change) -> tuple[Compared, str | None]:
    """Compare a change with the original; with a run that shows a difference, if there is one."""
    if change.after.kinds != ORIGINAL.kinds:
        return Compared.DIFFERENT, None
    result, moved = Compared.RUN, _moved(change.after)
    for question in _questions(change.after, moved):
        if _same_steps(question):
            continue
        found = compared(question)
        if found is Compared.DIFFERENT:
            return found, shortest(question)
        result = found if found is Compared.UNKNOWN else result
    return result, None


def shown_same(changes: Sequence[Change]) -> list[bool]:
    """For each change, whether it is proved equivalent for every event without a search.

    Changes that touch the same terms are asked together.
    """
    found = [change.after.kinds == ORIGINAL.kinds for change in changes]
    registers: _Pairs = {}
    for number, change in enumerate(changes):
        for ledger, before, name in _touched(change.after):
            pair = ledger.following[name], change.after.following(before)[name]
            for mode in _representatives(tuple(Mode)):
                registers.setdefault((mode, None), []).append((number, pair))
    _ask_terms(registers, found)
    observers: dict[tuple[Mode, str], list[tuple[int, Observer]]] = {}
    terms: _Pairs = {}
    for number, change in enumerate(changes):
        for question in _questions(change.after, set()) if found[number] else ():
            for one, other in question.observers:
                observers.setdefault((question.mode, one.name), []).append((number, other))
            allowed = None if question.allowed is None else TRUE
            for term in question.terms:
                terms.setdefault((question.mode, allowed), []).append((number, term))
    for (mode, name), each in observers.items():
        others = [(number, other) for number, other in each if found[number]]
        if not others:
            continue
        steps = same_step(mode, ORIGINAL.observers[name], [other for _, other in others])
        for (number, _), step in zip(others, steps, strict=True):
            found[number] = found[number] and step is not None
    _ask_terms(terms, found)
    return found


_Pairs = dict[tuple[Mode, Term | None], list[tuple[int, tuple[Comparable, Comparable]]]]


def _ask_terms(terms: _Pairs, found: list[bool]) -> None:
    """Drop the changes that a differing pair of terms belongs to."""
    for (mode, allowed), each in terms.items():
        left = [(number, pair) for number, pair in each if found[number]]
        same = same_terms(mode, [pair for _, pair in left], allowed) if left else []
        for (number, _), agrees in zip(left, same, strict=True):
            found[number] = found[number] and agrees


def _moved(after: Trusted) -> set[tuple[Scope, str]]:
    """The registers whose value may differ, by the scope before an event."""
    moved = _touched(after)
    pairs = [(ledger.following[n], after.following(b)[n]) for ledger, b, n in moved]
    modes = _representatives(tuple(Mode)) if moved else []
    if all(all(same_terms(mode, pairs)) for mode in modes):
        return set()
    return {(before, name) for _, before, name in moved}


def _touched(after: Trusted) -> list[tuple[Ledger, Scope, str]]:
    """The registers with a changed term."""
    return [
        (ledger, before, name)
        for ledger, before, _ in ORIGINAL.ledgers
        for name, term in ledger.following.items()
        if after.following(before)[name] is not term
    ]


def _same_steps(question: Comparison) -> bool:
    """Whether each event leads the changed observer to the same state as the original."""
    if not question.observers or question.ledgers:
        return False
    each = ((one, same_step(question.mode, one, [other])) for one, other in question.observers)
    return all(steps[0] is not None for _, steps in each)


def _representatives(modes: tuple[Mode, ...]) -> list[Mode]:
    """One representative of the modes that observers cannot distinguish."""
    return list({alike(mode): mode for mode in reversed(modes)}.values())


def _questions(after: Trusted, moved: set[tuple[Scope, str]]) -> Iterator[Comparison]:
    """The comparisons of everything that reads changed registers, or was changed itself.

    Copies of the changed registers, and of those computed from them, are added to the model. The
    blocks of the other claims are part of each event, so they must be equal themselves.
    """
    if (Scope.WAS, "rest") in moved:
        rest, rest_then = (each.following(Scope.WAS)["rest"] for each in (ORIGINAL, after))
        for mode in _representatives(tuple(Mode)):
            yield Comparison(mode, terms=((rest, rest_then),))
    names = dependents(after, moved) if moved else set()
    copies = tuple(_copies(after, names))

    def put(term: Term) -> Term:
        return renamed(term, names, after) if names else term

    for name, observer in ORIGINAL.observers.items():
        other = _observer(after.observers[name], put)
        if other is not observer:
            for mode in _representatives(tuple(m for m in Mode if name in MODES[m].names())):
                yield Comparison(mode, ((observer, other),), ledgers=copies)
    for mode, clauses in ORIGINAL.clauses.items():
        pairs = zip(clauses, after.clauses[mode], strict=True)
        others = ((one, other, put(other.holds)) for one, other in pairs)
        terms = tuple(
            (one, replace(other, holds=holds))
            for one, other, holds in others
            if holds is not one.holds or other.settled != one.settled
        )
        if terms:
            yield Comparison(mode, terms=terms, ledgers=copies)
    world = put(after.world)
    if world is not ORIGINAL.world:
        for mode in _representatives(tuple(Mode)):
            either = ORIGINAL.world | world
            yield Comparison(mode, terms=((ORIGINAL.world, world),), allowed=either, ledgers=copies)


def _observer(observer: Observer, change: Callable[[Term], Term]) -> Observer:
    rules = tuple(
        replace(rule, when=change(rule.when), sets={n: change(t) for n, t in rule.sets.items()})
        for rule in observer.rules
    )
    same = all(
        one.when is other.when and all(one.sets[n] is t for n, t in other.sets.items())
        for one, other in zip(rules, observer.rules, strict=True)
    )
    return observer if same else replace(observer, rules=rules)


def _copies(after: Trusted, names: set[tuple[Scope, str]]) -> Iterator[tuple[Ledger, Scope, Scope]]:
    for ledger, before, then in after.ledgers:
        own = [r for r in ledger.registers if (before, r.name) in names]
        if own:
            registers = tuple(Register(f"{r.name}'", r.sort, r.initial) for r in own)
            following = {f"{r.name}'": renamed(ledger.following[r.name], names, after) for r in own}
            yield replace(ledger, registers=registers, following=following), before, then
