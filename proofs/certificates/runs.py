"""Writes runs for a certificate as events, and replays them through the transition system.

A file states the constants and the events of a run; the states between them follow. There is one
question for each event: is it impossible, does it break an obligation, or does it lead to another
state? The last question is whether the run misses its goal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import z3

from proofs.certificates.page import (
    DataError,
    Page,
    asked,
    comment,
    declared,
    defined,
    page,
    title,
    variable_name,
)
from proofs.engines.bounded.unrolling import Stepper, evaluated, expressions, first_state
from proofs.logic.encode import Integers
from proofs.logic.smtlib import Writer
from proofs.model.of_mode import model_of
from spec.cli.common import json_page
from spec.files.json_text import decode_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from proofs.engines.bounded.unrolling import Found, Value
    from proofs.logic.encode import Expr
    from proofs.logic.smtlib import Tree
    from proofs.model.of_mode import Model
    from proofs.model.system import Step
    from spec.claims.states import Mode
    from spec.contract.modes import Bundle

    Goal = Callable[[Step, Mapping[str, Expr]], Mapping[str, Expr]]

__all__ = ["EVENTS", "Run", "Witness", "run_pages", "run_written"]

EVENTS = 64
"""No run that is written has more events."""
LARGEST = 10**9
_PLAIN_TRUE = "authorised"


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run: the constants of its claims, and for each event its kind and non-default fields.

    Defaults are false and 0; for `authorised` it is true.
    """

    constants: dict[str, int]
    events: list[dict[str, bool | int | str]]


class Witness:
    """The part of a certificate with a run that exercises each obligation and satisfies it."""

    folder = ""
    _RUN, _ASKED = "witness.json", "witness.smt2"

    def names(self, mode: Mode) -> tuple[str, ...]:
        """The names of the files, in order."""
        return (self._RUN, self._ASKED)

    def data(self, mode: Mode) -> tuple[str, ...]:
        """The names of the files that hold data."""
        return (self._RUN,)

    def pages(self, mode: Mode, bundle: Bundle, given: Mapping[str, bytes]) -> dict[str, Page]:
        """Every file, made from this specification and the given data."""
        model = model_of(mode, bundle, Integers())
        head = title(mode, bundle, "a run in which each obligation is exercised and satisfied")
        return run_pages(model, "witness", given, head, _satisfied)

    def written(self, mode: Mode, bundle: Bundle, found: Found) -> dict[str, bytes]:
        """The data to write for a run."""
        return {self._RUN: run_written(model_of(mode, bundle, Integers()), found)}


def _satisfied(step: Step, _: Mapping[str, Expr]) -> dict[str, Expr]:
    settled = {"settled": step.settled}
    exercised = {f"satisfied.{name}": done for name, done in step.exercised.items()}
    return settled | exercised | {f"clause.{n}": holds for n, holds in step.clauses.items()}


def run_written(model: Model, found: Found) -> bytes:
    """The file of a run that was found."""
    variables, events = model.event(""), []
    for event in found.events:
        written: dict[str, Value | str] = {"kind": str(model.alphabet[int(event["kind"])])}
        for name in variables:
            if name != "kind" and event[name] != _plain(name, variables):
                written[name] = event[name]
        events.append(written)
    first = found.states[0]
    constants = {name: int(first[name]) for name in _constants(model)}
    return json_page(Run(constants, events))


def run_pages(
    model: Model, name: str, given: Mapping[str, bytes], head: list[Tree], goal: Goal
) -> dict[str, Page]:
    """The file of a run (`name`.json), and the questions about it (`name`.smt2).

    Args:
        given: what is written in the file.
        head: comments to begin the questions with.
        goal: the goals of the run, by name: predicates over its last step and the state before it.

    Raises:
        DataError: the file is not a run of the model.
    """
    file = f"{name}.json"
    try:
        run = decode_json(given[file], Run)
        replayed = _Replay(model, run, goal)
    except ValueError as problem:
        raise DataError(file, f"is not a run: {problem}") from None
    return {file: Page(json_page(run)), f"{name}.smt2": replayed.page(head)}


