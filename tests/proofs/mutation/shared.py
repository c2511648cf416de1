"""Mutants and changes by name, and how many there are."""

from __future__ import annotations

from proofs.mutation.mutants.changes import changes
from proofs.mutation.mutants.rules import Mutant, mutants
from proofs.mutation.mutants.trusted import Change
from spec.claims.claim import Mode
from spec.language.machine import Observer, Rule

OF_PLACES = {
    "best_effort": 511,
    "soft_priority": 390,
    "hard_protected": 1726,
    "demotable": 1096,
    "expiring": 1119,
    "offloadable": 2070,
    "routed_reuse": 708,
    "ledgers": 512,
    "terms": 1298,
    "world": 723,
    "auditor": 1258,
    "delivery": 198,
    "lowering": 593,
}
OF_OPERATORS = {
    "omit": 58,
    "negate": 274,
    "drop": 274,
    "always": 274,
    "weaken": 1536,
    "narrow": 1686,
    "widen": 335,
    "retarget": 1142,
    "remove": 530,
    "add": 801,
    "forget": 34,
    "compare": 204,
    "constant": 140,
    "sum": 17,
    "swap": 96,
    "tense": 219,
}
OF_WAYS = {
    "lack": 984,
    "affirm": 114,
    "compare": 306,
    "swap": 159,
    "sum": 127,
    "constant": 412,
    "tense": 428,
    "fewer": 313,
    "more": 530,
    "branch": 218,
    "keep": 48,
    "without": 280,
    "restrict": 20,
    "excuse": 220,
    "wait": 156,
    "void": 77,
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
