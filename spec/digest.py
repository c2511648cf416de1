"""Computes the digest of the specification over all of its terms and texts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any

from msgspec import Struct
from msgspec.json import encode

from spec.claims.states import (
    OWNER_TRIGGERS,
    RESPONSIBLE,
    RUNTIME_TRIGGERS,
    TERMINAL,
    TRANSITIONS,
)
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


_PLAIN = frozenset({NoneType, bool, int, str})


def canonical(value: object) -> object:
    """`value` as JSON that depends on nothing but what it says.

    A struct (a term too) or a dataclass is its class name and its fields, an enum member its value;
    sets and mappings are sorted. Raises TypeError for anything else.
    """
    known: dict[int, object] = {}  # by the ids of values: terms share many parts

    def go(value: object) -> object:
        if type(value) in _PLAIN:
            return value
        if id(value) not in known:
            known[id(value)] = made(value, type(value))
        return known[id(value)]

    def made(value: object, kind: type) -> object:
        if isinstance(value, Struct) or is_dataclass(kind):
            return [kind.__name__, {name: go(getattr(value, name)) for name in _names(kind)}]
        if isinstance(value, Enum):
            return [kind.__name__, value.value]
        if isinstance(value, tuple | list):
            return [go(item) for item in value]
        if isinstance(value, Mapping):
            pairs = ([go(key), go(item)] for key, item in value.items())
            return ["map", sorted(pairs, key=lambda pair: encode(pair[0]))]
        if isinstance(value, Set):
            return ["set", sorted((go(item) for item in value), key=encode)]
        raise TypeError(f"no canonical form of a {kind.__name__}")

    return go(value)


@cache
def _names(kind: Any) -> tuple[str, ...]:
    """The fields of a struct or of a dataclass."""
    if issubclass(kind, Struct):
        return tuple(kind.__struct_fields__)
    return tuple(field.name for field in fields(kind))


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
    return hashlib.sha256(encode(canonical(everything), order="sorted")).hexdigest()


def short_digest() -> str:
    """The first characters of `spec_digest`, for people."""
    return spec_digest()[:SHORT]
