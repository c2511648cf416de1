"""Reads the statement of soft_priority once more, beside the system of two ranked claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import z3

from proofs.checks.statement.page import CLAUSES
from proofs.checks.statement.reading import Reading, differ, distinct, whole
from proofs.model.pair import FIRST_LOSS, RANK
from spec.contract.ledgers import live, was
from spec.events.alphabet import FACTS, Kind
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.checks.statement.reading import Questions, Values
    from proofs.logic.encode import Expr
    from proofs.model.pair import Pair
    from proofs.model.system import Step
    from spec.contract.modes import Bundle

__all__ = ["TwoClaims"]

_OTHER: Final = {"A": "B", "B": "A"}
_NUMBERS: Final = {"A": 1, "B": 2}
_FIRSTS: Final = ("lost_first", "said_first")
_OF_BOTH: Final = (*_FIRSTS, "reset", "either")
_OF_EACH: Final = ("mine", "named", "stored", "restorable")  # fields that differ by claim


@dataclass(frozen=True)
class TwoClaims:
    """One step of the pair, and the same step read for each claim by itself.

    `lost` says that the event takes a block of a claim while reports about it are owed.
    """

    pair: Pair
    state: Values
    event: Values
    step: Step
    sides: Mapping[str, Reading]
    lost: Mapping[str, Expr]

    @classmethod
    def of(cls, pair: Pair, bundle: Bundle) -> TwoClaims:
        """The step from any state by any event."""
        state, event = pair.state(""), pair.event("")
        evicted = event["kind"] == sorted(Kind).index(Kind.BLOCK_EVICTED)
        own = {side: _of_side(state, side) for side in _OTHER}
        alive = {side: pair.one.value(live(was), own[side]) for side in _OTHER}
        sides = {}
        for side, other in _OTHER.items():
            view = dict(event)
            for name in _OF_EACH:
                view[name] = event[f"{name}.{side}"]
            mine, theirs = state[f"{side}/priority"], state[f"{other}/priority"]
            there = alive[other]
            view["lower_priority_available"] = z3.And(
                there, theirs < mine, event[f"takeable.{other}"]
            )
            view["higher_priority_kept"] = z3.And(there, mine < theirs, event[f"keeps.{other}"])
            sides[side] = Reading(pair.one, bundle, own[side], view, pair.one.step(own[side], view))
        lost = {s: z3.And(evicted, event[f"mine.{s}"], alive[s]) for s in _OTHER}
        return cls(pair, state, event, pair.step(state, event), sides, lost)

    # Each claim, and the events of both.

    def each(self) -> Questions:
        """Each claim begins and goes on as one alone, and judges an event that is faithful to both;
        a report is about one of them at most.
        """
        yield differ(self.pair.initial(self.state), self._initial())
        event = self.event
        fact = z3.Or([is_kind for kind, is_kind in self.sides["A"].kinds.items() if kind in FACTS])
        apart = [
            z3.And([z3.Implies(fact, event[f"named.{s}"] == event[f"mine.{s}"]) for s in _OTHER]),
            z3.Or(fact, z3.Not(z3.And(event["mine.A"], event["mine.B"]))),
            z3.Or(fact, z3.Not(z3.And(event["named.A"], event["named.B"]))),
            z3.Not(event["here"]),
        ]
        known = z3.Or([*self.sides["A"].kinds.values()])
        expected = [side.expected for side in self.sides.values()]
        yield differ(self.step.possible, z3.And(known, *expected, *apart))
        for name, side in self.sides.items():
            yield from side.registers()
            yield from side.observers()
            yield from side.verdicts()
            for register, value in side.following.items():
                yield differ(self.step.following[f"{name}/{register}"], value)
        one, two = (side.step for side in self.sides.values())
        for name in one.keeps:
            yield differ(self.step.keeps[name], z3.And(one.keeps[name], two.keeps[name]))
            yield differ(self.step.owing[name], z3.Or(one.owing[name], two.owing[name]))
            yield differ(self.step.exercised[name], one.exercised[name])
        registers = {
            f"{name}/{each}" for name, side in self.sides.items() for each in side.following
        }
        registers |= {f"{name}/lost" for name in self.sides} | {*_OF_BOTH}
        yield z3.BoolVal({*self.step.following} != registers)
        yield z3.BoolVal(not distinct(self.state, self.event))
        yield from whole(self.step)

    def _initial(self) -> Expr:
        parts = [self.state[name] == 0 for name in _FIRSTS]
        parts += [z3.Not(self.state[name]) for name in ("reset", "either")]
        for name, side in self.sides.items():
            parts += [side.system.initial(side.state), z3.Not(self.state[f"{name}/lost"])]
            parts.append(self.state[f"{name}/priority"] >= 0)
        return z3.And(parts)

    # Which of them lost first, and by rank.

    def ranks(self) -> Questions:
        """The first loss and the first report of one are followed, and both clauses say what they
        should of them.
        """
        state, event, after, lost = self.state, self.event, self.step.following, self.lost
        kinds = self.sides["A"].kinds
        reports = (Kind.CLAIM_BLOCK_LOST, Kind.CLAIM_UNMATERIALIZED, Kind.CLAIM_HARMED)
        reported = z3.Or([kinds[kind] for kind in reports])
        both = z3.And(lost["A"], lost["B"])
        gone = z3.And(kinds[Kind.BLOCK_LOST], z3.Or(event["mine.A"], event["mine.B"]))
        new = state["lost_first"] == 0
        chosen = []
        for side, number in _NUMBERS.items():
            other = _OTHER[side]
            alive = self.pair.one.value(live(was), self.sides[other].state)
            chosen.append(z3.And(lost[side], new, alive, event[f"takeable.{other}"]))
            yield differ(after[f"{side}/lost"], z3.Or(state[f"{side}/lost"], lost[side]))
            for name, happens in (
                ("lost_first", z3.And(lost[side], z3.Not(both))),
                ("said_first", z3.And(reported, event[f"named.{side}"])),
            ):
                first = z3.And(self.step.possible, happens, state[name] == 0)
                yield z3.And(first, after[name] != number)
        for name, happens in (
            ("lost_first", z3.Or([*lost.values()])),
            ("said_first", z3.And(reported, z3.Or(event["named.A"], event["named.B"]))),
        ):
            stays = z3.Or(z3.Not(happens), state[name] != 0)
            yield z3.And(self.step.possible, stays, after[name] != state[name])
        yield differ(after["reset"], z3.Or(state["reset"], gone, both))
        yield differ(after["either"], z3.Or(state["either"], z3.And(z3.Not(both), z3.Or(chosen))))
        yield from self._clauses(after)

    def _clauses(self, after: Values) -> Questions:
        step = self.step
        yield z3.BoolVal([*step.clauses] != [*CLAUSES[self.pair.mode]])
        owed = [
            side.says(o, Verdict.PENDING)
            for side in self.sides.values()
            for o in side.bound
            if o.name in CLAUSES[self.pair.mode][FIRST_LOSS.name].waits
        ]
        known = z3.Not(z3.Or(*owed, after["reset"]))
        due = z3.Or(z3.Not(known), after["lost_first"] == after["said_first"])
        yield differ(step.clauses[FIRST_LOSS.name], due)
        lower, passed = [], []
        for side, reading in self.sides.items():
            available = reading.event["lower_priority_available"]
            passed.append(z3.Or(z3.Not(self.lost[side]), z3.Not(available)))
            alive = self.pair.one.value(live(was), self.sides[_OTHER[side]].state)
            less = self.state[f"{_OTHER[side]}/priority"] < self.state[f"{side}/priority"]
            lower.append(z3.And(self.lost[side], alive, less))
        one, two = self.state["A/priority"], self.state["B/priority"]
        first = z3.If(after["lost_first"] == 1, one <= two, two <= one)
        due = z3.And(*passed, z3.Implies(after["either"], first))
        yield differ(step.clauses[RANK.name], due)
        places = {
            (FIRST_LOSS.name, "lost"): z3.And(known, after["lost_first"] != 0),
            (RANK.name, "a lower one"): z3.Or(lower),
            (RANK.name, "either"): after["either"],
        }
        yield z3.BoolVal({*step.compared} != {*places})
        yield from (differ(step.compared[place], where) for place, where in places.items())

    # With the claims exchanged.

    def exchanged(self) -> Questions:
        """Initial states, possible events, the state after them and each clause are the same."""
        state = {_exchanged(name): value for name, value in self.state.items()}
        state |= {name: _of_other(self.state[name]) for name in _FIRSTS}
        event = {_exchanged(name): value for name, value in self.event.items()}
        step, other = self.step, self.pair.step(state, event)
        yield differ(self.pair.initial(self.state), self.pair.initial(state))
        yield differ(step.possible, other.possible)
        firsts = [z3.And(self.state[name] >= 0, self.state[name] <= 2) for name in _FIRSTS]
        decided = z3.Implies(self.state["either"], self.state["lost_first"] != 0)
        real = z3.And(step.possible, *firsts, decided)
        both = z3.And(*self.lost.values())
        for name, value in step.following.items():
            if name == "lost_first":  # then it is reset, and no clause reads it
                real_one = z3.And(real, z3.Not(both))
                yield z3.And(real_one, differ(_of_other(value), other.following[name]))
            elif name == "said_first":
                yield z3.And(real, differ(_of_other(value), other.following[name]))
            else:
                yield z3.And(real, differ(value, other.following[_exchanged(name)]))
        for mine, theirs in ((step.clauses, other.clauses), (step.keeps, other.keeps)):
            yield z3.BoolVal({*mine} != {*theirs})
            yield from (z3.And(real, differ(mine[name], theirs[name])) for name in mine)


def _of_side(state: Values, side: str) -> dict[str, Expr]:
    prefix = f"{side}/"
    return {name[2:]: value for name, value in state.items() if name.startswith(prefix)}


def _exchanged(name: str) -> str:
    """The same variable of the other claim."""
    for side, other in _OTHER.items():
        if name.startswith(f"{side}/"):
            return f"{other}{name[1:]}"
        if name.endswith(f".{side}"):
            return f"{name[:-1]}{other}"
    return name


def _of_other(first: Expr) -> Expr:
    """The number of the other claim, and 0 for none."""
    return z3.If(first == 1, z3.IntVal(2), z3.If(first == 2, z3.IntVal(1), first))
