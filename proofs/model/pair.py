"""A transition system of two ranked claims, which the theorem of soft_priority needs.

Each claim has its own view of every event; the facts decide which lost blocks first, and the
auditor infers it from reports. The clauses hold for every single run, so they hold for each run of
a comparison (original, swapped); the lemma *swap* of `proofs.checks.lemmas` shows that the
comparison needs no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from proofs.logic.encode import Expr, Numbers
from proofs.model.system import REPLAY, Step, System, switch, waited_for
from proofs.model.theorems import Clause
from spec.claims.states import Mode
from spec.events.alphabet import FACTS, Kind
from spec.language.terms import TRUE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spec.contract.modes import Bundle

__all__ = ["FIRST_LOSS", "OF_EACH", "RANK", "Pair"]

FIRST_LOSS = Clause(
    "first loss",
    "knows which of two claims lost blocks first, as long as each loss is an eviction from one of "
    "them alone",
    TRUE,
    (("lost", TRUE),),
).after("claim_scoped_telemetry")
RANK = Clause(
    "promise",
    "no block of a claim is evicted while one of the claim of lower priority could be taken; so "
    "where either could be taken the lower one lost blocks first",
    TRUE,
    (("a lower one", TRUE), ("either", TRUE)),
)

_SIDES = ("A", "B")
_SHARED = ("lost_first", "said_first")
OF_EACH = ("stored", "restorable")
"""The fields that differ between the claims."""
_RESET = "reset"  # a claim lost blocks other than by eviction
_EITHER = "either"  # when a claim lost blocks first, one of the other could have been taken


class Pair:
    """Two claims under one mode's obligations, with the interface of `System`."""

    def __init__(
        self,
        bundle: Bundle,
        numbers: Numbers,
        *,
        without: frozenset[str] = frozenset(),
        only: frozenset[str] | None = None,
        replay: bool = False,
        switched: bool = False,
    ) -> None:
        self.mode, self.numbers = Mode.SOFT_PRIORITY, numbers
        self.one = System(self.mode, bundle, numbers, without=without, switched=switched)
        self._alone = System(self.mode, bundle, numbers, without=without, replay=True)
        self.observers, self.alphabet = self.one.observers, self.one.alphabet
        self.clauses: tuple[Clause, ...] = tuple(
            clause for clause in (FIRST_LOSS, RANK) if only is None or clause.name in only
        )
        self.sides: Mapping[str, str] = {side: f"{side}/" for side in _SIDES}
        self._names = [clause.name for clause in self.clauses]
        self._replay, self._switched = replay, switched

    def mine(self, side: str) -> str:
        """The event field that says whether an event concerns this claim."""
        return f"mine.{side}"

    def state(self, suffix: str) -> dict[str, Expr]:
        """Fresh variables for a state."""
        made = {}
        for side in _SIDES:
            for name, value in self.one.state(f".{side}{suffix}").items():
                made[f"{side}/{name}"] = (
                    self.numbers.var(f"{side}/{name}") if name == "c.threshold" else value
                )
            made[f"{side}/lost"] = z3.Bool(f"{side}/lost{suffix}")
            made[f"{side}/priority"] = self.numbers.var(f"{side}/priority")
        for name in _SHARED:
            made[name] = self.numbers.var(f"{name}{suffix}")
        for name in (_RESET, _EITHER):
            made[name] = z3.Bool(f"{name}{suffix}")
        return made

    def event(self, suffix: str) -> dict[str, Expr]:
        """Fresh variables for an event."""
        made = self.one.event(suffix)
        for name in ("mine", "named"):
            del made[name]
            for side in _SIDES:
                made[f"{name}.{side}"] = z3.Bool(f"e.{name}.{side}{suffix}")
        for name in ("lower_priority_available", "higher_priority_kept"):
            del made[name]
        for name in OF_EACH:
            del made[name]
        for name in (
            *OF_EACH,
            "takeable",
            "keeps",
        ):  # a block could be taken; the claim keeps some
            for side in _SIDES:
                made[f"{name}.{side}"] = z3.Bool(f"e.{name}.{side}{suffix}")
        return made

    def initial(self, state: Mapping[str, Expr]) -> Expr:
        """The constraint on the state before any event."""
        num = self.numbers
        parts = [state[name] == num.const(0) for name in _SHARED]
        parts += [z3.Not(state[_RESET]), z3.Not(state[_EITHER])]
        for side in _SIDES:
            parts.append(self.one.initial(_side(state, side)))
            parts.append(z3.Not(state[f"{side}/lost"]))
            parts.append(num.const(0) <= state[f"{side}/priority"])
            if num.limit is not None:
                parts.append(state[f"{side}/priority"] <= num.const(num.limit))
        return z3.And(parts)

    def step(self, state: Mapping[str, Expr], event: Mapping[str, Expr]) -> Step:
        """One event from a state, as formulas over both."""
        num = self.numbers
        index = {k: num.kind(i) for i, k in enumerate(self.alphabet)}
        fact = z3.Or([event["kind"] == index[k] for k in self.alphabet if k in FACTS])
        evicted = event["kind"] == index[Kind.BLOCK_EVICTED]
        loses = z3.Or(
            event["kind"] == index[Kind.CLAIM_BLOCK_LOST],
            event["kind"] == index[Kind.CLAIM_UNMATERIALIZED],
            event["kind"] == index[Kind.CLAIM_HARMED],
        )
        lost = {
            side: z3.And(evicted, event[f"mine.{side}"], self._live(state, side)) for side in _SIDES
        }
        steps, following, chosen = {}, {}, list[Expr]()
        first, reported = state["lost_first"], state["said_first"]
        for number, side in enumerate(_SIDES, start=1):
            view = self._view(event, side) | self._ranks(state, event, side)
            steps[side] = self.one.step(_side(state, side), view)
            for name, value in steps[side].following.items():
                following[f"{side}/{name}"] = value
            following[f"{side}/lost"] = z3.Or(state[f"{side}/lost"], lost[side])
            none_lost = state["lost_first"] == num.const(0)
            first = z3.If(z3.And(lost[side], none_lost), num.const(number), first)
            chosen.append(z3.And(lost[side], none_lost, self._takeable(state, event, side)))
            first_report = z3.And(
                loses, event[f"named.{side}"], state["said_first"] == num.const(0)
            )
            reported = z3.If(first_report, num.const(number), reported)
        following["lost_first"], following["said_first"] = first, reported
        gone = event["kind"] == index[Kind.BLOCK_LOST]
        hit = z3.And(gone, z3.Or(event["mine.A"], event["mine.B"]))
        following[_RESET] = z3.Or(state[_RESET], hit, z3.And(lost["A"], lost["B"]))
        alone = z3.Not(z3.And(lost["A"], lost["B"]))
        following[_EITHER] = z3.Or(state[_EITHER], z3.And(alone, z3.Or(chosen)))
        a, b = steps["A"], steps["B"]
        owing = {name: z3.Or(owes, b.owing[name]) for name, owes in a.owing.items()}
        possible = [
            a.possible,
            b.possible,
            z3.Implies(fact, event["named.A"] == event["mine.A"]),
            z3.Implies(fact, event["named.B"] == event["mine.B"]),
            z3.Implies(z3.Not(fact), z3.Not(z3.And(event["mine.A"], event["mine.B"]))),
            z3.Not(z3.And(event["named.A"], event["named.B"], z3.Not(fact))),
            z3.Not(event["here"]),
        ]
        if self._replay:
            wanted = switch(REPLAY) if self._switched else z3.BoolVal(True)
            possible.append(z3.Implies(wanted, self._readable(state, event)))
        passed = [
            z3.Implies(
                lost[side], z3.Not(self._ranks(state, event, side)["lower_priority_available"])
            )
            for side in _SIDES
        ]
        lower_first = z3.If(
            first == num.const(1),
            state["A/priority"] <= state["B/priority"],
            state["B/priority"] <= state["A/priority"],
        )
        known = z3.And(waited_for(FIRST_LOSS, owing), z3.Not(following[_RESET]))
        holds = {
            FIRST_LOSS.name: z3.Implies(known, first == reported),
            RANK.name: z3.And(*passed, z3.Implies(following[_EITHER], lower_first)),
        }
        lower = [z3.And(lost[x], self._lower(state, x)) for x in _SIDES]
        compared = {
            (FIRST_LOSS.name, "lost"): z3.And(known, first != num.const(0)),
            (RANK.name, "a lower one"): z3.Or(lower),
            (RANK.name, "either"): following[_EITHER],
        }
        return Step(
            z3.And(possible),
            following,
            {name: holds[name] for name in self._names},
            {name: z3.And(kept, b.keeps[name]) for name, kept in a.keeps.items()},
            a.exercised,  # of the first claim; the second is exchangeable with it
            owing,
            {key: where for key, where in compared.items() if key[0] in self._names},
        )

    @staticmethod
    def _view(event: Mapping[str, Expr], side: str) -> dict[str, Expr]:
        """The event in the scope of one claim, without its ranks."""
        return {**event, **{n: event[f"{n}.{side}"] for n in ("mine", "named", *OF_EACH)}}

    def _live(self, state: Mapping[str, Expr], side: str) -> Expr:
        """Whether reports about the claim are owed."""
        return self.one.live(_side(state, side))

    def _ranks(
        self, state: Mapping[str, Expr], event: Mapping[str, Expr], side: str
    ) -> dict[str, Expr]:
        """The fields of an eviction for a claim and the other one, by their ranks."""
        other = _other(side)
        own, theirs = state[f"{side}/priority"], state[f"{other}/priority"]
        there = self._live(state, other)
        return {
            "lower_priority_available": z3.And(
                self._lower(state, side), event[f"takeable.{other}"]
            ),
            "higher_priority_kept": z3.And(there, own < theirs, event[f"keeps.{other}"]),
        }

    def _lower(self, state: Mapping[str, Expr], side: str) -> Expr:
        """The other claim is there, and its priority is lower."""
        other = _other(side)
        there = self._live(state, other)
        return z3.And(there, state[f"{other}/priority"] < state[f"{side}/priority"])

    def _takeable(self, state: Mapping[str, Expr], event: Mapping[str, Expr], side: str) -> Expr:
        """The other claim is there, and a block of it could be taken instead."""
        other = _other(side)
        return z3.And(self._live(state, other), event[f"takeable.{other}"])

    def _readable(self, state: Mapping[str, Expr], event: Mapping[str, Expr]) -> Expr:
        """Each event is about one of the claims, and can be written as if there were no other."""
        parts = [z3.Xor(event["mine.A"], event["mine.B"])]
        evicted = event["kind"] == self.numbers.kind(self.alphabet.index(Kind.BLOCK_EVICTED))
        for side in _SIDES:
            mine, some = event[f"mine.{side}"], self.numbers.const(0) < state[f"{side}/was.lead"]
            view = self._view(event, side) | self._ranks(state, event, side)
            alone = self._alone.step(_side(state, side), view)
            parts.append(event[f"named.{side}"] == mine)
            parts.append(z3.Implies(mine, alone.possible))
            parts.append(z3.Implies(event[f"takeable.{side}"], some))
            parts.append(z3.Implies(evicted, event[f"keeps.{side}"] == some))
        return z3.And(parts)


def _other(side: str) -> str:
    return _SIDES[1 - _SIDES.index(side)]


def _side(state: Mapping[str, Expr], side: str) -> dict[str, Expr]:
    prefix = f"{side}/"
    return {n.removeprefix(prefix): v for n, v in state.items() if n.startswith(prefix)}
