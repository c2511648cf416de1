"""Defines observers: states with verdicts, registers, and guarded rules.

The same value is drawn as a diagram, encoded for Z3 and compiled for the monitor.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from spec.language.terms import Scope, Sort, Term, variables
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Guard", "Ledger", "Observer", "Register", "Rule", "State"]


class Guard(StrEnum):
    """The meaning of a rule; the values are those that pages print and the digest covers."""

    OWED = "owed"  # something happened that must now be reported or done
    DISCHARGED = "discharged"  # what was owed was reported or done, or an event was as required
    FALSE_REPORT = "false_report"  # a report that the facts contradict
    DUE = "overdue"  # what is owed was not reported or done in time
    FORBIDDEN = "forbidden"  # an action that the obligation forbids
    NOTED = "noted"  # a fact that later events are compared with
    MOOT = "moot"  # what was owed is no longer owed, and nothing was violated


class Register(Struct, frozen=True):
    """A variable of an observer or a ledger, with its value before any event."""

    name: str
    sort: Sort
    initial: bool | int


class State(Struct, frozen=True):
    """A state of an observer: its verdict, and its meaning as text."""

    name: str
    verdict: Verdict
    says: str


class Rule(Struct, frozen=True):
    """In one of `source` (if empty, any state not violated), where `when` holds, go to `to`.

    `why` completes "because ..." for people; `allowed` says what was expected instead.
    """

    guard: Guard
    name: str
    when: Term
    to: str
    why: str
    source: tuple[str, ...] = ()
    sets: Mapping[str, Term] = {}
    allowed: str = ""


class Ledger(Struct, frozen=True):
    """Registers updated together at each event: every `following` term reads the old values."""

    name: str
    registers: tuple[Register, ...]
    following: Mapping[str, Term]


class Observer(Struct, frozen=True):
    """One obligation: a deterministic automaton over the events that concern one claim.

    Rules are tried in order and the first that applies is taken; where none applies nothing
    changes. An observer with `per_request` is followed once for the claim itself and once for each
    request, and its verdict is the heaviest of these.

    Raises:
        ValueError: an unknown state, a rule out of a violated state, a register that is not
            declared, or a term that is not boolean.
    """

    name: str
    code: str
    reason: str
    source: str
    states: tuple[State, ...]
    rules: tuple[Rule, ...]
    registers: tuple[Register, ...] = ()
    per_request: bool = False
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [s.name for s in self.states]
        if len(set(names)) != len(names):
            raise ValueError(f"{self.name}: a state is declared twice")
        own = {r.name for r in self.registers}
        violated = {s.name for s in self.states if s.verdict is Verdict.VIOLATED}
        for rule in self.rules:
            unknown = {rule.to, *rule.source} - set(names)
            if unknown:
                raise ValueError(f"{self.name}.{rule.name}: unknown state {sorted(unknown)}")
            if violated & set(rule.source):
                raise ValueError(f"{self.name}.{rule.name}: violated is for good")
            if rule.when.sort is not Sort.BOOL:
                raise ValueError(f"{self.name}.{rule.name}: the guard is not boolean")
            if set(rule.sets) - own:
                raise ValueError(f"{self.name}.{rule.name}: sets an undeclared register")
            for term in (rule.when, *rule.sets.values()):
                for var in variables(term):
                    if var.scope is Scope.OWN and var.name not in own:
                        raise ValueError(f"{self.name}.{rule.name}: reads undeclared {var.name}")

    @property
    def initial(self) -> str:
        """The name of the first state."""
        return self.states[0].name

    def state(self, name: str) -> State:
        """The state of this name."""
        return next(s for s in self.states if s.name == name)

    def sources(self, rule: Rule) -> tuple[str, ...]:
        """The states in which a rule may apply, in the order in which they are declared."""
        live = tuple(s.name for s in self.states if s.verdict is not Verdict.VIOLATED)
        return rule.source or live
