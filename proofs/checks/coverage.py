"""Checks which observer states, rules and clause comparisons the runs of a bundle reach.

Rules that never fire, states that are never entered and clauses that are never compared are
vacuous, even if the bundle is sound.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
import z3
from msgspec.structs import replace

from proofs.engines.bounded.unrolling import Run, reach
from proofs.engines.inductive_part import possible
from proofs.engines.invariants.strengthen import known
from proofs.logic.connectives import all_of, equal
from proofs.logic.encode import Bits, Integers
from proofs.model.of_mode import model_of
from proofs.model.pair import Pair
from proofs.model.system import System
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.contract.obligations import STATED
from spec.language.machine import Register
from spec.language.terms import Const, Sort
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from proofs.logic.encode import Expr
    from proofs.model.of_mode import Model
    from proofs.model.system import Step
    from spec.language.machine import Observer

__all__ = ["DEAD", "DEPTH", "Reached", "reachable"]

DEPTH = 12
WIDTH = 5
RLIMIT = 400_000_000
_FIRED = "fired"

DEAD: dict[Mode, dict[str, str]] = {
    mode: {
        f"{name}{part}": why
        for name, stated in STATED.items()
        if (place := stated.place(mode))
        for part, why in place.unreached.items()
    }
    for mode in Mode
}
"""What no run of a mode reaches while all other obligations are kept, with the reason."""


class Reached(msgspec.Struct, frozen=True):
    """The fewest events to each state (`obligation:state`) and rule (`obligation.rule`), while all
    other obligations are kept.

    `dead` gives what is proved unreachable for runs of every length, with the known reason or an
    empty one. `missing` was neither reached within `depth` events nor proved unreachable.
    `compared` are
    the fewest events after which a clause is compared in each of the places by which it is tested
    (`clause: place`), all obligations being kept; in those of `uncompared` no run of `depth` events
    compares it. `complete` is false where the work limit was met.
    """

    depth: int
    fewest: dict[str, int]
    dead: dict[str, str]
    missing: list[str]
    compared: dict[str, int]
    uncompared: list[str]
    complete: bool
    seconds: float

    @property
    def explained(self) -> bool:
        """Whether everything is reached, or unreachable for a known reason, and each clause is
        compared.
        """
        return (
            self.complete and not self.missing and not self.uncompared and all(self.dead.values())
        )


def reachable(mode: Mode, bundle: Bundle = Bundle.CONTRACT, depth: int = DEPTH) -> Reached:
    """Find which states and rules of a bundle some run exercises, and which none does."""
    started = time.perf_counter()
    dead = _dead(mode, bundle)
    model = _model(mode, bundle)
    fewest, missing, complete = _search(model, dead, depth)
    seconds = round(time.perf_counter() - started, 3)
    why = {name: DEAD[mode].get(name, "") for name in sorted(dead)}
    places = _places(model)
    return Reached(
        depth,
        {name: at for name, at in fewest.items() if name not in places},
        why,
        [name for name in missing if name not in places],
        {name: at for name, at in fewest.items() if name in places},
        [name for name in missing if name in places],
        complete,
        seconds,
    )


def _places(model: Model) -> set[str]:
    """The formulas in which each clause is tested."""
    return {_place(clause.name, name) for clause in model.clauses for name, _ in clause.tested}


def _place(clause: str, name: str) -> str:
    return f"{clause}: {name}"


def _names(observers: tuple[Observer, ...]) -> set[str]:
    states = {f"{o.name}:{s.name}" for o in observers for s in o.states}
    return states | {f"{o.name}.{r.name}" for o in observers for r in o.rules}


def _marked(observer: Observer) -> Observer:
    """The observer with an additional register: the number of the rule that fired last."""
    rules = tuple(
        replace(rule, sets={**rule.sets, _FIRED: Const(number)})
        for number, rule in enumerate(observer.rules, start=1)
    )
    fired = Register(_FIRED, Sort.INT, 0)
    return replace(observer, rules=rules, registers=(*observer.registers, fired))


def _model(mode: Mode, bundle: Bundle) -> Model:
    model = model_of(mode, bundle, Bits(WIDTH))
    model.observers = tuple(map(_marked, model.observers))
    if isinstance(model, Pair):
        model.one.observers = model.observers
    return model


def _search(model: Model, dead: set[str], depth: int) -> tuple[dict[str, int], list[str], bool]:
    """Shortest runs to everything at once, on one incremental solver."""
    run, complete = Run.of(model, RLIMIT), True
    solver = run.solver
    fewest = {f"{o.name}:{o.initial}": 0 for o in model.observers}
    left = (_names(model.observers) | _places(model)) - dead - set(fewest)
    for length in range(1, depth + 1):
        step = run.happen()
        solver.add(step.possible)
        goals = _goals(model, run.states[-1], step)
        new, answer = reach(solver, {name: goals[name] for name in left})
        complete = complete and answer != z3.unknown
        fewest |= dict.fromkeys(new, length)
        left -= new
        if not left:
            break
        solver.add(step.kept)
    return dict(sorted(fewest.items())), sorted(left), complete


def _goals(model: Model, state: dict[str, Expr], step: Step) -> dict[str, Expr]:
    """For each state and rule, the goal: it is reached, and every other obligation is kept."""
    prefix, const = next(iter(model.sides.values())), model.numbers.const
    found = {}
    for o in model.observers:
        others = [kept for name, kept in step.keeps.items() if name != o.name]
        for index, s in enumerate(o.states):
            own = [] if s.verdict is Verdict.VIOLATED else [step.keeps[o.name]]
            here = equal(state[f"{prefix}state.{o.name}"], const(index))
            found[f"{o.name}:{s.name}"] = all_of([here, *others, *own])
        for index, rule in enumerate(o.rules, start=1):
            fired = equal(state[f"{prefix}own.{o.name}.{_FIRED}"], const(index))
            found[f"{o.name}.{rule.name}"] = all_of([fired, *others])
    for (clause, name), compared in step.compared.items():
        found[_place(clause, name)] = all_of([step.kept, compared])
    return found


def _dead(mode: Mode, bundle: Bundle) -> set[str]:
    """What is unreachable for runs of every length: no rule that can fire leads there.

    A rule can fire if some state, in which the observer stands where it may stand, and some event
    that keeps all other obligations make it fire. Known invariants hold in that state.
    """
    system = System(mode, bundle, Integers())
    system.observers = tuple(map(_marked, system.observers))
    state = system.state("")
    step = system.step(state, system.event(""))
    solver = z3.Solver()
    solver.set("rlimit", RLIMIT)
    solver.add(known(system, state, step), step.possible)
    alive = set[str]()
    for o in system.observers:
        others = [kept for name, kept in step.keeps.items() if name != o.name]
        alive |= _alive(o, system, state, step, solver, others)
    return _names(system.observers) - alive


def _alive(
    o: Observer,
    system: System,
    state: dict[str, Expr],
    step: Step,
    solver: Expr,
    others: list[Expr],
) -> set[str]:
    const = system.numbers.const
    at, fired = state[f"state.{o.name}"], f"own.{o.name}.{_FIRED}"
    index = {s.name: i for i, s in enumerate(o.states)}
    reached, rules, grew = {o.initial}, set[str](), True
    while grew:
        grew = False
        for number, rule in enumerate(o.rules, start=1):
            sources = [at == const(index[s]) for s in o.sources(rule) if s in reached]
            if rule.name in rules or not sources:
                continue
            fires = [state[fired] == const(0), step.following[fired] == const(number)]
            if possible(solver, z3.Or(sources), *fires, *others):
                rules.add(rule.name)
                reached.add(rule.to)
                grew = True
    return {f"{o.name}:{s}" for s in reached} | {f"{o.name}.{r}" for r in rules}
