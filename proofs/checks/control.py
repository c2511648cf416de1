"""Finds the runs that soft_priority's theorem compares: original, swapped, equal priorities.

For every run in which either claim could lose blocks first, the theorem states which one does. This
module shows that such runs exist, and that with equal priorities each order occurs: only the
priority decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import z3

from proofs.engines.bounded.search import RLIMIT
from proofs.engines.bounded.unrolling import Found, Run
from proofs.logic.encode import Bits
from proofs.model.of_mode import model_of
from spec.claims.states import Mode
from spec.contract.modes import Bundle

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from proofs.logic.encode import Expr, Numbers
    from proofs.model.of_mode import Model
    from proofs.model.system import Step

__all__ = ["CONTROLS", "Control", "find"]

DEPTH = 12
WIDTH = 7
_FIRST = {"A": 1, "B": 2}


@dataclass(frozen=True)
class Control:
    """Two claims of these priorities (`<`, `=` or `>`), both of which lose blocks, one `first` when
    a block of the other one could have been taken as well.
    """

    name: str
    priorities: str
    first: str

    def shown(self, numbers: Numbers, step: Step, state: Mapping[str, Expr]) -> Expr:
        """The run that ends with this event is such a run, and nothing is owed.

        Args:
            state: the state before the event.
        """
        a, b = state["A/priority"], state["B/priority"]
        ranks = {"<": a < b, "=": a == b, ">": b < a}
        after = step.following
        return z3.And(
            step.settled,
            *step.clauses.values(),
            ranks[self.priorities],
            after["A/lost"],
            after["B/lost"],
            after["either"],
            after["lost_first"] == numbers.const(_FIRST[self.first]),
        )


CONTROLS = (
    Control("original", "<", "A"),
    Control("swapped", ">", "B"),
    Control("equal, one first", "=", "A"),
    Control("equal, the other first", "=", "B"),
)


def ranked() -> Model:
    """The model: two ranked claims under the contract, in runs that can be written as events."""
    return model_of(Mode.SOFT_PRIORITY, Bundle.CONTRACT, Bits(WIDTH), replay=True)


def find(controls: Iterable[Control], depth: int | None = None) -> tuple[dict[str, Found], bool]:
    """Find for each control a shortest run that keeps every obligation and satisfies the control;
    and whether every depth was decided.

    Args:
        depth: how many events are searched; `DEPTH` if None.
    """
    model, found, left = ranked(), dict[str, Found](), list(controls)
    run = Run.of(model, RLIMIT)
    for length in range(1, (depth or DEPTH) + 1):
        step = run.extend()
        for control in tuple(left):
            sought = z3.Bool(f"{control.name}@{length}")  # not pushed: clauses stay
            shown = control.shown(model.numbers, step, run.states[-2])
            run.solver.add(z3.Implies(sought, shown))
            answer = run.solver.check(sought)
            if answer == z3.unknown:
                return found, False
            if answer == z3.sat:
                found[control.name] = run.read(run.solver.model())
                left.remove(control)
        if not left:
            break
    return found, True
