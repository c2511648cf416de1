"""Reduces a judge to what can decide a verdict on some of its claims, so that searches end sooner.

States that differ in what is forgotten are one. Without it a count that no rule reads would make
the states of a runtime without end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from typing import Any, Final

from spec.claims.states import Mode
from spec.contract.facts import FACTS_ARE_FACTS
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.modes import MODES, Bundle
from spec.language.machine import Register
from spec.language.terms import variables
from spec.stream.claim import Claim
from spec.stream.generate import CLAIM, REQUEST
from spec.stream.judge import Judge
from spec.stream.scopes import DELIVERY

__all__ = ["read", "reduce"]

_ENTRY: Final = frozenset({"registered", "committed", "responsible"})
_LOOKED_AT: Final = _ENTRY | {"footprint", "declared", "lead", "there", "host", "copied"}
"""The registers of a claim that the judge looks at itself, for the sake of others too."""

_FOLLOWING: Final = {**CLAIM_FACTS.following, **DECLARED.following, **REQUEST_FACTS.following}


def reduce(judge: Judge, judged: Collection[str]) -> None:
    """Forget what changes no verdict on these claims, whatever happens.

    Of the other claims the judge keeps their blocks, their capacity and their place in time.
    """
    for claim in judge.claims.values():
        if claim.claim_id not in judged:
            _forget(judge, claim)
        elif claim.introduced:  # then its mode is known
            names = read(claim.mode, claim.bundle)
            claim.facts = _kept(CLAIM, claim.facts, names)
            for scope in claim.scopes:
                scope.facts = _kept(REQUEST, scope.facts, names)


@cache
def read(mode: Mode | None, bundle: Bundle) -> frozenset[str]:
    """The registers of claims of a mode, and of their requests, that decide anything.

    They are read by a rule, by an assumption, by what opens a request, or by the judge itself; or a
    register that decides something is computed from them.
    """
    observers = () if mode is None else MODES[mode].bundle(bundle)
    rules = [rule for observer in observers for rule in observer.rules]
    terms = [term for rule in rules for term in (rule.when, *rule.sets.values())]
    terms += [*(each.holds for each in FACTS_ARE_FACTS), DELIVERY.term("opens")]
    found, more = set[str](), {*_LOOKED_AT}
    while more - found:
        found |= more
        more = {v.name for term in terms for v in variables(term)} & _FOLLOWING.keys()
        terms = [_FOLLOWING[name] for name in more]
    return frozenset(found)


def _forget(judge: Judge, claim: Claim) -> None:
    """Keep of a claim what it means to others."""
    claim.facts = _kept(CLAIM, claim.facts, _ENTRY if claim.final else _LOOKED_AT)
    for name in [name for name, scope in claim.requests.items() if scope.ended]:
        del claim.requests[name]
        judge.run.followers.get(name, {}).pop(claim, None)
    for scope in claim.scopes:
        scope.facts = _kept(REQUEST, scope.facts, ())
        scope.stands = [None] * len(scope.stands)
    for each in (claim.computed, claim.waiting, claim.routes, claim.lost, claim.open, claim.kept):
        each.clear()
    claim.unclear = None


def _kept(registers: Iterable[Register], values: list[Any], names: Collection[str]) -> list[Any]:
    """The values of these registers, and of the others those that they have at first."""
    return [v if r.name in names else r.initial for r, v in zip(registers, values, strict=True)]
