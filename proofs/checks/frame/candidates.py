"""Generates candidate invariants from an observer's guards.

There are four families; none uses a name of the specification:

* *never*: in this scope, an observer is never in a state.
* *where*: where it is in a state, a literal holds; literals are boolean registers, and each boolean
  part of a guard that reads ledgers, constants and its own registers alone.
* *both*: where it is in a state in the scope of a request, it is not in a state in the claim's own.
* *alike*: where it is in a state in the scope of a request, a register is what the claim's is,
  unless the claim itself is violated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import z3

from proofs.checks.frame.space import CLAIM_FIRST, NUMBERS, REQUEST_FIRST, SCOPES, constant
from proofs.logic.encode import encode
from spec.language.terms import KindIn, Not, Scope, Sort, Term, Var, children, show, variables
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from proofs.logic.encode import Expr
    from spec.language.machine import Observer

__all__ = ["Candidate", "Situation", "candidates"]

_BEFORE: Final = {
    Scope.NOW: Scope.WAS,
    Scope.WAS: Scope.WAS,
    Scope.REQ: Scope.REQ_WAS,
    Scope.REQ_WAS: Scope.REQ_WAS,
}
_TIMES: Final = ({Scope.WAS, Scope.REQ_WAS}, {Scope.NOW, Scope.REQ})


@dataclass(frozen=True)
class Situation:
    """The values of one state: registers by scope, and the state of an observer in each."""

    registers: Mapping[Scope, Mapping[str, Expr]]
    standing: Mapping[str, Mapping[str, Expr]]


@dataclass(frozen=True)
class Candidate:
    """A candidate invariant of an observer.

    `says` is its text; `about` are the observer states it mentions, by scope. It states that these
    are `never` reached, or that `holds` is true in them.
    """

    says: str
    about: tuple[tuple[str, str], ...]
    never: bool
    holds: Callable[[Situation], Expr]


def candidates(observer: Observer) -> Iterator[Candidate]:
    """All candidates for an observer, the strongest first."""
    alive = [s.name for s in observer.states if s.verdict is not Verdict.VIOLATED]
    scopes = SCOPES if observer.per_request else SCOPES[:1]
    for scope in scopes:
        literals = _literals(observer, scope)
        for state in alive:
            yield _never(observer, scope, state)
            for text, literal in literals.items():
                for each, shown in ((literal, text), (~literal, f"not ({text})")):
                    yield _where(observer, scope, state, shown, each)
    if observer.per_request:
        for state in alive:
            yield from (_both(observer, state, other) for other in alive if other != state)
            yield from (_alike(observer, state, r.name) for r in observer.registers)


def _never(observer: Observer, scope: str, state: str) -> Candidate:
    def holds(of: Situation) -> Expr:
        return z3.Not(_in(observer, of, scope, state))

    return Candidate(f"the {scope} is never in {state}", ((scope, state),), True, holds)


def _where(observer: Observer, scope: str, state: str, text: str, literal: Term) -> Candidate:
    def holds(of: Situation) -> Expr:
        return z3.Implies(_in(observer, of, scope, state), _value(literal, of, scope))

    return Candidate(f"where the {scope} is in {state}: {text}", ((scope, state),), False, holds)


def _both(observer: Observer, state: str, other: str) -> Candidate:
    def holds(of: Situation) -> Expr:
        there = _in(observer, of, "request", state)
        return z3.Implies(there, z3.Not(_in(observer, of, "claim", other)))

    says = f"where the request is in {state}, the claim is not in {other}"
    return Candidate(says, (("request", state), ("claim", other)), False, holds)


def _alike(observer: Observer, state: str, register: str) -> Candidate:
    def holds(of: Situation) -> Expr:
        request, claim = (of.standing[scope][register] for scope in ("request", "claim"))
        there = [_in(observer, of, "claim", other) for other in alive]
        return z3.Implies(
            z3.And(_in(observer, of, "request", state), z3.Or(there)), request == claim
        )

    alive = [s.name for s in observer.states if s.verdict is not Verdict.VIOLATED]
    says = f"where the request is in {state}, own.{register} is what the claim's is"
    return Candidate(says, (("request", state),), False, holds)


def _in(observer: Observer, of: Situation, scope: str, state: str) -> Expr:
    place = next(i for i, s in enumerate(observer.states) if s.name == state)
    return of.standing[scope]["state"] == constant(place)


def _value(literal: Term, of: Situation, where: str) -> Expr:
    def resolve(scope: Scope, name: str) -> Expr:
        if scope is Scope.OWN:
            return of.standing[where][name]
        return of.registers[_BEFORE.get(scope, scope)][name]

    return encode(literal, resolve, {}, NUMBERS)


def _literals(observer: Observer, scope: str) -> dict[str, Term]:
    """Literals by their text, which names registers as they are before an event."""
    ledgers = {
        Scope.WAS: CLAIM_FIRST,
        **({Scope.REQ_WAS: REQUEST_FIRST} if scope != "claim" else {}),
    }
    found: dict[str, Term] = {
        f"{where.value}.{name}": Var(where, name, Sort.BOOL)
        for where, ledger in ledgers.items()
        for name, first in ledger.items()
        if isinstance(first, bool)
    }
    for r in observer.registers:
        if r.sort is Sort.BOOL:
            found[f"own.{r.name}"] = Var(Scope.OWN, r.name, Sort.BOOL)
    for rule in observer.rules:
        for part in _parts(rule.when):
            scopes = {variable.scope for variable in variables(part)} - {Scope.CLAIM}
            reads = scopes - {Scope.OWN}
            at_once = scopes and any(reads <= time for time in _TIMES)
            known = {_BEFORE.get(each) for each in reads} <= set(ledgers)
            if part.sort is Sort.BOOL and at_once and known and _plain(part):
                text = show(part).replace("now.", "was.").replace("req.", "req_was.")
                found.setdefault(text, part)
    return found


def _plain(term: Term) -> bool:
    """Whether the literal is not a negation (that is a candidate anyway) and does not read the
    event.
    """
    kinds = any(isinstance(part, KindIn) for part in _parts(term))
    return not isinstance(term, Not) and not kinds


def _parts(term: Term) -> Iterator[Term]:
    yield term
    for child in children(term):
        yield from _parts(child)
