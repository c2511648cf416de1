"""Proves that terms which were read back equal the terms of the specification.

What was read is about one kind of event and one mode, and so is the question: under the condition
that the event has this kind, and for the mode's constants, both are equal for all values of their
inputs. Many modes and kinds raise the same question, which is asked once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import z3

from proofs.checks.frame.counterexample import Unknown
from proofs.checks.frame.reader import Refused
from proofs.checks.frame.results import Failure
from proofs.checks.frame.space import EVENTS, NUMBERS, REQUEST_FIRST, constant
from proofs.checks.frame.three_values import in_three_values
from proofs.checks.frame.verification_conditions import Question
from proofs.logic.encode import encode, variable
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.modes import MODES
from spec.contract.vocabulary import CONSTANTS
from spec.language.terms import FALSE, Scope, Sort, Term, Var, variables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proofs.checks.frame.reader import Assigned, Taken
    from proofs.checks.frame.statements import Lemma
    from proofs.checks.frame.verification_conditions import Prover
    from proofs.logic.encode import Expr
    from spec.claims.states import Mode
    from spec.events.alphabet import Kind
    from spec.language.machine import Observer

__all__ = ["Comparison", "Situation", "Translation", "following", "ledger", "rules", "terms_of"]

_CLAIM: Final = {**CLAIM_FACTS.following, **DECLARED.following}
_BEFORE: Final = {Scope.NOW: Scope.WAS, Scope.REQ: Scope.REQ_WAS}
_FLAGS: Final = tuple(name for name in CONSTANTS if name != "threshold")


class Situation(NamedTuple):
    """A kind of event, and the mode of the claim; None where no mode judges it."""

    kind: Kind
    mode: Mode | None

    @property
    def constants(self) -> Mapping[str, bool]:
        """The mode's constants."""
        return dict.fromkeys(_FLAGS, False) if self.mode is None else MODES[self.mode].constants

    def __str__(self) -> str:
        return f"at {self.kind}, {self.mode or 'without a mode'}"


class Comparison(NamedTuple):
    """A term that was read, and the one that it must equal.

    In the scope of the claim itself (`alone`) no event is `here`; every request register has its
    initial value.
    """

    of: str
    part: str
    read: Term
    term: Term
    alone: bool = False


@dataclass(frozen=True)
class _Inputs:
    """The variables of a question, as a counterexample shows them."""

    values: Mapping[Var, Expr]
    flags: Mapping[Var, Expr]
    given: Sequence[Expr] = ()
    kind: Expr = None

    def unknowns(self) -> list[Unknown]:
        """Every variable, and whether it is known."""
        found = []
        for var, value in self.values.items():
            name, event = f"{var.scope.value}.{var.name}", var.scope is Scope.EVENT
            plain = constant(False if var.sort is Sort.BOOL else 0)
            found.append(Unknown(var.name if event else name, value, plain, event))
        for var, flag in self.flags.items():
            found.append(Unknown(f"{var.scope.value}.{var.name} is known", flag, constant(True)))
        return found


class Translation:
    """Compares what was read with the specification, each distinct pair once."""

    def __init__(self, prover: Prover) -> None:
        self.prover = prover
        self._proved = set[tuple[object, ...]]()
        self._compared = set[tuple[object, ...]]()
        self._specified: dict[tuple[object, ...], Expr] = {}
        self._constants = dict[str, set[str]]()

    def is_new(self, *key: object) -> bool:
        """Whether this key was not compared before."""
        new = key not in self._compared
        self._compared.add(key)
        return new

    def is_read(self, of: str, terms: Iterable[Term], situation: Situation, *read: object) -> bool:
        """Whether terms were compared with this before: at this kind, for the constants that they
        read.
        """
        if of not in self._constants:
            self._constants[of] = {name for term in terms for name in _constants_in(term)}
        constants = ((name, situation.constants[name]) for name in self._constants[of])
        return not self.is_new(of, situation.kind, tuple(sorted(constants)), *read)

    def prove(
        self,
        lemma: Lemma,
        of: str,
        situation: Situation,
        comparisons: Iterable[Comparison],
        *,
        three: bool = False,
    ) -> None:
        """Prove that terms that are read equal their terms, in two values or in three."""
        try:
            for comparison in comparisons:
                self._prove(lemma, situation, comparison, three=three)
        except Refused as refused:
            self.refuse(lemma, of, str(situation), str(refused))

    def refuse(self, lemma: Lemma, of: str, part: str, says: str) -> None:
        """Record that something is not what it must be, which needs no solver."""
        self.prover.count(lemma, of)
        self.prover.fail(lemma, Failure(of, part, "refuted", says))

    def same(self, lemma: Lemma, of: str, part: str, found: object, expected: object) -> None:
        """Compare values without a solver."""
        if found == expected:
            self.prover.count(lemma, of)
        else:
            self.refuse(lemma, of, part, f"{found} is not {expected}")

    def _prove(
        self, lemma: Lemma, situation: Situation, comparison: Comparison, *, three: bool
    ) -> None:
        if comparison.read.sort is not comparison.term.sort:
            raise Refused(f"{comparison.part} is of another sort")
        expected = self._expected(situation, comparison.term, alone=comparison.alone)
        key = (comparison.read, expected.get_id(), three)
        if key in self._proved:
            if self.is_new(lemma, comparison.of, *key):
                self.prover.count(lemma, comparison.of)
            return
        read = [*dict.fromkeys(variables(comparison.read))]
        values = {var: _value(var) for var in read}
        flags = {var: _flag(var) for var in read} if three else {}
        more = {var: _value(var) for var in variables(comparison.term) if var.name not in _FLAGS}
        if three:
            known, value = in_three_values(comparison.read, lambda var: (flags[var], values[var]))
            every = z3.And(*flags.values())
            goal = z3.And(z3.Implies(known, value == expected), z3.Implies(every, known))
            changes = {"value": (expected, value), "is known": (z3.Or(known, every), known)}
        else:
            named = {(var.scope, var.name): value for var, value in values.items()}
            value = encode(comparison.read, lambda *place: named[place], {}, NUMBERS)
            goal, changes = value == expected, {"value": (expected, value)}
        part = f"{comparison.part} {situation}".strip() + (", in three values" if three else "")
        question = Question(lemma, comparison.of, part, (), goal, changes, may_be_empty=True)
        if self.prover.ask(_Inputs(more | values, flags), iter([question])):
            self._proved.add(key)

    def _expected(self, situation: Situation, term: Term, *, alone: bool = False) -> Expr:
        """A term of the specification for events of one kind, for the constants of a mode."""
        constants = tuple((name, situation.constants[name]) for name in _constants_in(term))
        key = (term, situation.kind, constants, alone)
        found = self._specified.get(key)
        if found is None:
            known = dict(constants)
            named = {(var.scope, var.name): var for var in variables(term)}

            def resolve(scope: Scope, name: str) -> Expr:
                if scope is Scope.CLAIM and name in known:
                    return constant(known[name])
                if alone and (scope, name) == (Scope.EVENT, "here"):
                    return constant(False)
                if alone and scope in (Scope.REQ, Scope.REQ_WAS):
                    return constant(REQUEST_FIRST[name])
                var = named[scope, name]
                return _value(self._before(situation, var) or var)

            found = z3.simplify(encode(term, resolve, _kinds(situation.kind), NUMBERS))
            self._specified[key] = found
        return found

    def _before(self, situation: Situation, var: Var) -> Var | None:
        """The register before the event, where no event of this kind changes it."""
        if var.scope not in _BEFORE:
            return None
        before = Var(_BEFORE[var.scope], var.name, var.sort)
        after = self._expected(situation, following(before.scope)[var.name])
        return before if after.eq(_value(before)) else None


