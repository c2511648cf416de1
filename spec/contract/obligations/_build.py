"""Builds parts of observers."""

from __future__ import annotations

from functools import partial
from typing import Final

from spec.language.machine import Guard, Rule, State
from spec.language.terms import Scope, Sort, Var
from spec.language.verdicts import Verdict

__all__ = [
    "FAILED",
    "IN_HAND",
    "NOT_PROMISED",
    "OF_REGISTERED",
    "TABLE_1",
    "UNREPORTED",
    "VIOLATED",
    "discharged",
    "due",
    "false_report",
    "forbidden",
    "idle",
    "moot",
    "noted",
    "owed",
    "pending",
    "satisfied",
    "violated",
]

TABLE_1 = "Fail-Closed Lowering of Resident KV Claims, table 1"
VIOLATED = "violated"

IN_HAND: Final = "what a request owes is owed while it is in hand"
FAILED: Final = "an answer owed follows a failure"
OF_REGISTERED: Final = "a route owed is of a registered claim"
"""Invariants that several obligations share (`While.name`)."""

UNREPORTED: Final = Var(Scope.WAS, "new_loss", Sort.BOOL)
"""A block of the claim was lost and no report named it (a register of the proofs' environment)."""

NOT_PROMISED: Final = (
    "the promise is about cost, placement and reuse, and the predicate is not in it"
)
"""Why two obligations of routed_reuse are redundant."""


owed = partial(Rule, Guard.OWED)
discharged = partial(Rule, Guard.DISCHARGED)
noted = partial(Rule, Guard.NOTED)
moot = partial(Rule, Guard.MOOT)
false_report = partial(Rule, Guard.FALSE_REPORT, to=VIOLATED)
due = partial(Rule, Guard.DUE, to=VIOLATED)
forbidden = partial(Rule, Guard.FORBIDDEN, to=VIOLATED)
"""Rules by their guards; one that finds a breach leads to the state VIOLATED."""


def idle(says: str, name: str = "idle") -> State:
    return State(name, Verdict.UNEXERCISED, says)


def pending(name: str, says: str) -> State:
    return State(name, Verdict.PENDING, says)


def satisfied(name: str, says: str) -> State:
    return State(name, Verdict.SATISFIED, says)


def violated(says: str) -> State:
    return State(VIOLATED, Verdict.VIOLATED, says)
