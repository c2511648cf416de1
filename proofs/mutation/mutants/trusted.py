"""Everything that is trusted when a stream is judged or a theorem is read, as one value.

A change of a shared definition applies to all its users.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from proofs.model import environment
from proofs.model.system import LEDGERS
from proofs.model.theorems import CLAUSES
from proofs.mutation.mutants.terms import parts_of
from spec.claims.states import Mode
from spec.contract.environments import ENVIRONMENTS
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import Kind
from spec.language.terms import FALSE, Const, Scope, Sort, Var, variables

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proofs.model.theorems import Clause
    from spec.language.machine import Ledger, Observer, Rule
    from spec.language.terms import Term

__all__ = ["ORIGINAL", "Change", "Trusted", "dependents", "original", "renamed", "waits"]


@dataclass(frozen=True)
class Trusted:
    """Ledgers, obligations, the clauses of the theorem, what a faithful stream may hold, and which
    kinds the theorem is about.
    """

    ledgers: tuple[tuple[Ledger, Scope, Scope], ...] = LEDGERS
    observers: Mapping[str, Observer] = field(default_factory=lambda: OBLIGATIONS)
    clauses: Mapping[Mode, tuple[Clause, ...]] = field(default_factory=lambda: CLAUSES)
    world: Term = field(default_factory=environment.faithful)
    kinds: Mapping[Mode, frozenset[Kind]] = field(default_factory=lambda: ENVIRONMENTS)

    def everywhere(self, change: Callable[[Term], Term]) -> Trusted:
        """The definitions with every term mapped; unchanged ones stay the same objects."""
        return replace(
            self,
            ledgers=tuple((_ledger(ledger, change), b, a) for ledger, b, a in self.ledgers),
            observers={name: _observer(o, change) for name, o in self.observers.items()},
            clauses={
                mode: tuple(_clause(clause, change) for clause in clauses)
                for mode, clauses in self.clauses.items()
            },
            world=change(self.world),
        )

    def instead(self, terms: Mapping[Term, Term]) -> Trusted:
        """The original definitions, with each of these terms replaced wherever it is used."""
        put = [(part, other, _users(part)) for part, other in terms.items()]

        def change(term: Term) -> Term:
            changed = term
            for part, other, users in put:
                if id(term) in users:
                    changed = parts_of(changed, part, other)
            return changed

        return ORIGINAL.everywhere(change)

    def register(self, ledger: str, name: str, term: Term) -> Trusted:
        """The same with another register of a ledger."""
        ledgers = tuple(
            (replace(each, following={**each.following, name: term}), before, after)
            if each.name == ledger
            else (each, before, after)
            for each, before, after in self.ledgers
        )
        return replace(self, ledgers=ledgers)

    def clause(self, mode: Mode, clause: Clause) -> Trusted:
        """The same with another clause of that name."""
        clauses = tuple(clause if c.name == clause.name else c for c in self.clauses[mode])
        return replace(self, clauses={**self.clauses, mode: clauses})

    def following(self, before: Scope) -> dict[str, Term]:
        """The registers of the ledgers of a scope."""
        ledgers = [ledger for ledger, scope, _ in self.ledgers if scope is before]
        return {name: term for ledger in ledgers for name, term in ledger.following.items()}


@dataclass(frozen=True)
class Change:
    """One change of what is trusted; `part` is the family to which it belongs.

    `name`, `operator` and `says` are as for a mutant of a rule; `structure` is the reason why
    validation rejects it, if it does.
    """

    part: str
    name: str
    operator: str
    says: str
    after: Trusted
    structure: str | None = None


@cache
def original() -> Trusted:
    """The original."""
    return Trusted()


ORIGINAL = original()


@cache
def _users(part: Term) -> frozenset[int]:
    """The terms in which a term is used, by their identities."""
    found: list[int] = []

    def look(term: Term) -> Term:
        other = FALSE if part.sort is Sort.BOOL else Const(-1)
        if parts_of(term, part, other) != term:
            found.append(id(term))
        return term

    ORIGINAL.everywhere(look)
    return frozenset(found)


def _ledger(ledger: Ledger, change: Callable[[Term], Term]) -> Ledger:
    made = {name: change(term) for name, term in ledger.following.items()}
    same = all(made[name] is term for name, term in ledger.following.items())
    return ledger if same else replace(ledger, following=made)


def _observer(observer: Observer, change: Callable[[Term], Term]) -> Observer:
    rules = [_rule(rule, change) for rule in observer.rules]
    same = all(made is rule for made, rule in zip(rules, observer.rules, strict=True))
    return observer if same else replace(observer, rules=tuple(rules))


def _rule(rule: Rule, change: Callable[[Term], Term]) -> Rule:
    when, sets = change(rule.when), {name: change(term) for name, term in rule.sets.items()}
    if when is rule.when and all(sets[name] is term for name, term in rule.sets.items()):
        return rule
    return replace(rule, when=when, sets=sets)


def _clause(clause: Clause, change: Callable[[Term], Term]) -> Clause:
    holds = change(clause.holds)
    return clause if holds is clause.holds else replace(clause, holds=holds)


def waits(clause: Clause, obligation: str) -> bool:
    """Whether a clause is not compared where this obligation owes something."""
    return obligation in clause.settled


def dependents(trusted: Trusted, names: Iterable[tuple[Scope, str]]) -> set[tuple[Scope, str]]:
    """Registers, by the scope before an event, and all that are computed from them."""
    before = {after: scope for _, scope, after in trusted.ledgers}
    found = set(names)
    while True:
        more = {
            (scope, name)
            for ledger, scope, _ in trusted.ledgers
            for name, term in ledger.following.items()
            if any((before.get(v.scope, v.scope), v.name) in found for v in variables(term))
        }
        if more <= found:
            return found
        found |= more


def renamed(term: Term, names: set[tuple[Scope, str]], trusted: Trusted) -> Term:
    """The term with these registers under another name, as they are before and after an event."""
    before = {after: scope for _, scope, after in trusted.ledgers}
    for var in set(variables(term)):
        if (before.get(var.scope, var.scope), var.name) in names:
            term = parts_of(term, var, Var(var.scope, f"{var.name}'", var.sort))
    return term
