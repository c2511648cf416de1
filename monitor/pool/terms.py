"""Tracks the terms of a claim: fixed by the first event that states them, compared from then on."""

from __future__ import annotations

from functools import lru_cache
from operator import attrgetter
from sys import intern
from typing import TYPE_CHECKING, Final

from monitor.evaluate.claim_fields import BOUND, UNBOUND
from monitor.pool.bloom_filter import digest
from spec.claims.claim import Mode
from spec.claims.predicates import parse_predicate
from spec.events.alphabet import Kind
from spec.events.fields import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.claim_fields import Bound
    from spec.events.canonical import Event

__all__ = [
    "bind",
    "binds",
    "fix_terms",
    "identity_of",
    "predicate_of",
    "restates",
    "same",
    "unstated",
]

predicate_of = lru_cache(maxsize=256)(parse_predicate)
"""`spec.claims.predicates.parse_predicate`, which says the same again and again."""


assert set(IDENTITY) == {"object_id", *BOUND}
_identity_of: Callable[[Event], tuple[str | None, ...]] = attrgetter(*IDENTITY)
_NONE_STATED: Final = (None,) * len(IDENTITY)
_OBJECT: Final = IDENTITY.index("object_id")
_PREDICATE: Final = IDENTITY.index("predicate")
assert (*IDENTITY[:_OBJECT], *IDENTITY[_OBJECT + 1 :]) == BOUND
_CACHE: Final = 0
_TERMS: Final = 1
_TERMS_ID: Final = 2
_MAP: Final = 3
assert BOUND == ("cache_identity", "predicate", "predicate_id", "token_map")
_MODE_OF: Final = {str(mode): intern(str(mode)) for mode in Mode}  # one text for all claims


@lru_cache(maxsize=1024)
def _bound(*stated: str | bytes | None) -> Bound:
    """What is stated of an identity besides the object: one for all claims of which it is."""
    return stated


@lru_cache(maxsize=256)
def _plain(text: str) -> str:
    """The text of a predicate, one for all that ask for the same positions."""
    return intern(predicate_of(text).plain)


def fix_terms(claim: ClaimRun, event: Event) -> None:
    """Take what the event that introduces a claim asks for; no later one rewrites it."""
    claim.declared_mode = claim.declared_mode or _MODE_OF.get(event.mode or "", event.mode)
    if event.mode != claim.declared_mode:
        claim.other_mode = claim.other_mode or event.mode
    if event.kind is Kind.CLAIM_ACCEPTED:  # the runtime's own word for it
        claim.owner_claimed = claim.owner_claimed or event.owner_scope
    else:
        claim.owner_scope = claim.owner_scope or intern(event.owner_scope or "") or None
    claim.duration = claim.duration or event.duration
    if claim.priority is None:
        claim.priority = event.priority
    if event.priority not in (None, claim.priority):
        claim.disputed = True


def identity_of(claim: ClaimRun) -> tuple[str | bytes | None, ...]:
    """What is stated of a claim's identity, by the fields of `IDENTITY`."""
    return (*claim.bound[:_OBJECT], claim.object_id, *claim.bound[_OBJECT:])


def bind(claim: ClaimRun, stated: Mapping[str, str | bytes | None]) -> None:
    """State these fields of a claim's identity."""
    claim.object_id, claim.bound = stated["object_id"], _bound(*[stated[name] for name in BOUND])
    claim.joined = identity_of(claim) == _NONE_STATED


def binds(claim: ClaimRun, event: Event) -> bool:
    """Whether the event means the object that the claim was first bound to.

    What it states besides is bound as well, if it does.
    """
    values = _identity_of(event)
    if values == _NONE_STATED:
        return True
    if claim.bound is UNBOUND and claim.object_id is None:
        said = event.predicate
        predicate = None if said is None else _plain(said)
        claim.object_id, claim.joined = event.object_id, False
        claim.bound = _bound(event.cache_identity, predicate, event.predicate_id, event.token_map)
        return True
    known, new = [*identity_of(claim)], False
    for place, value in enumerate(values):
        if value is not None:
            stated = _plain(value) if place == _PREDICATE else value
            if known[place] is None:
                known[place], new = stated, True
            elif not same(IDENTITY[place], known[place], stated):
                return False
    if new:
        claim.object_id = known.pop(_OBJECT)
        claim.bound, claim.joined = _bound(*known), False
    return True


def restates(claim: ClaimRun, event: Event) -> bool:
    """Whether the event states nothing of the claim's identity, or only what is bound already."""
    if event.object_id is not None and event.object_id != claim.object_id:
        return False
    cache, predicate = event.cache_identity, event.predicate
    terms, token_map = event.predicate_id, event.token_map
    if cache is None and predicate is None and terms is None and token_map is None:
        return True
    bound = claim.bound
    if cache is not None and cache != bound[_CACHE]:
        return False
    if predicate is not None and predicate != bound[_TERMS] and _plain(predicate) != bound[_TERMS]:
        return False
    return (terms is None or terms == bound[_TERMS_ID]) and (
        token_map is None or token_map == bound[_MAP]
    )


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
    if claim.object_id is None and claim.cache_identity is None:
        missing.append("cache_identity or object_id")
    if claim.bound_predicate is None:
        missing.append("materialization_predicate")
    entered = "accepted" if claim.accepted else "registered"
    return f"it was {entered} without {', '.join(missing)}" if missing else ""
