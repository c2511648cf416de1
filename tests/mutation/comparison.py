"""Compares the systems of the modes with those that a mistake makes of them.

An `Original` is made before the mistake is planted, and asked after it. Z3's variables have the
same names in both, so their formulas can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import z3

from proofs.checks.recorded.judge import well_formed
from proofs.checks.recorded.lines import usual, write_run
from proofs.engines.bounded.unrolling import Stepper, value_of
from proofs.engines.inductive_part import inductive_part, starting
from proofs.logic.connectives import equal
from proofs.logic.encode import Bits, Integers, encode

__all__ = ["Original", "always"]

_OF_TWO: Final = "soft_priority"
_WIDTH: Final = 8
_DEPTH: Final = 5
_RLIMIT: Final = 10_000_000
_ONE: Final = ("following", "keeps", "owing", "exercised", "clauses", "compared")
_SEEN: Final = ("keeps", "owing", "exercised", "clauses", "compared")
"""What is recorded of a run."""


class Original:
    """The systems of some modes without a mistake."""

    def __init__(self, modes: tuple[str, ...]) -> None:
        self._whole = {mode: _Whole.of(mode) for mode in modes}
        self._systems = {mode: _Small.of(mode) for mode in modes if mode != _OF_TWO}

    def differs(self) -> str:
        """Nothing, where each event with the fields of its kind leads from every state that can be
        reached to the same state with the mistake as without it; else the first thing that differs,
        or that the solver does not decide.
        """
        for mode, whole in self._whole.items():
            if name := whole.differs(_Whole.of(mode)):
                return f"{mode}, {name}"
        return ""

    def shown(self, mode: str) -> str:
        """A short run that shows the mistake in a mode, to be recorded, if one is found."""
        mine = self._systems.get(mode)
        return mine.apart(_Small.of(mode)) if mine is not None else ""


@dataclass(frozen=True)
class _Whole:
    """A mode's system with mathematical integers, and every formula of it by name."""

    model: Any
    state: dict[str, Any]
    carried: Any
    step: Any
    formulas: dict[str, Any]

    @classmethod
    def of(cls, mode: str) -> _Whole:
        """The system as it is made now."""
        model = _model(mode, Integers())
        state, event = model.state(""), model.event("")
        step = model.step(state, event)
        found = {"initial": model.initial(state), "possible": step.possible}
        found["written"] = _model(mode, Integers(), replay=True).step(state, event).possible
        found |= {"kept": step.kept, "sound": step.sound, "settled": step.settled}
        found |= {f"{part} {name}": formula for part, name, formula in _named(step, _ONE)}
        return cls(model, state, _carried(model, event), step, found)

    def differs(self, other: _Whole) -> str:
        """The first formula that another system has not, or in a state that can be reached another
        one.
        """
        if others := {*self.formulas} ^ {*other.formulas}:
            return min(others)
        pairs = {name: (mine, other.formulas[name]) for name, mine in self.formulas.items()}
        changed = [name for name, (mine, theirs) in pairs.items() if not mine.eq(theirs)]
        solver = z3.SolverFor("QF_LIA")
        solver.set("rlimit", _RLIMIT)
        for name in changed:
            solver.push()
            if name != "initial":
                solver.add(always(self.state), self.carried)
            if name not in {"initial", "possible"}:  # the others matter where the event is
                solver.add(self.step.possible)
            mine, theirs = pairs[name]
            solver.add(mine != theirs)
            if solver.check() != z3.unsat:
                if name == "initial":
                    return name
                solver.add(self._reached(changed))
                if solver.check() != z3.unsat:
                    return name
            solver.pop()
        return ""

    def _reached(self, changed: list[str]) -> Any:
        """What is true of each state that can be reached in which an obligation that changed has a
        state: whether the claim is away, and each register that says yes or no, as far as these
        conclusions are inductive together.
        """
        after = {name: self.step.following.get(name, v) for name, v in self.state.items()}
        before = self._conclusions(self.state, changed)
        first, happens = z3.SolverFor("QF_LIA"), z3.SolverFor("QF_LIA")
        first.add(self.model.initial(self.state))
        starts = starting(first, before)
        happens.set("rlimit", _RLIMIT)
        happens.add(self.step.possible, self.carried, always(self.state))
        left, later = [before[n] for n in starts], self._conclusions(after, changed)
        stays = inductive_part(happens, left, [later[n] for n in starts])
        return z3.And([left[n] for n in stays or ()])

    def _conclusions(self, state: Mapping[str, Any], changed: list[str]) -> list[Any]:
        found = [value for value in state.values() if z3.is_bool(value)]
        found += [_away(state, prefix) for prefix in self.model.sides.values()]
        return [
            z3.Implies(state[name] == number, each)
            for observer in self.model.observers
            for name in (f"{prefix}state.{observer.name}" for prefix in self.model.sides.values())
            if f"following {name}" in changed
            for number in range(len(observer.states))
            for value in found
            for each in (value, z3.Not(value))
        ]