@cache
def _kinds(kind: Kind) -> Mapping[Kind, Expr]:
    return {each: z3.BoolVal(each is kind) for each in EVENTS}


@cache
def _value(var: Var) -> Expr:
    return variable(f"{var.scope.value}.{var.name}", var.sort, NUMBERS)


@cache
def _flag(var: Var) -> Expr:
    return z3.Bool(f"known.{var.scope.value}.{var.name}")


@cache
def _constants_in(term: Term) -> tuple[str, ...]:
    """The constants of a mode that a term reads, or the registers after the event that it reads, in
    order.
    """
    found = {v.name for v in variables(term) if v.name in _FLAGS}
    for var in variables(term):
        if var.scope in _BEFORE:
            found.update(_constants_in(following(_BEFORE[var.scope])[var.name]))
    return tuple(sorted(found))


def terms_of(observer: Observer) -> Iterator[Term]:
    """Every term of an observer."""
    for rule in observer.rules:
        yield from (rule.when, *rule.sets.values())


def following(before: Scope) -> Mapping[str, Term]:
    """The terms of the registers of a claim or of a request."""
    return _CLAIM if before is Scope.WAS else REQUEST_FACTS.following


def ledger(of: str, read: Assigned, before: Scope) -> Iterator[Comparison]:
    """Each register of a ledger; one that is not assigned stays as it is."""
    found = dict(read)
    for name, term in following(before).items():
        yield Comparison(of, name, found.get(name, Var(before, name, term.sort)), term)


def rules(observer: Observer, taken: Sequence[Taken], *, alone: bool) -> Iterator[Comparison]:
    """Each rule of an observer: where it is taken, and what the registers become.

    Raises:
        Refused: the rules are others, in another order, or between other states.
    """
    states = {state.name: place for place, state in enumerate(observer.states)}
    numbers = [each.number for each in taken]
    if numbers != sorted(set(numbers)) or not set(numbers) <= set(range(len(observer.rules))):
        raise Refused(f"the rules are {numbers}, out of order")
    found, of = {each.number: each for each in taken}, observer.name
    scope = "" if alone else " of a request"
    for number, rule in enumerate(observer.rules):
        each = found.get(number)
        if each is None:
            yield Comparison(of, f"{rule.name}{scope} is missing", FALSE, rule.when, alone)
            continue
        if each.sources != {states[name] for name in observer.sources(rule)}:
            raise Refused(f"{rule.name} applies in other states")
        if each.to != states[rule.to]:
            raise Refused(f"{rule.name} leads to another state")
        yield Comparison(of, f"{rule.name}{scope}", each.when, rule.when, alone)
        kept = tuple(Var(Scope.OWN, r.name, r.sort) for r in observer.registers)
        sets = kept if each.sets is None else each.sets
        if [term.sort for term in sets] != [r.sort for r in observer.registers]:
            raise Refused(f"{rule.name} sets other registers")
        for own, value in zip(kept, sets, strict=True):
            term = rule.sets.get(own.name, own)
            yield Comparison(of, f"{rule.name}{scope}: {own.name}", value, term, alone)
