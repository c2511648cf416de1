"""Defines the terms in which a runtime is described and a row is labelled."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from spec.contract.obligations import STATED
from spec.contract.supply import Atom

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ADEQUATE",
    "ATOMS_FOR",
    "POSITIVE",
    "RUNS",
    "AnchorKind",
    "Basis",
    "ClaimScope",
    "Label",
    "Rests",
    "Scope",
    "Status",
    "Subtype",
]


class Status(StrEnum):
    """How far something is shown."""

    SUPPORTED = "supported"
    PARTIAL = "partial"
    UNKNOWN = "unknown"
    MISSING = "missing"


class Scope(StrEnum):
    """What a statement rests on."""

    DOCS_ONLY = "docs_only"
    SOURCE_INSPECTION = "source_inspection"
    LITMUS_TRACE = "litmus_trace"
    CONFORMANCE_TRACE = "conformance_trace"


ADEQUATE: Final = frozenset({Scope.LITMUS_TRACE, Scope.CONFORMANCE_TRACE})
"""Scopes under which an obligation may count (rule 4)."""


class AnchorKind(StrEnum):
    """What stands at the place that an anchor names."""

    DOCS = "docs"
    SOURCE = "source"
    ISSUE = "issue"  # the author's own words in an issue or a pull request
    TRACE = "trace"
    ARTIFACT = "artifact"  # a published summary, made from traces


RUNS: Final = frozenset({AnchorKind.TRACE, AnchorKind.ARTIFACT})
"""Anchors of things that ran; only these can preserve an order and a claim."""


class ClaimScope(StrEnum):
    """Whose outcomes a run shows."""

    SAME_CLAIM = "same_claim"
    ANOTHER_CLAIM = "another_claim"
    UNCLAIMED = "unclaimed"
    NAMED_AFTERWARDS = "named_afterwards"


class Basis(StrEnum):
    """What the thing shown by a run consists of. Only the first is evidence of an obligation."""

    CLAIM_EVENTS = "claim_events"  # reported of the claim, or joined to it by a rule set beforehand
    GENERIC_COUNTERS = "generic_counters"
    FALLBACK_RECOMPUTE = "fallback_recompute"
    STORAGE_MOVEMENT = "storage_movement"
    ROUTING_SCORE = "routing_score"


ATOMS_FOR: Final[Mapping[str, frozenset[Atom]]] = {
    name: stated.atoms for name, stated in STATED.items() if stated.atoms
}
"""The atoms without which an obligation does not count, however well it is anchored (rule 3)."""


class Rests(StrEnum):
    """What an obligation of a row rests on."""

    DECLARED = "declared"  # the word of the descriptor, at an anchor that was not judged here
    SHOWN = "shown"  # a trace that was judged here


class Label(StrEnum):
    """What a row is called (table 3)."""

    NATIVE_SOUND = "native_sound"
    SOUND_WITH_ADAPTER = "sound_with_adapter"
    APPROXIMATE = "approximate"
    REJECTED = "rejected"
    UNKNOWN = "unknown"


POSITIVE: Final = frozenset({Label.NATIVE_SOUND, Label.SOUND_WITH_ADAPTER})


class Subtype(StrEnum):
    """What exactly a sound_with_adapter row shows (section 4); `adapter_hook` is our word."""

    OBSERVATIONAL = "adapter-observational"
    POLICY = "adapter-policy under controlled pressure"
    HOOK = "adapter-hook"
    PATCH = "backend-patch"
