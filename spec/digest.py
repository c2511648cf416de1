"""Computes the digest of the specification over all of its terms and texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache

from spec.claims.lifecycle import OWNER_TRIGGERS, RUNTIME_TRIGGERS
from spec.claims.states import RESPONSIBLE, TERMINAL, TRANSITIONS
from spec.contract.interpretations import CLOSES, INTERPRETATIONS
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS
from spec.contract.vocabulary import CONSTANTS, EVENT_FIELDS
from spec.events.alphabet import KINDS
from spec.lowering.depths import LADDER, MAY_SUPPLY, PRECONDITIONS
from spec.lowering.obligations import NEVER_BY_TELEMETRY, REJECTED_WITHOUT, RELEVANT_ORDER
from spec.lowering.signals import TEMPTS
from spec.lowering.vocabulary import ATOMS_FOR

__all__ = ["SHORT", "canonical", "short_digest", "spec_digest"]

SHORT = 12
"""Characters of the digest that are shown to people."""


def canonical(value: object) -> object:
    """`value` as JSON that depends on nothing but what it says.

    A dataclass (a term too) is its class name and its fields, an enum member its value; sets and
    mappings are sorted. Raises TypeError for anything else.
    """
    if isinstance(value, Enum):
        return [type(value).__name__, value.value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: canonical(getattr(value, field.name)) for field in fields(value)}
        return [type(value).__name__, parts]
    if isinstance(value, Mapping):
        pairs = ([canonical(key), canonical(item)] for key, item in value.items())
        return ["map", sorted(pairs, key=json.dumps)]
    if isinstance(value, Set):
        return ["set", sorted((canonical(item) for item in value), key=json.dumps)]
    if isinstance(value, tuple | list):
        return [canonical(item) for item in value]
    raise TypeError(f"no canonical form of a {type(value).__name__}")


@cache
def spec_digest() -> str:
    """SHA-256, in hex, of the whole specification; the same in every process."""
    everything = {
        "alphabet": KINDS,
        "vocabulary": {"event": EVENT_FIELDS, "claim": CONSTANTS},
        "ledgers": (CLAIM_FACTS, DECLARED, REQUEST_FACTS),
        "observers": OBLIGATIONS,
        "modes": MODES,
        "constants": {mode: spec.constants for mode, spec in MODES.items()},
        "lifecycle": (TRANSITIONS, RESPONSIBLE, TERMINAL, OWNER_TRIGGERS, RUNTIME_TRIGGERS),
        "interpretations": (INTERPRETATIONS, CLOSES),
        "lowering": (
            (LADDER, MAY_SUPPLY, PRECONDITIONS),
            (NEVER_BY_TELEMETRY, REJECTED_WITHOUT, RELEVANT_ORDER, ATOMS_FOR, TEMPTS),
        ),
    }
    text = json.dumps(canonical(everything), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def short_digest() -> str:
    """The first characters of `spec_digest`, for people."""
    return spec_digest()[:SHORT]
