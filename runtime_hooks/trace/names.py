"""Names claims, prefixes, blocks and requests as events do."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from spec.claims.claim import MAX_ID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spec.claims.claim import CacheIdentity, ResidentClaim

__all__ = [
    "PREFIX",
    "cached_blocks",
    "claim_terms",
    "content_keys",
    "identity_text",
    "name_of",
    "namespace_of",
    "object_of",
]

PREFIX: Final = "prefix:"
"""The beginning of the object id of every prefix of a prompt."""

_CONTENT: Final = 12  # bytes of the digest that names a content
_DIGEST: Final = 16  # bytes of any other digest


def name_of(text: str) -> str:
    """The text itself, or its digest where it is too long for an event or not printable."""
    if len(text) <= MAX_ID and text.isprintable() and text:
        return text
    return f"digest:{_digest(text.encode('utf-8', 'surrogatepass'))}"


def identity_text(identity: CacheIdentity) -> str:
    """The cache identity as one canonical text, or its digest where that is too long."""
    return name_of(json.dumps(identity.model_dump(exclude_none=True), sort_keys=True))


def object_of(key: bytes) -> str:
    """The object id of a prefix, from the key of its last block."""
    return f"{PREFIX}{_digest(key)}"


def namespace_of(salt: str | None) -> str:
    """The namespace of a cache salt: its digest, because a salt may be a secret."""
    return _digest(salt.encode("utf-8", "surrogatepass")) if salt else ""


def content_keys(keys: Sequence[bytes]) -> tuple[str, ...]:
    """The field `content_keys` of an event: a digest for each position of a claim."""
    return tuple(hashlib.blake2b(key, digest_size=_CONTENT).hexdigest() for key in keys)


def cached_blocks(places: Sequence[tuple[int, int]], computed_by: str | None) -> dict[str, Any]:
    """The fields of `block_cached`.

    Args:
        places: positions and blocks.
        computed_by: the request that computed the blocks; None where they were found.
    """
    fields: dict[str, Any] = {
        "block_ids": tuple(block for _, block in places),
        "positions": tuple(at for at, _ in places),
    }
    return fields | (
        {"found": True} if computed_by is None else {"request_id": name_of(computed_by)}
    )


def claim_terms(claim: ResidentClaim) -> dict[str, Any]:
    """The fields of the events that introduce a claim."""
    return {
        "claim_id": claim.claim_id,
        "cache_identity": identity_text(claim.cache_identity),
        "object_id": claim.object_id,
        "predicate": str(claim.materialization_predicate),
        "mode": str(claim.protection_mode),
        "owner_scope": claim.owner_scope,
        "duration": None if claim.duration is None else str(claim.duration),
        "priority": claim.priority,
        "footprint": claim.footprint_blocks,
    }


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=_DIGEST).hexdigest()
