"""Checks that there are runs for a theorem to speak of, and says why not where there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import z3

from proofs.checks.coverage import DEPTH, RLIMIT, WIDTH
from proofs.checks.statement.reading import Reading
from proofs.engines.bounded.unrolling import Run, reach
from proofs.logic.encode import Bits, Integers
from proofs.model.environment import faithful
from proofs.model.of_mode import model_of
from proofs.model.system import System
from spec.language.terms import And, show

if TYPE_CHECKING:
    from proofs.logic.encode import Expr
    from proofs.model.system import Step
    from spec.claims.states import Mode
    from spec.contract.modes import Bundle

__all__ = ["DEPTH", "contradiction", "unreached"]

_SHORT: Final = 3  # events that a contradiction of assumptions is looked for in
_AFTER_COMMITMENT: Final = "an event after a commitment"


def unreached(mode: Mode, bundle: Bundle) -> tuple[list[str], bool]:
    """What no run of `DEPTH` events has that keeps every obligation: a kind of event, a place where
    a clause is compared, an event after a commitment; and whether the solver decided that.
    """
    run = Run.of(model_of(mode, bundle, Bits(WIDTH)), RLIMIT)
    reached: set[str] = set()
    for _ in range(DEPTH):
        goals = _goals(run, run.extend())
        left = {name: goal for name, goal in goals.items() if name not in reached}
        new, answer = reach(run.solver, left)
        reached |= new
        if new == {*left} or answer == z3.unknown:
            break
    return sorted({*goals} - reached), answer != z3.unknown


def _goals(run: Run, step: Step) -> dict[str, Expr]:
    """What is to be reached by the last event of a run."""
    system, kind = run.system, run.events[-1]["kind"]
    first = next(iter(system.sides.values()))
    goals = {
        f"the kind {each}": kind == system.numbers.kind(number)
        for number, each in enumerate(system.alphabet)
    }
    goals |= {f"{clause}: {place}": where for (clause, place), where in step.compared.items()}
    return {**goals, _AFTER_COMMITMENT: run.states[-2][f"{first}was.committed"]}


def contradiction(mode: Mode, bundle: Bundle) -> list[str]:
    """Assumptions that together leave no event after a commitment within three events, and of which
    none can be left out; empty if there is such an event.
    """
    system = System(mode, bundle, Integers())
    solver = z3.SolverFor("QF_LIA")
    solver.set("rlimit", RLIMIT)
    named: dict[str, Expr] = {}
    state, world = system.state("@0"), faithful()
    solver.add(system.initial(state))
    committed = []
    for number in range(1, _SHORT + 1):
        event = system.event(f"@{number}")
        step = system.step(state, event)
        reading = Reading(system, bundle, state, event, step)
        committed.append(state["was.committed"])
        for part in world.args if isinstance(world, And) else [world]:
            switch = named.setdefault(show(part), z3.Bool(f"assumed {len(named)}"))
            solver.add(z3.Implies(switch, reading.term(part)))
        for name, kept in step.keeps.items():
            solver.add(z3.Implies(named.setdefault(name, z3.Bool(f"kept {name}")), kept))
        state = {name: step.following.get(name, value) for name, value in state.items()}
        solver.add(z3.Or([*reading.kinds.values()]))
    solver.add(z3.Or(committed))
    if solver.check(*named.values()) != z3.unsat:
        return []
    core = {str(each) for each in solver.unsat_core()}
    left = {name: switch for name, switch in named.items() if str(switch) in core}
    for name in [*left]:
        rest = [switch for other, switch in left.items() if other != name]
        if solver.check(*rest) == z3.unsat:
            del left[name]
    return [*left]