def always(state: Mapping[str, Any]) -> Any:
    """What is true of every state that can be reached: no number is negative, a predicate needs a
    block, what was loaded for a request counts only while the predicate holds, a request that hit
    was served, and of a claim that is away each request that arrived knows it.
    """
    found = [value >= 0 for value in state.values() if z3.is_int(value)]
    found += [value >= 1 for name, value in state.items() if name.endswith("c.threshold")]
    if "req_was.loaded" in state:
        away = _away(state, "")
        found.append(z3.Implies(state["req_was.loaded"], z3.Not(away)))
        found.append(z3.Implies(state["req_was.hit"], state["req_was.served"]))
        found.append(z3.Implies(z3.And(state["req_was.seen"], away), state["req_was.away"]))
    return z3.And(found)


def _away(state: Mapping[str, Any], prefix: str) -> Any:
    return state[f"{prefix}was.lead"] < state[f"{prefix}c.threshold"]


def _named(step: Any, parts: tuple[str, ...]) -> Iterator[tuple[str, Any, Any]]:
    for part in parts:
        for name, formula in getattr(step, part).items():
            yield part, name, formula


def _model(mode: str, numbers: Any, *, replay: bool = False) -> Any:
    from proofs.model.of_mode import model_of
    from spec.claims.states import Mode
    from spec.contract.modes import Bundle

    return model_of(Mode(mode), Bundle.CONTRACT, numbers, replay=replay)


def _carried(model: Any, event: Mapping[str, Any]) -> Any:
    """The event has only the fields that events of its kind have, for each claim."""
    index = {kind: model.numbers.kind(number) for number, kind in enumerate(model.alphabet)}
    kinds = {kind: equal(event["kind"], number) for kind, number in index.items()}

    def field(_: Any, name: str) -> Any:
        if name in event:
            return event[name]
        return z3.Or([event[f"{name}.{side}"] for side in model.sides if f"{name}.{side}" in event])

    return encode(well_formed(), field, kinds, model.numbers)


@dataclass(frozen=True)
class _Small:
    """A mode's system with small numbers, for short runs."""

    system: Any
    stepper: Stepper
    written: Stepper
    """The same in runs that are written as traces."""

    @classmethod
    def of(cls, mode: str) -> _Small:
        """The system as it is made now."""
        system, written = (_model(mode, Bits(_WIDTH), replay=replay) for replay in (False, True))
        return cls(system, Stepper(system), Stepper(written))

    def apart(self, other: _Small) -> str:
        """A shortest run of both after which they say something else, as a line; or nothing."""
        solver = z3.SolverFor("QF_BV")
        solver.set("rlimit", _RLIMIT)
        mine, theirs = self.system.state("@0"), other.system.state("@0")
        first, others = self.system.initial(mine), other.system.initial(theirs)
        if not first.eq(others):
            theirs = other.system.state("@0'")
            others = other.system.initial(theirs)
        solver.add(first, others)
        events, states = [], [mine]
        for number in range(1, _DEPTH + 1):
            event = self.system.event(f"@{number}")
            events.append(event)
            solver.add(_carried(self.system, event))
            one, two = self.stepper.of(mine, event), other.stepper.of(theirs, event)
            can = self.written.of(mine, event).possible
            could = other.written.of(theirs, event).possible
            apart = z3.Or(can != could, _apart(one, two))
            if solver.check(apart) == z3.sat:
                solver.add(apart)
                return self._line(solver, events, states)
            solver.add(one.possible, two.possible)
            if {*one.following} != {*two.following}:
                return ""
            mine, theirs = self.system.state(f"@{number}"), other.system.state(f"@{number}'")
            for name, value in one.following.items():
                solver.add(equal(mine[name], value))
                if value.eq(two.following[name]):  # one variable for both: far less to decide
                    theirs[name] = mine[name]
                else:
                    solver.add(equal(theirs[name], two.following[name]))
            states.append(mine)
        return ""

    def _line(self, solver: Any, events: list[Any], states: list[Any]) -> str:
        """A run of the solver's, with as many plain fields as can be."""
        numbers, found = self.system.numbers, []
        for event, state in zip(events, states, strict=True):
            solver.check()
            number = value_of(solver.model(), event["kind"])
            kind = self.system.alphabet[int(number)]
            solver.add(event["kind"] == number)
            for name, plain in usual(kind).items():
                if name != "rest":
                    value = z3.BoolVal(plain) if isinstance(plain, bool) else numbers.const(plain)
                    if solver.check(event[name] == value) == z3.sat:
                        solver.add(event[name] == value)
            found.append((kind, {**event, "rest": state["was.rest"]}))
        solver.check()
        model = solver.model()
        each = [(kind, {n: value_of(model, v) for n, v in of.items()}) for kind, of in found]
        return write_run(int(value_of(model, states[0]["c.threshold"])), each)


def _apart(one: Any, two: Any) -> Any:
    """An event is possible in one system only, or in both, and something else is said of it."""
    others = {(part, name): formula for part, name, formula in _named(two, _SEEN)}
    says = [
        formula != others[part, name]
        for part, name, formula in _named(one, _SEEN)
        if (part, name) in others and not formula.eq(others[part, name])
    ]
    return z3.Or(one.possible != two.possible, z3.And(one.possible, two.possible, z3.Or(says)))
