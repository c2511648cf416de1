"""Defines the seven modes: their promises, critical obligations, adapter depths and actions.

`paper` is the bundle as "Fail-Closed Lowering of Resident KV Claims" prints it (section 3,
evidence-to-obligation summary). `contract` completes it where the auditor's theorem needs more; the
completion is either an added obligation, listed with its reason, or a named interpretation
(`spec.contract.interpretations`), and it is empty where nothing had to be added.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from spec.claims.states import Mode
from spec.contract.interpretations import INTERPRETATIONS
from spec.contract.obligations import OBLIGATIONS, STATED
from spec.contract.supply import Depth
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spec.language.machine import Observer

__all__ = ["MODES", "REPORTED_BY", "Bundle", "ConflictAction", "ModeSpec"]


class Bundle(StrEnum):
    """Which obligations of a mode: those of the contract, or those that the paper prints."""

    CONTRACT = "contract"
    PAPER = "paper"


class ConflictAction(StrEnum):
    """An explicit action on a request that does not fit beside the resident claims."""

    REFUSE = "refuse"
    DEFER = "defer"
    ROUTE_ELSEWHERE = "route_elsewhere"
    BOUND_ACTIVE = "bound_active"
    OFFLOAD = "offload"
    SPLIT = "split_or_recompute"
    RELAX = "relax_claim"


REPORTED_BY: dict[ConflictAction, tuple[Kind, ...]] = {
    ConflictAction.REFUSE: (Kind.REQUEST_REFUSED,),
    ConflictAction.DEFER: (Kind.REQUEST_DEFERRED,),
    ConflictAction.ROUTE_ELSEWHERE: (Kind.REQUEST_ROUTED_ELSEWHERE,),
    ConflictAction.BOUND_ACTIVE: (Kind.REQUEST_BOUNDED,),
    ConflictAction.OFFLOAD: (Kind.REQUEST_OFFLOADED,),
    ConflictAction.SPLIT: (Kind.REQUEST_SPLIT,),
    ConflictAction.RELAX: (Kind.CLAIM_DEMOTED, Kind.CLAIM_EXPIRED, Kind.CLAIM_OFFLOADED),
}
"""The reports that state each action."""


@dataclass(frozen=True)
class ModeSpec:
    """A mode as a bundle of obligations.

    `added` maps each obligation that the contract adds to the reason why the paper's bundle does
    not imply the mode's clauses without it; `critical` are those whose absence lets a look-alike
    pass for the mode (`spec.lowering.obligations` lists those whose absence rejects a row);
    `depths` are the adapter depths, all of a tuple together, that may supply the mode.
    """

    mode: Mode
    promise: str
    paper: tuple[str, ...]
    critical: frozenset[str]
    depths: tuple[tuple[Depth, ...], ...]
    actions: frozenset[ConflictAction] = frozenset()
    added: Mapping[str, str] = field(default_factory=dict)
    interpretations: tuple[str, ...] = ("due-by", "one-life")

    def __post_init__(self) -> None:
        unknown = {*self.paper, *self.added, *self.critical} - set(OBLIGATIONS)
        unknown |= set(self.interpretations) - {each.name for each in INTERPRETATIONS}
        if unknown:
            raise ValueError(
                f"{self.mode}: no such obligation or interpretation: {sorted(unknown)}"
            )

    def names(self, bundle: Bundle = Bundle.CONTRACT) -> tuple[str, ...]:
        """The obligations of a bundle, in the order in which they are listed."""
        return self.paper if bundle is Bundle.PAPER else (*self.paper, *self.added)

    def bundle(self, bundle: Bundle = Bundle.CONTRACT) -> tuple[Observer, ...]:
        """The observers of a bundle, in the order of `names`."""
        return tuple(OBLIGATIONS[n] for n in self.names(bundle))

    @cached_property
    def constants(self) -> dict[str, bool]:
        """The constants of the vocabulary that the mode fixes."""
        return {
            "lapses": self.mode is Mode.EXPIRING,
            "tiered": self.mode is Mode.OFFLOADABLE,
            "watched": "explicit_acceptance" not in self.paper,
            "ranked": "priority_influence" in self.paper,
        }


_PATCH = (Depth.BACKEND_PATCH,)


def _mode(
    mode: Mode,
    promise: str,
    depths: tuple[tuple[Depth, ...], ...],
    interpretations: tuple[str, ...],
    actions: frozenset[ConflictAction] = frozenset(),
) -> ModeSpec:
    """The mode with the obligations that have a place in it."""
    places = {name: place for name, each in STATED.items() if (place := each.place(mode))}
    paper = sorted((place.printed, name) for name, place in places.items() if place.printed)
    return ModeSpec(
        mode=mode,
        promise=promise,
        paper=tuple(name for _, name in paper),
        critical=frozenset(name for name, place in places.items() if place.critical),
        depths=(*depths, _PATCH),
        actions=actions,
        added={name: place.added for name, place in places.items() if place.added},
        interpretations=interpretations,
    )


MODES: dict[Mode, ModeSpec] = {
    spec.mode: spec
    for spec in (
        _mode(
            Mode.BEST_EFFORT,
            "Nothing is protected; each change of the predicate is reported under the claim's id.",
            ((Depth.TELEMETRY_JOIN,),),
            ("due-by", "watched"),
        ),
        _mode(
            Mode.SOFT_PRIORITY,
            "Under pressure the claim of lower priority loses blocks first, and each loss is "
            "reported.",
            ((Depth.TELEMETRY_JOIN,),),
            ("due-by", "watched", "controlled-pressure"),
        ),
        _mode(
            Mode.HARD_PROTECTED,
            "No block of an accepted claim is chosen as a victim; a request that does not "
            "fit beside the claim gets an explicit action that names the claim; any other "
            "loss is reported as harm.",
            ((Depth.SCHEDULER_HOOK, Depth.ALLOCATOR_HOOK),),
            (
                *("due-by", "paired-ends", "one-life", "smaller-grant", "blame", "conflict"),
                *("relax", "capacity", "loss"),
            ),
            frozenset(ConflictAction),
        ),
        _mode(
            Mode.DEMOTABLE,
            "No eviction makes the predicate false before a demotion of the claim is reported.",
            ((Depth.CLAIM_REGISTRY,),),
            ("due-by", "paired-ends", "one-life", "smaller-grant", "loss"),
            frozenset({ConflictAction.RELAX}),
        ),
        _mode(
            Mode.EXPIRING,
            "Responsibility ends at the claim's duration, and the end is reported; no "
            "eviction makes the predicate false before it.",
            ((Depth.CLAIM_REGISTRY,),),
            ("due-by", "paired-ends", "one-life", "smaller-grant", "loss"),
            frozenset({ConflictAction.RELAX}),
        ),
        _mode(
            Mode.OFFLOADABLE,
            "The claim may leave the GPU; it is restored from the offload tier before it is "
            "reused, or the failed restore ends in an outcome that names the claim.",
            ((Depth.STORAGE_RESTORABILITY,),),
            (
                *("due-by", "paired-ends", "one-life", "smaller-grant", "loss", "reuse"),
                "failed-restore",
            ),
            frozenset({ConflictAction.OFFLOAD, ConflictAction.REFUSE}),
        ),
        _mode(
            Mode.ROUTED_REUSE,
            "The cost of a route, the chosen worker and whether reuse followed are reported "
            "correctly, under the claim's id.",
            ((Depth.ROUTING_HOOK,),),
            ("due-by", "watched"),
            frozenset({ConflictAction.ROUTE_ELSEWHERE}),
        ),
    )
}
