"""The specification: events, claims, the lifecycle, nineteen obligations and seven modes.

What is listed in `__all__` is the Python API (docs/python-api.md); it is imported when it is first
asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spec.claims.claim import CacheIdentity, ClaimDecision, Decision, ResidentClaim
    from spec.claims.durations import Duration, Instant, TimeUnit
    from spec.claims.predicates import (
        ContiguousRange,
        LeadingPrefixAtLeast,
        MaterializationPredicate,
        parse_predicate,
    )
    from spec.claims.states import ClaimState, Mode
    from spec.contract.modes import MODES, Bundle, ConflictAction, ModeSpec
    from spec.contract.names import find_mode
    from spec.contract.obligations import OBLIGATIONS
    from spec.contract.supply import Depth
    from spec.digest import spec_digest
    from spec.docs.drawing import Drawing, drawing
    from spec.events.alphabet import FACTS, REPORTS, Kind
    from spec.events.canonical import CapacityProof, Event, Mark, StreamMark
    from spec.language.errors import (
        ClaimError,
        DescriptorError,
        DocumentError,
        DrawingError,
        PredicateError,
        SpecError,
        UnknownName,
    )
    from spec.language.machine import Observer
    from spec.language.verdicts import Verdict
    from spec.lowering.descriptor import Descriptor
    from spec.lowering.load import parse_descriptor, read_descriptor
    from spec.lowering.reasons import decided_by, why_missing
    from spec.lowering.relation import Row, lower
    from spec.lowering.vocabulary import Label
else:
    from spec.language.lazy import lazy

    __getattr__, __dir__ = lazy(
        __name__,
        {
            "spec.claims.claim": (
                *("CacheIdentity", "ClaimDecision", "Decision", "ResidentClaim"),
            ),
            "spec.claims.durations": ("Duration", "Instant", "TimeUnit"),
            "spec.claims.predicates": (
                *("ContiguousRange", "LeadingPrefixAtLeast", "MaterializationPredicate"),
                "parse_predicate",
            ),
            "spec.claims.states": ("ClaimState", "Mode"),
            "spec.contract.modes": ("MODES", "Bundle", "ConflictAction", "Depth", "ModeSpec"),
            "spec.contract.names": ("find_mode",),
            "spec.contract.obligations": ("OBLIGATIONS",),
            "spec.digest": ("spec_digest",),
            "spec.docs.drawing": ("Drawing", "drawing"),
            "spec.events.alphabet": ("FACTS", "REPORTS", "Kind"),
            "spec.events.canonical": ("CapacityProof", "Event", "Mark", "StreamMark"),
            "spec.language.errors": (
                *("ClaimError", "DescriptorError", "DocumentError", "DrawingError"),
                *("PredicateError", "SpecError", "UnknownName"),
            ),
            "spec.language.machine": ("Observer",),
            "spec.language.verdicts": ("Verdict",),
            "spec.lowering.descriptor": ("Descriptor",),
            "spec.lowering.load": ("parse_descriptor", "read_descriptor"),
            "spec.lowering.reasons": ("decided_by", "why_missing"),
            "spec.lowering.relation": ("Row", "lower"),
            "spec.lowering.vocabulary": ("Label",),
        },
    )
    del lazy

__all__ = [
    "FACTS",
    "MODES",
    "OBLIGATIONS",
    "REPORTS",
    "Bundle",
    "CacheIdentity",
    "CapacityProof",
    "ClaimDecision",
    "ClaimError",
    "ClaimState",
    "ConflictAction",
    "ContiguousRange",
    "Decision",
    "Depth",
    "Descriptor",
    "DescriptorError",
    "DocumentError",
    "Drawing",
    "DrawingError",
    "Duration",
    "Event",
    "Instant",
    "Kind",
    "Label",
    "LeadingPrefixAtLeast",
    "Mark",
    "MaterializationPredicate",
    "Mode",
    "ModeSpec",
    "Observer",
    "PredicateError",
    "ResidentClaim",
    "Row",
    "SpecError",
    "StreamMark",
    "TimeUnit",
    "UnknownName",
    "Verdict",
    "__version__",
    "decided_by",
    "drawing",
    "find_mode",
    "lower",
    "parse_descriptor",
    "parse_predicate",
    "read_descriptor",
    "spec_digest",
    "why_missing",
]

# One of the packages of resident-claims: spec/installed.py looks for that name here.

__version__ = "0.1.0"
