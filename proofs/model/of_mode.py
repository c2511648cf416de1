"""Selects the transition system of a mode and the names of its variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from proofs.model.pair import Pair
from proofs.model.system import System
from spec.claims.states import Mode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.logic.encode import Expr, Numbers
    from proofs.model.system import Step
    from proofs.model.theorems import Clause
    from spec.contract.modes import Bundle
    from spec.events.alphabet import Kind
    from spec.language.machine import Observer

__all__ = ["Model", "model_of"]


class Model(Protocol):
    """A transition system about one claim, or about two that are ranked."""

    mode: Mode
    numbers: Numbers
    alphabet: tuple[Kind, ...]
    observers: tuple[Observer, ...]
    clauses: tuple[Clause, ...]
    sides: Mapping[str, str]
    """Each claim followed, with the prefix of its state variables; the first is the tracked one."""

    def mine(self, side: str) -> str:
        """The event field that says whether an event concerns this claim."""
        ...

    def state(self, suffix: str) -> dict[str, Expr]:
        """Fresh variables for a state."""

    def event(self, suffix: str) -> dict[str, Expr]:
        """Fresh variables for an event."""

    def initial(self, state: Mapping[str, Expr]) -> Expr:
        """The constraint on the state before any event."""

    def step(self, state: Mapping[str, Expr], event: Mapping[str, Expr]) -> Step:
        """One event from a state, as formulas over both."""


def model_of(
    mode: Mode,
    bundle: Bundle,
    numbers: Numbers,
    *,
    without: frozenset[str] = frozenset(),
    only: frozenset[str] | None = None,
    replay: bool = False,
    switched: bool = False,
) -> Model:
    """The most general runtime under a bundle of a mode.

    Args:
        without: obligations removed from the bundle, or single rules of them (`name.rule`).
        only: the names of the clauses to keep; all if None.
        replay: only runs that can be written as events and read back the same.
        switched: obligations are activated later, by assumptions (`proofs.model.system.switch`).
    """
    if mode is Mode.SOFT_PRIORITY:
        return Pair(bundle, numbers, without=without, only=only, replay=replay, switched=switched)
    return System(
        mode, bundle, numbers, without=without, only=only, replay=replay, switched=switched
    )
