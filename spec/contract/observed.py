"""Computes the facts that a term or an obligation depends on, also through its registers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from spec.contract.interpret import in_mode
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import FACTS, Kind
from spec.language.terms import FALSE, KindIn, Scope, Term, Var, children, variables
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spec.claims.states import Mode
    from spec.language.machine import Observer, Rule

__all__ = [
    "facts_behind",
    "facts_of",
    "fields_behind",
    "reading",
    "resting_on",
    "without_fields",
]

_LEDGERS = {
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
        for part in _parts(todo.pop()):
            if isinstance(part, KindIn):
                found |= part.kinds & FACTS
            elif isinstance(part, Var) and (part.scope, part.name) not in seen:
                seen.add((part.scope, part.name))
                todo += [t for n, t in _LEDGERS.get(part.scope, {}).items() if n == part.name]
    return frozenset(found)


def facts_of(observer: Observer) -> frozenset[Kind]:
    """The kinds of facts that an obligation rests on."""
    return facts_behind(*(rule.when for rule in observer.rules))


@cache
def resting_on(kind: Kind) -> frozenset[str]:
    """The obligations that rest on a kind of fact."""
    return frozenset(name for name, facts in _facts().items() if kind in facts)


@cache
def _facts() -> dict[str, frozenset[Kind]]:
    return {name: facts_of(observer) for name, observer in OBLIGATIONS.items()}


@cache
def reading(field: str, mode: Mode) -> frozenset[str]:
    """The obligations whose rules read a field of the event, under the constants of a mode."""
    constants = MODES[mode].constants
    return frozenset(
        name
        for name, o in OBLIGATIONS.items()
        for rule in o.rules
        for v in variables(in_mode(rule.when, constants))
        if (v.scope, v.name) == (Scope.EVENT, field)
    )


@cache
def fields_behind(fields: frozenset[str]) -> frozenset[str]:
    """These fields of events, and the registers that are unknown where they are."""
    found = fields
    while True:
        ledgers = (CLAIM_FACTS, DECLARED, REQUEST_FACTS)
        terms = [pair for ledger in ledgers for pair in ledger.following.items()]
        more = {n for n, term in terms if any(v.name in found for v in variables(term))}
        if more <= found:
            return found
        found |= more


def without_fields(observer: Observer, fields: frozenset[str]) -> Observer | None:
    """The observer without the rules that rest on any of these fields or registers.

    Where one of those leads elsewhere than to a breach, it is unknown in which state the observer
    is: of the rules that find a breach those are left that do so in any, and come before it. What
    is left concludes breaches alone: nothing is shown to be kept by it.

    None where it reads none of them: it judges as well as before.
    """
    fields = fields_behind(fields)
    broken = {state.name for state in observer.states if state.verdict is Verdict.VIOLATED}
    read = [any(v.name in fields for v in variables(rule.when)) for rule in observer.rules]
    if not any(read):
        return None
    turns = [n for n, rule in enumerate(observer.rules) if read[n] and rule.to not in broken]
    first = turns[0] if turns else len(read)

    def stays(number: int, rule: Rule) -> bool:
        if read[number]:
            return False
        anywhere = not rule.source and not any(v.scope is Scope.OWN for v in variables(rule.when))
        return not turns or rule.to not in broken or (number < first and anywhere)

    rules = [r if stays(n, r) else replace(r, when=FALSE) for n, r in enumerate(observer.rules)]
    return replace(observer, rules=tuple(rules))


def _parts(term: Term) -> Iterator[Term]:
    yield term
    for child in children(term):
        yield from _parts(child)
