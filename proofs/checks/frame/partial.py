"""Derives the observers for partially observed events, and states that they are sound.

`monitor.evaluate.partial_observation` leaves rules out. This module derives independently which
ones, and proves that the remaining rules report no false violation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

import z3

from monitor.evaluate import partial_observation
from proofs.checks.frame.space import CLAIM_LEDGERS, REQUEST_LEDGERS, View, constant, same
from proofs.checks.frame.statements import PARTIAL_VERDICTS
from proofs.checks.frame.verification_conditions import Question
from spec.language.terms import FALSE, Scope, variables
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from proofs.checks.frame.sources import Arguments
    from proofs.logic.encode import Expr
    from spec.language.machine import Observer, Rule

__all__ = ["Partial", "partial_of", "unknown_fields", "verdicts"]


@dataclass(frozen=True)
class Partial:
    """An observer without the rules that read any of some fields.

    `lost`: the state of the full observer is undetermined.
    """

    observer: Observer
    lost: bool

    @property
    def kept(self) -> tuple[bool, ...]:
        """Which rules are left."""
        return tuple(rule.when != FALSE for rule in self.observer.rules)

    def resting_on(self, fields: frozenset[str]) -> frozenset[tuple[str, str]]:
        """What it still reads that depends on these fields."""
        read = (v for rule in self.observer.rules for v in variables(rule.when))
        return _resting_on(fields) & {(v.scope.value, v.name) for v in read}


def unknown_fields() -> list[frozenset[str]]:
    """The sets of fields that the monitor may not know, alone and together."""
    every = (getattr(partial_observation, name) for name in partial_observation.__all__)
    sets = [each for each in every if isinstance(each, frozenset)]
    sizes = range(1, len(sets) + 1)
    chosen = (frozenset().union(*some) for size in sizes for some in combinations(sets, size))
    return list(dict.fromkeys(chosen))


def partial_of(observer: Observer, fields: frozenset[str]) -> Partial | None:
    """The partial observer, or None if nothing it reads depends on the fields."""
    unknown = _resting_on(fields)
    reads = [
        any((v.scope.value, v.name) in unknown or v.name in fields for v in variables(rule.when))
        for rule in observer.rules
    ]
    if not any(reads):
        return None
    broken = {s.name for s in observer.states if s.verdict is Verdict.VIOLATED}
    rules = list(zip(observer.rules, reads, strict=True))
    turns = [n for n, (rule, read) in enumerate(rules) if read and rule.to not in broken]

    def left(number: int, rule: Rule, read: bool) -> bool:
        own = any(v.scope is Scope.OWN for v in variables(rule.when))
        sure = not turns or (number < turns[0] and not rule.source and not own)
        return not read and (sure or rule.to not in broken)

    kept = (r if left(n, r, read) else replace(r, when=FALSE) for n, (r, read) in enumerate(rules))
    return Partial(replace(observer, rules=tuple(kept)), bool(turns))


def verdicts(
    whole: Observer, partial: Partial, fields: frozenset[str], arguments: Arguments
) -> Iterator[Question]:
    """The questions whether the partial observer reports no false violation.

    Both observers receive the same event, except for the unknown fields and the registers that
    depend on them. Where the state is known they agree until the full observer finds a violation;
    where it is lost, nothing is assumed of the state of the partial one.
    """
    seen, guessed = arguments.view("now", "req"), _guessed(arguments, fields)
    before = {"state": arguments.state, **arguments.own}
    broken = [
        constant(place)
        for place, state in enumerate(whole.states)
        if state.verdict is Verdict.VIOLATED
    ]

    def violated(standing: Mapping[str, Expr]) -> Expr:
        return z3.Or([standing["state"] == place for place in broken])

    other = {n: z3.FreshConst(v.sort(), f"partial {n}") for n, v in before.items()}
    last = constant(len(whole.states) - 1)
    known = z3.And(arguments.state >= 0, arguments.state <= last)
    truth, found = seen.step(whole, before), guessed.step(partial.observer, other)
    if partial.lost:
        given = (known, z3.Not(violated(other)))
        goal = z3.Implies(violated(found), z3.Or(violated(before), violated(truth)))
    else:
        given = (known, z3.Or(violated(before), same(before, other)))
        goal = z3.Or(violated(truth), same(truth, found))
    part = f"without {', '.join(sorted(fields))}"
    changes = {n: (value, found[n]) for n, value in truth.items()}
    yield Question(PARTIAL_VERDICTS, whole.name, part, given, goal, changes)


def _guessed(arguments: Arguments, fields: frozenset[str]) -> View:
    """The event with arbitrary values in the unknown fields."""
    unknown = _resting_on(fields)

    def guess(scope: str, values: Mapping[str, Expr]) -> dict[str, Expr]:
        return {
            n: z3.FreshConst(v.sort(), f"guessed {scope}.{n}") if (scope, n) in unknown else v
            for n, v in values.items()
        }

    ledgers = {scope: guess(scope, values) for scope, values in arguments.ledgers.items()}
    event, constants = guess("e", arguments.event), arguments.constants
    was, req_was = ledgers["was"], ledgers["req_was"]
    now, req = ledgers["now"], ledgers["req"]
    return View(was, req_was, event, constants, arguments.owes, now=now, req=req)


@cache
def _resting_on(fields: frozenset[str]) -> frozenset[tuple[str, str]]:
    """The fields, and the registers that may depend on them, by scope."""
    found = {("e", name) for name in fields}
    after = {"now": "was", "req": "req_was"}
    terms = {
        (scope, register): term
        for scope, ledgers in (("now", CLAIM_LEDGERS), ("req", REQUEST_LEDGERS))
        for ledger in ledgers
        for register, term in ledger.following.items()
    }
    while True:
        more = {
            place
            for (scope, register), term in terms.items()
            if any((v.scope.value, v.name) in found for v in variables(term))
            for place in ((scope, register), (after[scope], register))
        }
        if more <= found:
            return frozenset(found)
        found |= more
