"""Tracks the terms of a claim: fixed by the first event that states them, compared from then on."""

from __future__ import annotations

from functools import lru_cache
from operator import attrgetter
from sys import intern
from typing import TYPE_CHECKING, Any, Final

from monitor.pool.bloom_filter import digest
from spec.claims.predicates import parse_predicate
from spec.events.alphabet import Kind
from spec.events.fields import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Callable

    from monitor.evaluate.claim import ClaimRun
    from spec.events.canonical import Event

__all__ = [
    "binds",
    "fix_terms",
    "predicate_of",
    "restates",
    "same",
    "unstated",
]

predicate_of = lru_cache(maxsize=256)(parse_predicate)
"""`spec.claims.predicates.parse_predicate`, which says the same again and again."""


assert set(IDENTITY) == {"object_id", "cache_identity", "predicate", "predicate_id", "token_map"}
_identity_of: Callable[[Event], tuple[str | None, ...]] = attrgetter(*IDENTITY)
_NONE_STATED: Final = (None,) * len(IDENTITY)


@lru_cache(maxsize=256)
def _plain(text: str) -> str:
    """The text of a predicate, one for all that ask for the same positions."""
    return intern(predicate_of(text).plain)


def fix_terms(claim: ClaimRun, event: Event) -> None:
    """Take what the event that introduces a claim asks for; no later one rewrites it."""
    claim.declared_mode = claim.declared_mode or event.mode
    if event.mode != claim.declared_mode:
        claim.other_mode = claim.other_mode or event.mode
    if event.kind is Kind.CLAIM_ACCEPTED:  # the runtime's own word for it
        claim.owner_claimed = claim.owner_claimed or event.owner_scope
    else:
        claim.owner_scope = claim.owner_scope or intern(event.owner_scope or "") or None
    claim.duration = claim.duration or event.duration
    if claim.priority is None:
        claim.priority = event.priority
    claim.disputed |= event.priority not in (None, claim.priority)


def binds(claim: ClaimRun, event: Event) -> bool:
    """Whether the event means the object that the claim was first bound to.

    What it states besides is bound as well, if it does.
    """
    values, stated = _identity_of(event), dict[str, Any]()
    if values == _NONE_STATED:
        return True
    for place, name in enumerate(IDENTITY):
        if (value := values[place]) is not None:
            stated[name] = _plain(value) if name == "predicate" else value
    binding = claim.binding
    if not binding:
        claim.binding = stated
        return True
    if not all(same(name, binding.get(name), value) for name, value in stated.items()):
        return False
    for name, value in stated.items():
        binding.setdefault(name, value)
    return True


def restates(claim: ClaimRun, event: Event) -> bool:
    """Whether the event states nothing of the claim's identity, or only what is bound already."""
    if (
        event.object_id is None
        and event.cache_identity is None
        and event.predicate is None
        and event.predicate_id is None
        and event.token_map is None
    ):
        return True
    binding = claim.binding
    for name, value in zip(IDENTITY, _identity_of(event), strict=True):
        if value is not None:
            known = binding.get(name)
            if known != value and (name != "predicate" or known != _plain(value)):
                return False
    return True


def same(name: str, known: str | bytes | None, value: str) -> bool:
    """Whether a field of a claim's identity, or its digest, may be this value."""
    return known in (None, digest(name, value) if isinstance(known, bytes) else value)


def unstated(claim: ClaimRun) -> str:
    """What was not stated of the claim though its obligations read it; empty if nothing.

    Every bundle reads the identity and the predicate. What else table 2 of Resident KV Claims asks
    for is missed where it is read: the footprint by the form, the owner and the duration at the
    end of the claim.
    """
    missing = []
    binding = claim.binding
    if "object_id" not in binding and "cache_identity" not in binding:
        missing.append("cache_identity or object_id")
    if "predicate" not in binding:
        missing.append("materialization_predicate")
    entered = "accepted" if claim.accepted else "registered"
    return f"it was {entered} without {', '.join(missing)}" if missing else ""
