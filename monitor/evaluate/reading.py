"""Writes a function for each kind of event that says what of it the observers of a claim read.

What an event comes to depends on where the claim stands, and on the truth of the comparisons in
which numbers occur, and of what the event states. The function computes these truths, one bit for
each; events for which it gives the same move claims alike that stand in one product state
(`monitor.evaluate.product`). The comparisons are those of the terms themselves, so that none is
missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from monitor.evaluate.by_kind import following, unchanged_by
from monitor.evaluate.python_terms import to_python
from spec.contract.facts import FACTS_ARE_FACTS
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.language.partial_evaluation import specialize
from spec.language.terms import FALSE, Compare, Const, Scope, Sort, Var, children, show, variables
from spec.stream.scopes import DELIVERY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from monitor.evaluate.constants import Constants
    from monitor.evaluate.event_view import EventView
    from monitor.evaluate.observer_state import Registers
    from spec.events.alphabet import Kind
    from spec.language.machine import Observer
    from spec.language.partial_evaluation import Known
    from spec.language.terms import Term

    Numbers: TypeAlias = "tuple[int, int, int, int]"
    Reader: TypeAlias = "Callable[[EventView, Constants, Registers, Numbers], int]"

__all__ = ["MOST_READ", "comparisons_of", "reader"]

MOST_READ: Final = 32
"""Bits that a reader gives, at most."""

_CLAIM: Final = (CLAIM_FACTS, DECLARED)
_REQUEST: Final = (REQUEST_FACTS,)
_OF_REQUEST: Final = ("needed", "usable", "cost", "worker")
_NUMBERS: Final = {(Scope.REQ_WAS, n): f"numbers[{at}]" for at, n in enumerate(_OF_REQUEST)}
_OF_EVENT: Final = {*_OF_REQUEST, "lead", "footprint", "declared", "ended_by"}
"""Registers that take a number of the event, which each claim keeps apart from its product state"""
_IN_PRODUCT: Final = frozenset({(Scope.WAS, "lead"), (Scope.CLAIM, "threshold")})
"""A product state says whether the first reaches the second."""


def reader(observers: tuple[Observer, ...], kind: Kind, *, about: bool) -> Reader:
    """What of an event is read, as a function `read(e, c, was, numbers)`.

    Its arguments are the event, the constants and the registers of the claim before it, and those
    registers of the request of the event before it that are numbers: what it needs, of what is
    usable, and the cost and the worker of its route.

    Args:
        about: the event names the claim and is about it; or else it is neither.
    """
    parts = [to_python(term, _NUMBERS) for term in comparisons_of(observers, kind, about=about)]
    assert len(parts) <= MOST_READ
    bits = " | ".join(f"bool({part}) << {bit}" for bit, part in enumerate(parts))
    made: dict[str, Any] = {}
    text = f"def read(e, c, was, numbers):\n    return {bits or 0}\n"
    exec(compile(text, f"<what is read at {kind}>", "exec"), made)
    read: Reader = made["read"]
    return read


def comparisons_of(observers: tuple[Observer, ...], kind: Kind, *, about: bool) -> list[Term]:
    """The truths that decide what an event of a kind comes to, beside the product state.

    Raises:
        ValueError: something is read that is neither in them nor in a product state.
    """
    found: dict[Term, None] = {}
    for here in (True, False):
        for term in _terms(observers, kind, about=about, here=here):
            found.update(dict.fromkeys(_truths(term)))
    for term in found:
        if term.sort is Sort.INT:
            raise ValueError(f"the number {show(term)} is kept in no register of its own")
        if stray := [v for v in variables(term) if not _is_at_hand(v)]:
            raise ValueError(f"{show(term)} reads {show(stray[0])}, which is not at hand")
    return list(found)


def _is_at_hand(variable: Var) -> bool:
    """Whether a reader has what a variable stands for."""
    own = variable.scope, variable.name
    return variable.scope in (Scope.EVENT, Scope.CLAIM, Scope.WAS) or own in _NUMBERS


def _terms(
    observers: tuple[Observer, ...], kind: Kind, *, about: bool, here: bool
) -> Iterator[Term]:
    """All that an event of a kind makes of a claim, in the scope of its request or in another."""
    known: Known = {(Scope.EVENT, name): Const(about) for name in ("mine", "named")}
    known = {**known, (Scope.EVENT, "here"): Const(here)}
    claim = following(_CLAIM, Scope.NOW, kind, known)
    known = {**known, **unchanged_by(_CLAIM, claim, Scope.NOW), **_numbers(Scope.NOW, claim)}
    request = following(_REQUEST, Scope.REQ, kind, known)
    known = {**known, **unchanged_by(_REQUEST, request, Scope.REQ), **_numbers(Scope.REQ, request)}
    for name, following_term in (*claim.items(), *request.items()):
        term = specialize(following_term, kind, known)
        yield from _conditions(term) if name in _OF_EVENT else (term,)
    for observer in observers:
        for rule in observer.rules:
            when = specialize(rule.when, kind, known)
            if when != FALSE:
                yield when
                yield from (specialize(term, kind, known) for term in rule.sets.values())
    if about:
        yield from (specialize(each.holds, kind, known) for each in FACTS_ARE_FACTS)
    yield specialize(DELIVERY.term("opens"), kind, known)


def _numbers(after: Scope, changed: dict[str, Term]) -> Known:
    """The registers after the event that are numbers, by what they come from."""
    return {(after, name): term for name, term in changed.items() if term.sort is Sort.INT}


def _conditions(term: Term) -> Iterator[Term]:
    """What decides whether a register takes a number of the event."""
    for child in children(term):
        if child.sort is Sort.BOOL:
            yield child
        else:
            yield from _conditions(child)


def _truths(term: Term) -> Iterator[Term]:
    """The truths that a term is made of and that no product state tells."""
    if isinstance(term, Var):
        if term.scope is Scope.EVENT:
            yield term
    elif isinstance(term, Compare) and term.left.sort is Sort.INT:
        read = {(v.scope, v.name) for v in variables(term) if v.sort is Sort.INT}
        if not (read <= _IN_PRODUCT or {scope for scope, _ in read} <= {Scope.OWN}):
            yield term
    else:
        for child in children(term):
            yield from _truths(child)
