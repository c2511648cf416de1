"""Runs that end badly though nobody chose the end: into a trap, or by an event nobody held back.

`trap_runs` shows how a runtime brings each trap of its mode upon itself. `forced` shows what
would be lost if kinds of events that the specification leaves to the runtime were not its to time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import z3

from proofs.duty import TRAPS, Duty
from proofs.encode import Bits
from proofs.engines.search import find_refutation
from proofs.model import model_of
from proofs.replay import to_events
from proofs.story import Line, tell
from proofs.system import System
from proofs.wrapped import Wrapped
from spec.claims import Mode
from spec.events import Event
from spec.modes import Bundle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.encode import Expr
    from proofs.system import Step
    from proofs.wrapped import Change
    from spec.alphabet import Kind

__all__ = ["Run", "forced", "trap_runs"]

DEPTH = 8
WIDTH = 7


class Run(msgspec.Struct, frozen=True):
    """A shortest run; `trace` is empty where it can not be written as events, `why` says what for.

    Without any run of up to `depth` events both lists are empty.
    """

    name: str
    why: str
    depth: int
    trace: list[Event]
    lines: list[Line]


def trap_runs(mode: Mode, depth: int = DEPTH) -> list[Run]:
    """A shortest run into each trap of a mode (`proofs.duty.TRAPS`)."""
    system = System(mode, Bundle.CONTRACT, Bits(WIDTH))
    names = Duty(system, system.state("")).traps
    return [_run(mode, name, TRAPS[name], _into(system, name), depth) for name in names]


def forced(mode: Mode, kinds: frozenset[Kind], depth: int = DEPTH) -> Run:
    """A shortest run in which an event of these kinds, and nothing else, breaks an obligation."""
    name = ", ".join(sorted(kinds))
    return _run(mode, name, "an event that the runtime did not time", _by(kinds, mode), depth)


def _run(mode: Mode, name: str, why: str, change: Change, depth: int) -> Run:
    for replay in (True, False):
        model = model_of(mode, Bundle.CONTRACT, Bits(WIDTH), replay=replay)
        outcome = find_refutation(Wrapped(model, (), change), depth)
        if outcome.found is not None:
            found = replace(outcome.found, failed=())
            events = to_events(model, found) if replay else []
            return Run(name, why, outcome.depth, events, tell(model, found))
    return Run(name, why, depth, [], [])


def _into(system: System, name: str) -> Change:
    def change(state: Mapping[str, Expr], event: Mapping[str, Expr], step: Step) -> Step:
        after = {n: step.following.get(n, v) for n, v in state.items()}
        return replace(step, clauses={name: z3.Not(Duty(system, after).traps[name])})

    return change


def _by(kinds: frozenset[Kind], mode: Mode) -> Change:
    model = model_of(mode, Bundle.CONTRACT, Bits(WIDTH))
    numbers = [model.numbers.const(model.alphabet.index(k)) for k in sorted(kinds)]

    def change(state: Mapping[str, Expr], event: Mapping[str, Expr], step: Step) -> Step:
        these = z3.Or([event["kind"] == number for number in numbers])
        keeps = {name: z3.Or(kept, these) for name, kept in step.keeps.items()}
        unharmed = z3.Implies(these, step.kept)
        return replace(step, keeps=keeps, clauses={"unharmed": unharmed})

    return change
