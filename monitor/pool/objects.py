"""Tracks which claims are on which object."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from monitor.evaluate.claim_fields import BOUND
from monitor.evaluate.restless import Restless
from monitor.pool.bloom_filter import digest
from monitor.pool.groups import Groups
from monitor.pool.terms import same
from spec.contract.observed import resting_on
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Hashable

    from monitor.evaluate.claim import ClaimRun
    from spec.events.canonical import Event

__all__ = ["Objects", "is_elsewhere", "means", "noted_on", "open_without"]

_MOST_KEPT: Final = 8  # kinds and caches of events of one object
_WITHIN: Final = ("cache_identity", "token_map")
_CACHE: Final = BOUND.index("cache_identity")
_MAP: Final = BOUND.index("token_map")
_RESTS: Final = frozenset(
    {
        *(Kind.STORE_FINISHED, Kind.HOST_COPY_FOUND, Kind.HOST_COPY_LOST),
        *(Kind.LOAD_FINISHED, Kind.PREFIX_REUSED),
    }
)
_OF_A_REQUEST: Final = frozenset({Kind.LOAD_FAILED, Kind.REQUEST_ROUTED, Kind.REUSE_SERVED})


def open_without(kind: Kind, obligations: frozenset[str]) -> frozenset[str]:
    """Which of a bundle's obligations are open where a fact does not say whose object it is about.

    What is on the GPU and in the tier, and when something is done with a claim, all others rest on.
    """
    if kind in _RESTS:
        return obligations if "offload_restorability" in obligations else frozenset()
    return obligations & resting_on(kind) if kind in _OF_A_REQUEST else frozenset()


def means(event: Event, claim: ClaimRun) -> bool:
    """Whether the object of a watched claim is the one that the event names, as far as it says."""
    return not claim.unusual.unwatched and all(
        value is None or same(name, known, value)
        for name, known, value in (
            ("cache_identity", claim.cache_identity, event.cache_identity),
            ("token_map", claim.token_map, event.token_map),
        )
    )


def is_elsewhere(event: Event, claim: ClaimRun) -> bool:
    """Whether an event that names no claim states another cache than the claim is in."""
    stated, own = event.cache_identity, claim.cache_identity
    if event.claim_id is not None or stated is None or own is None:
        return False
    return not same("cache_identity", own, stated)


def _known(name: str, stated: str | bytes) -> bytes:
    return stated if isinstance(stated, bytes) else digest(name, stated)


def _on(claim: ClaimRun) -> Hashable | None:
    """The digest of the object that a claim states to be on; with its cache and the map of its
    positions, if either is stated.
    """
    if claim.object_id is None:
        return None
    known, bound = _known("object_id", claim.object_id), claim.bound
    if bound[_CACHE] is None and bound[_MAP] is None:
        return known
    return known, _within(bound[_CACHE], bound[_MAP])


def _digest_of(on: Hashable) -> bytes | None:
    """The digest of the object alone, of what `_on` gave."""
    if isinstance(on, bytes):
        return on
    return on[0] if isinstance(on, tuple) and isinstance(on[0], bytes) else None


def noted_on(claim: ClaimRun) -> bytes | None:
    """The digest of the object that a claim was found to be on, as `Objects.add` noted it."""
    return _digest_of(claim.object)


@lru_cache(maxsize=256)
def _within(*stated: str | bytes | None) -> tuple[bytes | None, ...]:
    """The digests of a cache and of a token map, which very many claims have in common."""
    each = zip(_WITHIN, stated, strict=True)
    return tuple(None if value is None else _known(name, value) for name, value in each)


def _is_still(on: Hashable, claim: ClaimRun) -> bool:
    """Whether a claim that was found to be on an object states no more of where that is since."""
    bound = claim.bound
    if isinstance(on, bytes):
        return bound[_CACHE] is None and bound[_MAP] is None
    if not isinstance(on, tuple):
        return False
    cache, token_map = on[1]
    return (cache is None) is (bound[_CACHE] is None) and (
        (token_map is None) is (bound[_MAP] is None)
    )


class Objects:
    """The claims that a registry holds or held, by the digest of the object that they are on."""

    def __init__(self) -> None:
        self._claims: Groups[bytes] = Groups()
        self._restless: dict[bytes, dict[Hashable, Restless[ClaimRun]]] = {}

    def add(self, claim: ClaimRun) -> bool:
        """The claim, once it is known to a registry and its object is stated; whether it is new on
        that object, in the cache and by the map that it states.
        """
        if self.is_still_on(claim):
            return False
        on = _on(claim)
        if on is None or on == claim.object or (known := _digest_of(on)) is None:
            return False
        claim.object = on
        self._claims.add(known, claim)
        for among in self._restless.get(known, {}).values():
            among.claims[claim.claim_id] = claim
        return True

    def is_still_on(self, claim: ClaimRun) -> bool:
        """Whether a claim is on an object, and states no more of where that is since."""
        return noted_on(claim) is not None and _is_still(claim.object, claim)

    def is_alone(self, claim: ClaimRun) -> bool:
        """Whether the claim's object is known, and no other claim is on it in any cache."""
        known = noted_on(claim)
        return known is not None and self._claims.is_sole(known, claim)

    def beside(self, claim: ClaimRun) -> list[ClaimRun]:
        """The claims on the object of a claim, with it; it alone where its object is not known."""
        noted = noted_on(claim) is not None
        on = claim.object if noted else _on(claim)
        known = _digest_of(on)
        there = () if known is None else self._claims.of(known)
        found = [each for each in there if each.object == on]
        return found if noted else [*found, claim]

    def on(self, name: bytes) -> list[ClaimRun]:
        """The claims on the object of this digest, in any cache."""
        return [*self._claims.of(name)]

    def remove(self, claim: ClaimRun) -> bool:
        """The claim is forgotten; whether no other is on its object."""
        if (known := noted_on(claim)) is None:
            return True
        for among in self._restless.get(known, {}).values():
            among.claims.pop(claim.claim_id, None)
        last = self._claims.remove(known, claim.claim_id)
        if last:
            self._restless.pop(known, None)
        return last

    def meant(self, event: Event) -> list[ClaimRun]:
        """The claims on the object that the event names, as far as the event says which."""
        if event.object_id is None:
            return []
        there = self._claims.of(digest("object_id", event.object_id))
        return [claim for claim in there if means(event, claim)]

    def restless(self, event: Event, *also: Hashable) -> Restless[ClaimRun] | None:
        """Those of them of which such an event may change anything; None where that is not kept.

        Args:
            also: what distinguishes the event besides its kind, cache and token map.
        """
        known = digest("object_id", event.object_id or "")
        if known not in self._claims:
            return Restless({})  # of objects without a claim nothing is kept
        kept = self._restless.setdefault(known, {})
        key = (event.kind, *(getattr(event, name) for name in _WITHIN), *also)
        if key not in kept:
            if len(kept) >= _MOST_KEPT:
                return None
            there = (each for each in self._claims.of(known) if means(event, each))
            kept[key] = Restless({each.claim_id: each for each in there})
        return kept[key]
