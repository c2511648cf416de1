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
_REPLAYED: Final = frozenset({"was.other", "was.new_loss", "was.rest_since_arrival"})
"""Read only by runs that are written as traces, each of which the monitor judges."""


class Original:
    """The systems of some modes without a mistake."""

    def __init__(self, modes: tuple[str, ...]) -> None:
        self._steps = {mode: _step(mode) for mode in modes}
        self._systems = {mode: _Small.of(mode) for mode in modes if mode != _OF_TWO}

    def differs(self) -> str:
        """Nothing, where each event leads from every state to the same state with the mistake as
        without it; else the first thing that differs, or that the solver does not decide.
        """
        for mode, mine in self._steps.items():
            other, solver = _step(mode), z3.SolverFor("QF_LIA")
            solver.set("rlimit", _RLIMIT)
            if {*mine} != {*other}:
                return f"{mode}, {min({*mine} ^ {*other})}"
            for name, formula in mine.items():
                if not formula.eq(other[name]) and solver.check(formula != other[name]) != z3.unsat:
                    return f"{mode}, {name}"
                if name == "possible":  # the others matter where the event is
                    solver.add(formula, mine["always"])
        return ""

    def shown(self, mode: str) -> str:
        """A short run that shows the mistake in a mode, to be recorded, if one is found."""
        mine = self._systems.get(mode)
        return mine.apart(_Small.of(mode)) if mine is not None else ""


def _step(mode: str) -> dict[str, Any]:
    """Every formula of a mode's system, by name."""
    model = _model(mode, Integers())
    state = model.state("")
    step = model.step(state, model.event(""))
    found = {"initial": model.initial(state), "possible": step.possible}
    found["always"] = always(state)
    found |= {"kept": step.kept, "sound": step.sound, "settled": step.settled}
    return found | {f"{part} {name}": formula for part, name, formula in _named(step, _ONE)}


def always(state: Mapping[str, Any]) -> Any:
    """What is true of every state that can be reached: no number is negative, what was loaded for a
    request counts only while the predicate holds, and a request that hit was served.
    """
    found = [value >= 0 for value in state.values() if z3.is_int(value)]
    if "req_was.loaded" in state:
        whole = state["c.threshold"] <= state["was.lead"]
        found.append(z3.Implies(state["req_was.loaded"], whole))
        found.append(z3.Implies(state["req_was.hit"], state["req_was.served"]))
    return z3.And(found)


def _named(step: Any, parts: tuple[str, ...]) -> Iterator[tuple[str, Any, Any]]:
    for part in parts:
        named = getattr(step, part).items()
        for name, formula in named:
            if str(name).rpartition("/")[2] not in _REPLAYED:
                yield part, name, formula


def _model(mode: str, numbers: Any) -> Any:
    from proofs.model.of_mode import model_of
    from spec.claims.states import Mode
    from spec.contract.modes import Bundle

    return model_of(Mode(mode), Bundle.CONTRACT, numbers)


@dataclass(frozen=True)
class _Small:
    """A mode's system with small numbers, for short runs."""

    system: Any
    stepper: Stepper

    @classmethod
    def of(cls, mode: str) -> _Small:
        """The system as it is made now."""
        system = _model(mode, Bits(_WIDTH))
        return cls(system, Stepper(system))

    def apart(self, other: _Small) -> str:
        """A shortest run of both after which they say something else, as a line; or nothing."""
        solver = z3.SolverFor("QF_BV")
        solver.set("rlimit", _RLIMIT)
        mine, theirs = self.system.state("@0"), other.system.state("@0'")
        solver.add(self.system.initial(mine), other.system.initial(theirs))
        events, states = [], [mine]
        for number in range(1, _DEPTH + 1):
            event = self.system.event(f"@{number}")
            events.append(event)
            solver.add(self._carried(event))
            one, two = self.stepper.of(mine, event), other.stepper.of(theirs, event)
            others = {(part, name): formula for part, name, formula in _named(two, _SEEN)}
            says = [
                formula != others[part, name]
                for part, name, formula in _named(one, _SEEN)
                if (part, name) in others
            ]
            apart = z3.Or(
                one.possible != two.possible, z3.And(one.possible, two.possible, z3.Or(says))
            )
            if solver.check(apart) == z3.sat:
                solver.add(apart)
                return self._line(solver, events, states)
            solver.add(one.possible, two.possible)
            if {*one.following} != {*two.following}:
                return ""
            mine, theirs = self.system.state(f"@{number}"), other.system.state(f"@{number}'")
            for after, step in ((mine, one), (theirs, two)):
                solver.add(*(equal(after[name], v) for name, v in step.following.items()))
            states.append(mine)
        return ""

    def _carried(self, event: Mapping[str, Any]) -> Any:
        system = self.system
        kinds = {
            kind: equal(event["kind"], system.numbers.kind(number))
            for number, kind in enumerate(system.alphabet)
        }
        return encode(well_formed(), lambda _, name: event[name], kinds, system.numbers)

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
