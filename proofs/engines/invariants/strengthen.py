"""Supplies known invariants: the inductive parts of `proofs.receptiveness.inductive_invariant`.

They are written by hand and not trusted: plain Z3 first drops those that are not inductive. They
only shorten a search: an invariant found with their help contains them, and is checked again as a
whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from proofs.engines.inductive_part import inductive_part, starting
from proofs.model.system import System
from proofs.receptiveness.strategy import RuntimeStrategy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.logic.encode import Expr
    from proofs.model.system import Step

__all__ = ["known"]

RLIMIT = 20_000_000


def known(system: object, state: Mapping[str, Expr], step: Step) -> Expr:
    """A known invariant of a system, as a formula over `state`; true for other models."""
    if not isinstance(system, System):
        return z3.BoolVal(True)
    after = {name: step.following.get(name, value) for name, value in state.items()}
    now, then = ([*RuntimeStrategy(system, at).invariant.values()] for at in (state, after))
    first, happens = z3.Solver(), z3.Solver()
    first.add(system.initial(state))
    happens.set("rlimit", RLIMIT)
    happens.add(step.possible, step.kept)
    left = starting(first, now)
    part = inductive_part(happens, [now[n] for n in left], [then[n] for n in left])
    return z3.And([now[left[place]] for place in part or ()])
