"""Defines the record of one obligation, from which tables elsewhere are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from spec.contract.supply import Depth

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spec.claims.states import Mode
    from spec.contract.supply import Atom, Order
    from spec.events.alphabet import Kind
    from spec.language.machine import Observer
    from spec.language.terms import Term

__all__ = ["Answer", "Obligation", "Place", "Refusal", "While"]


class Place(Struct, frozen=True):
    """The place of an obligation in the bundle of one mode.

    Args:
        printed: its place in the list that the paper prints for the mode, from 1; 0 if the paper
            does not list it.
        added: why the contract adds it, where the paper does not list it.
        critical: a look-alike passes for the mode without it.
        rejects: a descriptor that tempts to the mode and lacks it is rejected.
        redundant: why no clause of the mode's theorem needs it, where that is so.
        unreached: rules (`.rule`) and states (`:state`) that no run of the mode reaches while all
            other obligations are kept, each with the reason.
    """

    mode: Mode
    printed: int = 0
    added: str = ""
    critical: bool = False
    rejects: bool = False
    redundant: str = ""
    unreached: Mapping[str, str] = {}

    def __post_init__(self) -> None:
        if (self.printed > 0) == bool(self.added):
            raise ValueError(f"{self.mode}: printed in the paper's bundle, or added with a reason")


class Answer(Struct, frozen=True):
    """What a runtime reports of a claim while the observer is in one of `states`.

    It is a move of the strategy by which receptiveness is proved, so it must settle what is owed.

    Args:
        name: the move, as outputs call it.
        fields: what the report states, as terms over the facts before it.
        of_request: the report is about the request in hand.
    """

    name: str
    kind: Kind
    states: tuple[str, ...]
    fields: Mapping[str, Term] = {}
    of_request: bool = False


class Refusal(Struct, frozen=True):
    """States of the observer in which the strategy refuses the request in hand.

    Args:
        at_request: the refusal is of the request that the observer follows.
        for_restore: the refusal is for a restore that failed.
    """

    states: tuple[str, ...]
    at_request: bool = True
    for_restore: bool = False


class While(Struct, frozen=True):
    """A fact that holds whenever the observer is in one of `states` and nothing is violated.

    Receptiveness is proved from these, and proves each: at the start and after every event.

    Args:
        name: the invariant, as outputs call it; those of one name are proved together.
        holds: over the constants of the claim and the facts before an event.
    """

    name: str
    states: tuple[str, ...]
    holds: Term


class Obligation(Struct, frozen=True):
    """An obligation: its observer, and what cannot be derived from it.

    Args:
        row: its row in table 1 of the paper, from 1; 0 if it is not there (listed last).
        places: the modes whose bundles have it.
        order: what a run must preserve before it shows the obligation.
        depths: the adapters that may supply it; a backend patch always may.
        atoms: what it needs besides its own evidence.
        beyond_telemetry: no join of telemetry can create it.
    """

    observer: Observer
    row: int
    places: tuple[Place, ...]
    order: Order
    depths: frozenset[Depth]
    atoms: frozenset[Atom] = frozenset()
    beyond_telemetry: bool = False
    answers: tuple[Answer, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    invariants: tuple[While, ...] = ()

    def __post_init__(self) -> None:
        known = {state.name for state in self.observer.states}
        listed: tuple[Answer | Refusal | While, ...]
        listed = (*self.answers, *self.refusals, *self.invariants)
        named = {f":{state}" for state in known} | {f".{r.name}" for r in self.observer.rules}
        wrong = {state for each in listed for state in each.states} - known
        wrong |= {name for place in self.places for name in place.unreached} - named
        if wrong:
            raise ValueError(f"{self.name}: no such state or rule: {sorted(wrong)}")

    @property
    def name(self) -> str:
        """The name of the observer."""
        return self.observer.name

    def place(self, mode: Mode) -> Place | None:
        """Its place in the bundle of a mode, if it has one."""
        return next((place for place in self.places if place.mode is mode), None)

    def supplied_by(self, depth: Depth) -> bool:
        """An adapter at this depth may supply it by itself."""
        return depth is Depth.BACKEND_PATCH or depth in self.depths
