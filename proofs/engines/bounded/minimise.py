"""Minimises a run: among the shortest runs to a goal, finds the simplest to read.

A run found by a solver is short, but has arbitrary irrelevant values. A fixed list of preferences
is asserted in order, each if consistent with those before it: default values in fields that the
event does not carry, events in lifecycle order, then each flag and count minimal. In the end every
shown variable is fixed, so the result is deterministic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from proofs.engines.bounded.unrolling import Found, Run, value_of
from proofs.logic.connectives import all_of, any_of, equal, negation
from spec.events.alphabet import CONFLICT_ACTIONS, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from proofs.logic.encode import Expr
    from proofs.model.of_mode import Model
    from proofs.model.system import Step

__all__ = ["CARRIES", "CHOICE", "LIFE", "minimise", "plainest"]

RLIMIT = 20_000_000
"""The work that one wish may take; a wish that takes more is passed over."""

_SAID = ("said_resident", "said_active", "said_total", "said_usable", "said_shortfall")
_BLAME = (
    "blamed",
    "blamed_rest",
    "blamed_least",
    "invalid_blocker",
    "accuses",
    "blames_unfailed",
    "unfounded_failure",
    "restore",
)
_ROOM = ("shared", "shared_unblamed", "others")
_ORDER = ("several_unreported", "matches_oldest")
_PLACED = ("lead", "restorable")
_TIERS = (Kind.STORE_FINISHED, Kind.HOST_COPY_FOUND, Kind.HOST_COPY_LOST)
CHOICE = ("takeable", "keeps")
"""What an eviction says of each of two ranked claims."""
CARRIES: dict[Kind, tuple[str, ...]] = {
    **dict.fromkeys(CONFLICT_ACTIONS, (*_BLAME, *_ROOM, "duplicate", "proof", *_SAID)),
    Kind.CLAIM_COMMITTED: ("footprint",),
    Kind.CLAIM_RETIRED: ("footprint", "by"),
    Kind.CLAIM_ACCEPTED: ("footprint", "overstates"),
    Kind.BLOCK_CACHED: (*_PLACED, "found"),
    Kind.BLOCK_EVICTED: (*_PLACED, "lower_priority_available", "higher_priority_kept", *CHOICE),
    Kind.BLOCK_LOST: _PLACED,
    Kind.LOAD_FINISHED: (*_PLACED, "intact"),
    **dict.fromkeys(_TIERS, ("stored", "restorable")),
    Kind.REQUEST_ARRIVED: ("needed", "usable", "shared"),
    Kind.REQUEST_FINISHED: ("rest_since_arrival", "shared"),
    Kind.PREFIX_LOOKUP: ("covers",),
    Kind.REQUEST_ROUTED: ("cost", "worker"),
    Kind.REUSE_SERVED: ("hit",),
    Kind.ROUTE_COST_REPORTED: ("cost", *_ORDER),
    Kind.ROUTE_PLACEMENT_REPORTED: ("worker", *_ORDER),
    Kind.ROUTE_REUSE_REPORTED: ("hit", *_ORDER),
    Kind.CLAIM_RESTORED: ("from_tier",),
    Kind.CLAIM_RESTORATION_FAILED: ("outcome", "refusal", "harm", "blames_unfailed", "duplicate"),
    Kind.CLAIM_BLOCK_LOST: ("breaks", "new_loss"),
    Kind.CLAIM_OFFLOADED: ("authorised", "by"),
    Kind.CLAIM_DEMOTED: ("authorised", "by"),
    Kind.CLAIM_EXPIRED: ("authorised", "by"),
    Kind.CLAIM_RELEASED: ("authorised", "by"),
}
"""The fields that say something on an event of a kind, besides whom it is about."""

_LIFE: tuple[Kind, ...] = (
    Kind.CLAIM_REGISTERED,
    Kind.CLAIM_COMMITTED,
    Kind.CLAIM_ACCEPTED,
    Kind.BLOCK_CACHED,
    Kind.CLAIM_MATERIALIZED,
    Kind.STORE_FINISHED,
    Kind.HOST_COPY_FOUND,
    Kind.CLAIM_OFFLOADED,
    Kind.REQUEST_ARRIVED,
    Kind.REQUEST_ROUTED,
    Kind.ROUTE_COST_REPORTED,
    Kind.ROUTE_PLACEMENT_REPORTED,
    Kind.PREFIX_LOOKUP,
    Kind.CLAIM_RESTORE_REQUIRED,
    Kind.LOAD_FINISHED,
    Kind.CLAIM_RESTORED,
    Kind.PREFIX_REUSED,
    Kind.REUSE_SERVED,
    Kind.ROUTE_REUSE_REPORTED,
    Kind.LOAD_FAILED,
    Kind.CLAIM_RESTORATION_FAILED,
    Kind.REQUEST_REFUSED,
    Kind.REQUEST_DEFERRED,
    Kind.REQUEST_ROUTED_ELSEWHERE,
    Kind.REQUEST_BOUNDED,
    Kind.REQUEST_OFFLOADED,
    Kind.REQUEST_SPLIT,
    Kind.REQUEST_FINISHED,
    Kind.BLOCK_EVICTED,
    Kind.BLOCK_LOST,
    Kind.CLAIM_BLOCK_LOST,
    Kind.CLAIM_UNMATERIALIZED,
    Kind.HOST_COPY_LOST,
    Kind.CLAIM_HARMED,
    Kind.DURATION_ELAPSED,
    Kind.CLAIM_RETIRED,
    Kind.CLAIM_DEMOTED,
    Kind.CLAIM_EXPIRED,
    Kind.CLAIM_RELEASED,
    Kind.CLAIM_REJECTED,
)
LIFE: tuple[Kind, ...] = (*_LIFE, *sorted(set(Kind) - set(_LIFE)))
"""The kinds in the order in which a life goes: where two will do, the earlier comes first."""

_TRUE_WHERE_PLAIN = frozenset({"authorised"})
_WHOM = ("mine", "named", "here")


def minimise(model: Model, found: Found, goal: Callable[[Step], Expr] | None = None) -> Found:
    """The simplest run of the same length; `found` itself at the work limit.

    Args:
        goal: the goal of the last step; by default the clauses that fail in `found`, or, if none
        does, the goal of a witness.
    """
    run = Run.of(model, RLIMIT)
    for _ in found.events:
        run.extend()
    last = run.steps[-1]
    wanted = goal(last) if goal is not None else _shown_by(last, found)
    return plainest(run, wanted) or found


def _shown_by(last: Step, found: Found) -> Expr:
    if not found.failed:
        return z3.And(last.settled, *last.exercised.values(), *last.clauses.values())
    alike = [h if n not in found.failed else z3.Not(h) for n, h in last.clauses.items()]
    return z3.And(alike)


def plainest(run: Run, *assumed: Expr) -> Found | None:
    """The simplest of the runs in `run` under the assumptions, or None.

    The solver state is restored.
    """
    solver = run.solver
    solver.set("rlimit", RLIMIT)
    solver.push()
    solver.add(*assumed)
    try:
        if solver.check() != z3.sat:
            return None
        preferences = _Preferences(run)
        preferences.one_clause_fails()
        preferences.demotions_by_their_name()
        preferences.nothing_but_what_is_carried()
        preferences.in_the_order_of_a_life()
        preferences.about_whom()
        preferences.small()
        return run.read(preferences.answer)
    finally:
        solver.pop()
        solver.set("rlimit", run.rlimit)


class _Preferences:
    """Asserts preferences on a solver, one after another; each that is satisfiable stays."""

    def __init__(self, run: Run) -> None:
        self._run, self._solver = run, run.solver
        self._numbers = run.system.numbers
        self._alphabet = run.system.alphabet
        self.answer = self._solver.model()

    def prefer(self, preference: Expr) -> bool:
        """Assert the preference if satisfiable; returns whether it was."""
        if not value_of(self.answer, preference):
            self._solver.push()
            self._solver.add(preference)
            granted = self._solver.check() == z3.sat
            if granted:
                self.answer = self._solver.model()
            self._solver.pop()
            if not granted:
                return False
        self._solver.add(preference)
        return True

    def least(self, number: Expr) -> None:
        """Minimise the number, and assert its value."""
        while True:
            value = int(value_of(self.answer, number))
            if value <= 0 or not self.prefer(number < self._numbers.const(value)):
                break
        self._solver.add(number == self._numbers.const(int(value_of(self.answer, number))))

    def one_clause_fails(self) -> None:
        """Only the first clause that can fail alone fails, and none before the last event."""
        last = self._run.steps[-1]
        failed = [n for n, holds in last.clauses.items() if not value_of(self.answer, holds)]
        if not failed:
            return
        for name in last.clauses:
            others = [holds for other, holds in last.clauses.items() if other != name]
            if self.prefer(z3.And(z3.Not(last.clauses[name]), *others)):
                break
        for step in self._run.steps[:-1]:
            self.prefer(step.sound)

    def demotions_by_their_name(self) -> None:
        """No offload ends a claim where a demotion would do."""
        for event in self._run.events:
            ends = z3.And(
                self._is(event, [Kind.CLAIM_OFFLOADED]), event["by"] != self._numbers.const(0)
            )
            self.prefer(z3.Not(ends))

    def nothing_but_what_is_carried(self) -> None:
        """Fields that an event does not carry have their default values: all at once, or one by
        one.
        """
        plain = [
            [self._plain_unless_carried(event, name) for name in event if name != "kind"]
            for event in self._run.events
        ]
        if self.prefer(all_of([preference for preferences in plain for preference in preferences])):
            return
        for preferences in plain:
            if not self.prefer(all_of(preferences)):
                for preference in preferences:
                    self.prefer(preference)

    def in_the_order_of_a_life(self) -> None:
        """The earliest kind possible at each position, from the first on."""
        rank = {kind: LIFE.index(kind) for kind in self._alphabet}
        for event in self._run.events:
            while True:
                now = rank[self._kind(event)]
                earlier = [kind for kind, place in rank.items() if place < now]
                if not earlier or not self.prefer(self._is(event, earlier)):
                    break
            self._solver.add(event["kind"] == value_of(self.answer, event["kind"]))

    def about_whom(self) -> None:
        """Each event about a claim names it, the first claim before the second.

        Kinds that are never about a claim cannot satisfy this.
        """
        for event in self._run.events:
            for name, value in event.items():
                if name.partition(".")[0] in _WHOM:
                    about = self._kind(event) not in _NOT_ABOUT_CLAIMS
                    self._settle(value, about or name == "here")

    def small(self) -> None:
        """Minimise the threshold, the priorities, then each field of each event."""
        first = self._run.states[0]
        for name, value in first.items():
            if name.endswith(("c.threshold", "/priority")):
                self.least(value)
        self._say_what_was_committed()
        self._need_something()
        for event in self._run.events:
            for name, value in event.items():
                if name == "kind" or name.partition(".")[0] in _WHOM:
                    continue
                if z3.is_bool(value):
                    self._settle(value, name in _TRUE_WHERE_PLAIN)
                else:
                    self.least(value)

    def _say_what_was_committed(self) -> None:
        for event, after in zip(self._run.events, self._run.states[1:], strict=True):
            if self._kind(event) is Kind.CLAIM_ACCEPTED and "was.footprint" in after:
                self.prefer(event["footprint"] == after["was.footprint"])

    def _need_something(self) -> None:
        """Requests need at least one block: one that needs none is possible but uninformative."""
        for event in self._run.events:
            if self._kind(event) is Kind.REQUEST_ARRIVED:
                self.prefer(self._numbers.const(1) <= event["needed"])

    def _kind(self, event: Mapping[str, Expr]) -> Kind:
        return self._alphabet[int(value_of(self.answer, event["kind"]))]

    def _settle(self, flag: Expr, wanted: bool) -> None:
        if not self.prefer(flag if wanted else z3.Not(flag)):
            self._solver.add(z3.Not(flag) if wanted else flag)

    def _plain_unless_carried(self, event: Mapping[str, Expr], name: str) -> Expr:
        value = event[name]
        if name.partition(".")[0] in _WHOM:
            return z3.BoolVal(True)
        if z3.is_bool(value):
            plain = value if name in _TRUE_WHERE_PLAIN else negation(value)
        else:
            plain = value == self._numbers.const(0)
        field = name.partition(".")[0]
        carriers = [kind for kind in self._alphabet if field in CARRIES.get(kind, ())]
        return any_of([plain, self._is(event, carriers)])

    def _is(self, event: Mapping[str, Expr], kinds: list[Kind]) -> Expr:
        index = {kind: i for i, kind in enumerate(self._alphabet)}
        return any_of([equal(event["kind"], self._numbers.kind(index[kind])) for kind in kinds])


_NOT_ABOUT_CLAIMS = CONFLICT_ACTIONS | {Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED}
