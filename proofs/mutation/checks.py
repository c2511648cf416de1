"""The checks by which a mutant is noticed, cheapest first. Each tells what it noticed, or None."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proofs.encode import Bits
from proofs.engines.search import find_refutation, find_witness
from proofs.model import model_of
from proofs.mutation.corpus import corpus
from proofs.mutation.trails import Judge, constants, pinned
from proofs.pair import Pair
from spec.modes import MODES, Bundle

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofs.model import Model
    from proofs.mutation.operators import Mutant

__all__ = ["CHECKS", "consistency", "stories", "structure", "theorem"]

_WIDTH = 6
_REFUTATION = 8
_WITNESS = 12


def structure(mutant: Mutant) -> str | None:
    """The observer's own validation refuses it."""
    if mutant.rules is None:
        return None
    try:
        mutant.observer()
    except ValueError as problem:
        return str(problem)
    return None


def stories(mutant: Mutant) -> str | None:
    """A stream of the corpus gets another verdict than the one that is pinned.

    For an omitted obligation: a stream is kept that only this obligation would condemn.
    """
    trails = pinned()[constants(mutant.mode)]
    own = trails[mutant.original.name]
    if mutant.rules is None:
        others = [n for n in MODES[mutant.mode].names() if n != mutant.original.name]
        condemned = (line for line, trail in own.items() if "v" in trail)
        alone = (
            line
            for line in condemned
            if not any("v" in trails[name].get(line, "") for name in others)
        )
        return next(alone, None)
    judge = Judge(mutant.mode, mutant.observer())
    likely_first = sorted(corpus(), key=lambda told: told.line not in own)
    return next((t.line for t in likely_first if judge.trail(t) != own.get(t.line, "")), None)


def theorem(mutant: Mutant) -> str | None:
    """A clause of the auditor's theorem is refuted by a short run that keeps the mutant."""
    outcome = find_refutation(_model(mutant, replay=False), _REFUTATION)
    if outcome.found is None:
        return None
    return f"{', '.join(outcome.found.failed)} refuted by {outcome.depth} events"


def consistency(mutant: Mutant) -> str | None:
    """No short run exercises and satisfies the whole bundle any more."""
    if mutant.rules is None:
        return None
    outcome = find_witness(_model(mutant, replay=True), _WITNESS)
    lost = outcome.found is None and outcome.complete
    return f"no witness of up to {_WITNESS} events" if lost else None


CHECKS: dict[str, Callable[[Mutant], str | None]] = {
    "structure": structure,
    "stories": stories,
    "theorem": theorem,
    "consistency": consistency,
}


def _model(mutant: Mutant, *, replay: bool) -> Model:
    """The mode's system with the mutant in the place of the original."""
    name, numbers = mutant.original.name, Bits(_WIDTH)
    if mutant.rules is None:
        without = frozenset({name})
        return model_of(mutant.mode, Bundle.CONTRACT, numbers, without=without, replay=replay)
    model = model_of(mutant.mode, Bundle.CONTRACT, numbers, replay=replay)
    model.observers = tuple(mutant.observer() if o.name == name else o for o in model.observers)
    if isinstance(model, Pair):
        model.one.observers = model.observers
    return model
