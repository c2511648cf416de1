"""The mutation operators for observer rules, and the mutants they make.

A transition of an observer is a rule in one of the states in which it may apply; its guard is that
state and the rule's term. A mutant's name is stable: obligation, rule, operator, and the number of
the part that the operator changes, from 1 in the order of the term.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from proofs.mutation.mutants.parts import narrower, weaker, wider
from proofs.mutation.mutants.shared_terms import SHARED
from proofs.mutation.mutants.terms import INSIDE, SLIPS, slips_within
from proofs.mutation.runs.judge import Judge
from spec.contract.modes import MODES, Bundle
from spec.language.machine import Observer, Rule
from spec.language.terms import FALSE, TRUE, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spec.claims.states import Mode
    from spec.language.terms import Term

__all__ = ["OPERATORS", "Mutant", "mutants"]

OPERATORS: dict[str, str] = {
    "omit": "the obligation is taken out of a bundle",
    "negate": "the guard holds where it did not, and the other way round",
    "drop": "the rule is gone",
    "always": "the guard holds of every event",
    "weaken": "a condition that the guard asks for is left out",
    "narrow": "a case in which the guard holds is left out",
    "widen": "the guard holds of one more kind of event: the next of its role in the alphabet",
    "retarget": "the rule leads to another state",
    "remove": "the rule no longer applies in one of its states",
    "add": "the rule applies in one more state",
    "forget": "a register keeps its value where the rule sets it",
    **{name: SLIPS[name] for name in sorted(INSIDE)},
}
"""Each operator with what it does; a mutant's name ends in the operator's."""


@dataclass(frozen=True)
class Mutant:
    """One change of one obligation, judged in one bundle of a mode.

    `rules` are the observer's rules after the change, None if the obligation itself is removed;
    `says` completes "what if ...".
    """

    mode: Mode
    name: str
    operator: str
    says: str
    original: Observer
    rules: tuple[Rule, ...] | None
    bundle: Bundle = Bundle.CONTRACT

    @cached_property
    def observer(self) -> Observer | None:
        """The observer with the change; None if the obligation is removed.

        Raises:
            ValueError: the change does not pass the observer's own validation.
        """
        return None if self.rules is None else replace(self.original, rules=self.rules)

    @cached_property
    def judge(self) -> Judge | None:
        """The same, compiled."""
        return None if self.observer is None else Judge(self.observer)


def mutants(mode: Mode) -> Iterator[Mutant]:
    """Every mutant of the mode, in the order of obligations and rules.

    Rules are those of the contract; where the paper prints less, it is a bundle of its own.
    """
    for bundle in (Bundle.PAPER, Bundle.CONTRACT) if MODES[mode].added else (Bundle.CONTRACT,):
        for observer in MODES[mode].bundle(bundle):
            says = f"{observer.name}: it is taken out of the {bundle} bundle"
            name = f"{observer.name}:omit-{bundle}"
            yield Mutant(mode, name, "omit", says, observer, None, bundle)
    for observer in MODES[mode].bundle():
        for number, rule in enumerate(observer.rules):
            for operator, part, says, changed in _changes(observer, rule):
                rules = (*observer.rules[:number], changed, *observer.rules[number + 1 :])
                name = f"{observer.name}.{rule.name}:{operator}{f'-{part}' if part else ''}"
                about = f"{observer.name}, rule {rule.name!r}: {says}"
                yield Mutant(mode, name, operator, about, observer, rules)


def _changes(observer: Observer, rule: Rule) -> Iterator[tuple[str, str, str, Rule]]:
    """Operator, part, what it does, and the changed rule."""
    yield "negate", "", OPERATORS["negate"], replace(rule, when=~rule.when)
    yield "drop", "", OPERATORS["drop"], replace(rule, when=FALSE)
    yield "always", "", OPERATORS["always"], replace(rule, when=TRUE)
    for operator, found in (
        ("weaken", weaker(rule.when)),
        ("narrow", narrower(rule.when)),
        ("widen", wider(rule.when)),
    ):
        for number, (part, term) in enumerate(_distinct(found, rule.when), start=1):
            yield operator, str(number), f"{operator}, by {part}", replace(rule, when=term)
    for number, slip in enumerate(slips_within(rule.when, SHARED), start=1):
        says = f"{slip.operator}, in {slip.part}"
        yield slip.operator, str(number), says, replace(rule, when=slip.term)
    for register, term in rule.sets.items():
        for number, slip in enumerate(slips_within(term, SHARED), start=1):
            says = f"{register}: {slip.operator}, in {slip.part}"
            sets = {**rule.sets, register: slip.term}
            yield slip.operator, f"{register}-{number}", says, replace(rule, sets=sets)
    sources = observer.sources(rule)
    for state in observer.states:
        if state.name != rule.to:
            says = f"it leads to {state.name}, not {rule.to}"
            yield "retarget", state.name, says, replace(rule, to=state.name)
    for name in sources if len(sources) > 1 else ():
        rest = tuple(s for s in sources if s != name)
        yield "remove", name, f"it does not apply in {name}", replace(rule, source=rest)
    for state in observer.states:
        if state.name not in sources:
            more = (*sources, state.name)
            yield "add", state.name, f"it applies in {state.name} too", replace(rule, source=more)
    for register in rule.sets:
        kept = {name: term for name, term in rule.sets.items() if name != register}
        yield "forget", register, f"it leaves {register} as it is", replace(rule, sets=kept)


def _distinct(found: Iterator[tuple[Term, Term]], original: Term) -> Iterator[tuple[str, Term]]:
    """The changes that differ from the original and from each other."""
    seen = {original, TRUE}
    for part, term in found:
        if term not in seen:
            seen.add(term)
            yield show(part), term
