"""Small builders that keep the observers readable."""

from __future__ import annotations

from spec.language.machine import State
from spec.language.verdicts import Verdict

__all__ = ["TABLE_1", "VIOLATED", "idle", "pending", "satisfied", "violated"]

TABLE_1 = "Fail-Closed Lowering of Resident KV Claims, table 1"
VIOLATED = "violated"


def idle(says: str, name: str = "idle") -> State:
    return State(name, Verdict.UNEXERCISED, says)


def pending(name: str, says: str) -> State:
    return State(name, Verdict.PENDING, says)


def satisfied(name: str, says: str) -> State:
    return State(name, Verdict.SATISFIED, says)


def violated(says: str) -> State:
    return State(VIOLATED, Verdict.VIOLATED, says)