class _Replay:
    """Replays a run of a model, state by state."""

    def __init__(self, model: Model, run: Run, goal: Goal) -> None:
        self._model = model
        self._state, self._event = model.state(""), model.event("")
        self._step = model.step(self._state, self._event)
        self._after: dict[str, Expr] = {
            n: self._step.following.get(n, v) for n, v in self._state.items()
        }
        self._stepper = Stepper(model)
        self._shown = goal(self._step, self._state)
        self._events = [self._read(event) for event in _few(run)]
        self._states = [self._first(run)]
        for event in self._events:
            self._states.append(self._next(self._states[-1], event))

    def _read(self, fields: Mapping[str, bool | int | str]) -> dict[str, Value]:
        """The fields of an event; raises ValueError."""
        kinds = [str(kind) for kind in self._model.alphabet]
        strange = [name for name in fields if name not in self._event]
        if strange or fields.get("kind") not in kinds:
            what = f"field {strange[0][:40]!r}" if strange else f"kind {fields.get('kind')!r:.40}"
            raise ValueError(f"an event has the {what}")
        event: dict[str, Value] = {}
        for name, variable in self._event.items():
            value = fields.get(name, _plain(name, self._event))
            if name == "kind":
                value = kinds.index(str(value))
            if isinstance(value, str) or z3.is_bool(variable) != isinstance(value, bool):
                raise ValueError(f"{name} of an event is {value!r:.40}")
            if abs(value) > LARGEST:
                raise ValueError(f"{name} of an event is larger than {LARGEST}")
            event[name] = value
        return event

    def _first(self, run: Run) -> dict[str, Value]:
        """The state before any event; raises ValueError if the constants permit none."""
        constants = _constants(self._model)
        if set(run.constants) != set(constants):
            raise ValueError(f"the constants of a run are {', '.join(constants)}")
        return first_state(self._model, run.constants)

    def _next(self, state: Mapping[str, Value], event: Mapping[str, Value]) -> dict[str, Value]:
        step = self._stepper.of(expressions(state), expressions(event))
        return {**state, **{name: evaluated(value) for name, value in step.following.items()}}

    def page(self, head: list[Tree]) -> Page:
        """The questions, each about one event."""
        step, initial = self._step, self._model.initial(self._state)
        keeps = {f"keeps.{name}": kept for name, kept in step.keeps.items()}
        after = {f"next.{variable_name(self._state[n])}": e for n, e in self._after.items()}
        shown = {f"shown.{_plainly(name)}": holds for name, holds in self._shown.items()}
        writer = Writer([initial, step.possible, *keeps.values(), *after.values(), *shown.values()])
        kinds = ", ".join(f"{n} {kind}" for n, kind in enumerate(self._model.alphabet))
        lines: list[Tree] = [
            *head,
            *comment("Each must be unsatisfiable."),
            ("set-info", ":smt-lib-version", "2.6"),
            ("set-logic", "QF_LIA"),
            *comment("The state."),
            *declared(self._state.values()),
            *comment(f"The event. e.kind is one of {kinds}."),
            *declared(self._event.values()),
            *defined(writer, "No event has happened.", {"initial": initial}),
            *defined(writer, "The event can happen.", {"possible": step.possible}),
            *defined(writer, "After it, no obligation is violated.", keeps),
            *defined(writer, "The state after it.", after),
            *defined(writer, "What the run shows at its end.", shown),
        ]
        begins = [*self._at(self._state, self._states[0]), ("not", "initial")]
        lines += asked("The first state is not one.", *begins)
        names = ["first state"]
        for number, event in enumerate(self._events):
            here = self._at(self._state, self._states[number]) + self._at(self._event, event)
            after_it = _of(self._state, self._states[number + 1])
            there = [_is(f"next.{variable_name(v)}", value) for v, value in after_it]
            goes = ("and", "possible", *keeps, *there)
            lines += asked(f"Event {number + 1} does not lead on.", *here, ("not", goes))
            names.append(f"event {number + 1}")
            if number + 1 == len(self._events):
                lines += asked("It is not shown.", *here, ("not", ("and", *shown, "true")))
                names.append("end")
        return page(*lines, questions=names)

    def _at(self, of: Mapping[str, Expr], values: Mapping[str, Value]) -> list[Tree]:
        return [_is(variable_name(v), value) for v, value in _of(of, values)]


def _few(run: Run) -> list[dict[str, bool | int | str]]:
    if not 1 <= len(run.events) <= EVENTS:
        raise ValueError(f"a run has {len(run.events)} events, not 1 to {EVENTS}")
    return run.events


def _constants(model: Model) -> list[str]:
    """The state variables that no event changes."""
    one, other = model.state("@1"), model.state("@2")
    return [name for name, variable in one.items() if variable.eq(other[name])]


def _plain(name: str, variables: Mapping[str, Expr]) -> Value:
    return name == _PLAIN_TRUE if z3.is_bool(variables[name]) else 0


def _of(variables: Mapping[str, Expr], values: Mapping[str, Value]) -> list[tuple[Expr, Value]]:
    return [(variable, values[name]) for name, variable in variables.items()]


def _is(name: str, value: Value) -> Tree:
    if isinstance(value, bool):
        return name if value else ("not", name)
    return ("=", name, str(value) if value >= 0 else ("-", str(-value)))


def _plainly(name: str) -> str:
    return name.replace(" ", "_").replace(",", "")
