"""Mutants and changes by name, and how many there are."""

from __future__ import annotations

from proofs.mutation.mutants.changes import changes
from proofs.mutation.mutants.rules import Mutant, mutants
from proofs.mutation.mutants.trusted import Change
from spec.claims.states import Mode
from spec.language.machine import Observer, Rule

OF_PLACES = {
    "best_effort": 511,
    "soft_priority": 390,
    "hard_protected": 1819,
    "demotable": 1185,
    "expiring": 1212,
    "offloadable": 2164,
    "routed_reuse": 708,
    "ledgers": 522,
    "terms": 1495,
    "world": 805,
    "auditor": 1277,
    "delivery": 189,
    "lowering": 593,
}
OF_OPERATORS = {
    "omit": 58,
    "negate": 274,
    "drop": 274,
    "always": 274,
    "weaken": 1676,
    "narrow": 1828,
    "widen": 378,
    "retarget": 1142,
    "remove": 530,
    "add": 801,
    "forget": 34,
    "compare": 215,
    "constant": 162,
    "sum": 17,
    "swap": 107,
    "tense": 219,
}
OF_WAYS = {
    "lack": 1107,
    "affirm": 131,
    "compare": 329,
    "swap": 182,
    "sum": 127,
    "constant": 454,
    "tense": 437,
    "fewer": 336,
    "more": 561,
    "branch": 220,
    "keep": 49,
    "without": 280,
    "restrict": 20,
    "excuse": 220,
    "wait": 156,
    "void": 82,
    "instead": 190,
}


def mutant(mode: Mode, name: str) -> Mutant:
    return next(m for m in mutants(mode) if m.name == name)


def changed(mutant: Mutant) -> Observer:
    assert mutant.observer is not None
    return mutant.observer


def rule(mode: Mode, name: str) -> Rule:
    """The rule that a mutant changed, after the change."""
    found = mutant(mode, name)
    (after,) = {r.name: r for r in changed(found).rules if r not in found.original.rules}.values()
    return after


def named(part: str, name: str) -> Change:
    return next(change for change in changes(part) if change.name == name)


def saying(part: str, says: str) -> Change:
    """The change that says so at its end."""
    return next(change for change in changes(part) if change.says.endswith(says))
