"""Names claims, prefixes, blocks and requests as events do."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spec.claims.claim import MAX_ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spec.claims.claim import CacheIdentity, ResidentClaim

__all__ = [
    "PREFIX",
    "Place",
    "cached_blocks",
    "claim_terms",
    "content_keys",
    "identity_text",
    "name_of",
    "namespace_of",
    "object_of",
    "placed",
    "reason_of",
    "without_copies",
]

PREFIX: Final = "prefix:"
"""The beginning of the object id of every prefix of a prompt."""

_KEY: Final = 12  # bytes of a block hash that name its content
_DIGEST: Final = 16  # bytes of a digest


class Place(NamedTuple):
    """A block of a prompt: its position, the physical block, and the group of caches."""

    at: int
    block: int
    group: int = 0


def name_of(text: str) -> str:
    """The text itself, or its digest where it is too long for an event or not printable."""
    if len(text) <= MAX_ID and text.isprintable() and text:
        return text
    return f"digest:{_digest(text.encode('utf-8', 'surrogatepass'))}"


def reason_of(text: str) -> str | None:
    """A reason as an event states it, on one line and not too long; None where it is empty."""
    shown = "".join(c if c.isprintable() else "?" for c in text[:MAX_ID])
    return shown or None


def identity_text(identity: CacheIdentity) -> str:
    """The cache identity as one canonical text, or its digest where that is too long."""
    return name_of(json.dumps(identity.model_dump(exclude_none=True), sort_keys=True))


def object_of(key: bytes) -> str:
    """The object id of a prefix, from the key of its last block."""
    return f"{PREFIX}{_digest(key)}"


def namespace_of(salt: str | None) -> str:
    """The namespace of a cache salt: its digest, because a salt may be a secret."""
    return _digest(salt.encode("utf-8", "surrogatepass")) if salt else ""


def content_keys(keys: Iterable[bytes]) -> tuple[str, ...]:
    """The field `keys` of an event: the beginnings of block hashes of the engine, in hexadecimal.

    The end of a block hash is not random: vLLM puts the number of the cache group there.
    """
    return tuple(key[:_KEY].hex() for key in keys)


def placed(places: Sequence[Place]) -> dict[str, Any]:
    """The fields that say where contents are, in one group of caches."""
    fields: dict[str, Any] = {
        "block_ids": tuple(place.block for place in places),
        "positions": tuple(place.at for place in places),
    }
    return {**fields, "group": places[0].group} if places[0].group else fields


def cached_blocks(
    places: Sequence[Place], computed_by: str | None, keys: Iterable[bytes] = ()
) -> dict[str, Any]:
    """The fields of `block_cached`.

    Args:
        places: of one group of caches.
        computed_by: the request that computed the blocks; None where they were found.
        keys: the contents of the blocks, where no claim states them.
    """
    fields = placed(places)
    if named := content_keys(keys):
        fields["keys"] = named
    return fields | (
        {"found": True} if computed_by is None else {"request_id": name_of(computed_by)}
    )


def without_copies(places: Iterable[Place]) -> Iterable[Sequence[Place]]:
    """Blocks in parts of one group that have each position at most once, as an event needs them.

    A content may be in several blocks. The first part of a group has every position of it.
    """
    groups: dict[int, list[dict[int, Place]]] = {}
    for place in places:
        parts = groups.setdefault(place.group, [])
        part = next((part for part in parts if place.at not in part), None)
        if part is None:
            parts.append(part := {})
        part[place.at] = place
    return (list(part.values()) for parts in groups.values() for part in parts)


def claim_terms(claim: ResidentClaim, blocks: int | None = None) -> dict[str, Any]:
    """The fields of the events that introduce a claim.

    Args:
        blocks: that it takes in all groups of caches; None where it was rejected.
    """
    return {
        "claim_id": claim.claim_id,
        "cache_identity": identity_text(claim.cache_identity),
        "object_id": claim.object_id,
        "predicate": str(claim.materialization_predicate),
        "mode": str(claim.protection_mode),
        "owner_scope": claim.owner_scope,
        "duration": None if claim.duration is None else str(claim.duration),
        "priority": claim.priority,
        "footprint": claim.footprint_blocks if blocks is None else blocks,
    }


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=_DIGEST).hexdigest()
