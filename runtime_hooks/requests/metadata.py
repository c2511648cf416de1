"""Which claim comes with a request? Metadata of a request, read as a claim of the specification."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from spec.claims.claim import MAX_ID, CacheIdentity, ResidentClaim, explain
from spec.claims.predicates import parse_predicate
from spec.language.errors import ClaimError, PredicateError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "CLAIM",
    "NOBODY",
    "NO_ADMIT",
    "NULL",
    "PIN",
    "PREFIX",
    "RELEASE",
    "check_caller",
    "claim_of",
    "identity_text",
    "name_of",
    "namespace_of",
    "object_of",
    "release_of",
]

CLAIM: Final = "resident_claim"
"""The key of a claim among the metadata of a request."""

RELEASE: Final = "release_claim"
"""The key of a claim that its owner gives up: an object with its `claim_id` and `owner_scope`."""

NO_ADMIT: Final = "no_admit"
"""The key of `true`: what the request computes is not cached for others."""

PIN: Final = "pin"
"""The key of what a request says of its job: `job_id`, `last_step`, `ttl` and `owner_scope`."""

NULL: Final = object()
"""What a request says where it says null, which is something, and nothing of use."""

PREFIX: Final = "prefix:"
"""What the name of an object begins with that is a prefix of a prompt."""

NOBODY: Final = "default"
"""The owner where nobody is authenticated and the request names none."""

_MOST_FIELDS: Final = 32
_LONGEST: Final = 500  # characters of a reason
_SHOWN: Final = 64  # characters of an id in a reason


def claim_of(
    raw: object, identity: CacheIdentity, keys: Sequence[bytes], scope: str | None = None
) -> ResidentClaim:
    """The claim that `raw` states, completed by what the engine knows.

    What may be left out: the cache identity, the object (the prompt's first blocks), the footprint
    (what the predicate needs), and the owner.

    Args:
        identity: of this engine's cache; a claim for another is no claim here.
        keys: the contents of the prompt's whole blocks.
        scope: the caller as authenticated, None where nobody is.

    Raises:
        ClaimError: it is no claim, or none for this engine or this caller; the cause says why.
    """
    check_caller(scope)
    if not isinstance(raw, dict):
        got = repr(raw[:_SHOWN]) if isinstance(raw, str) else f"a {type(raw).__name__}"
        got = "null" if raw is NULL else got
        raise ClaimError(f"{CLAIM} is no object (got {got})", "docs/vllm.md shows one")
    given = raw.get("cache_identity")
    fields = len(raw) + (len(given) if isinstance(given, dict) else 0)
    if fields > _MOST_FIELDS:
        raise ClaimError(f"it has {fields} fields", f"a claim has at most {_MOST_FIELDS}")
    stated: dict[str, Any] = {
        "cache_identity": identity.model_dump(),
        "owner_scope": scope or NOBODY,
        **raw,
    }
    stated.setdefault("footprint_blocks", _needed(stated, identity.block_size))
    stated.setdefault("object_id", _object(stated["footprint_blocks"], keys))
    try:
        claim = ResidentClaim.model_validate(stated)
    except (ValueError, RecursionError) as error:
        raise ClaimError(_why(error, raw)) from None
    if claim.cache_identity != identity:
        raise ClaimError("it is for another cache", f"this one is {identity_text(identity)}")
    if scope is not None and claim.owner_scope != scope:
        raise ClaimError(f"{scope} cannot claim for {claim.owner_scope}", "leave owner_scope out")
    return claim


def release_of(raw: object, scope: str | None = None) -> tuple[str, str]:
    """The claim that `raw` gives up, and in whose name.

    Raises:
        ClaimError: it is no such object, or none of this caller's.
    """
    check_caller(scope)
    if not isinstance(raw, dict) or not {"claim_id"} <= raw.keys() <= {"claim_id", "owner_scope"}:
        raise ClaimError(f"{RELEASE} is no object with a claim_id", "docs/vllm.md shows one")
    claim_id, owner = raw["claim_id"], raw.get("owner_scope", scope or NOBODY)
    if not isinstance(claim_id, str) or not isinstance(owner, str):
        raise ClaimError("the ids are no texts", "give them in quotes")
    if scope is not None and owner != scope:
        raise ClaimError(f"{scope} cannot act for {owner[:_SHOWN]}", "leave owner_scope out")
    return claim_id, owner


def check_caller(scope: str | None) -> None:
    """Raise ClaimError where callers are told, and this one is not known."""
    if scope == "":
        raise ClaimError("the caller is not known", "use an API key that has an owner scope")


def identity_text(identity: CacheIdentity) -> str:
    """The identity as one canonical text, for events; by its digest where it is long."""
    return name_of(json.dumps(identity.model_dump(exclude_none=True), sort_keys=True))


def name_of(text: str) -> str:
    """A name that an event can bear: the text itself, or its digest where it is long or odd."""
    if len(text) <= MAX_ID and text.isprintable() and text:
        return text
    return f"digest:{_digest(text.encode('utf-8', 'surrogatepass'))}"


def _why(error: Exception, raw: Mapping[str, Any]) -> str:
    """What is wrong with a claim, where that can be shown.

    A footprint that was left out is not spoken of where something else is wrong, such as the
    predicate that gives it.
    """
    with suppress(ValueError, RecursionError):
        if isinstance(error, ValidationError):
            lines = explain(error)
            if "footprint_blocks" not in raw:
                others = [line for line in lines if not line.startswith("footprint_blocks:")]
                lines = others or lines
            return " / ".join(lines[:3])[:_LONGEST]
    return "it holds a value that is too large or too deep to be shown"


def _needed(stated: Mapping[str, Any], block_size: int) -> object:
    """The blocks that the predicate needs; None where it is no predicate, which is told later."""
    text = stated.get("materialization_predicate")
    if not isinstance(text, str):
        return None
    try:
        return parse_predicate(text, block_size=block_size).end
    except PredicateError:
        return None


def object_of(key: bytes) -> str:
    """The name of a prefix, by the content of its last block and of all before it."""
    return f"{PREFIX}{_digest(key)}"


def namespace_of(salt: str | None) -> str:
    """The salt of a request's cache, which may be a secret, by its digest."""
    return _digest(salt.encode("utf-8", "surrogatepass")) if salt else ""


def _object(footprint: object, keys: Sequence[bytes]) -> str:
    if not isinstance(footprint, int) or not 0 < footprint <= len(keys):
        return f"{PREFIX}unknown"
    return object_of(keys[footprint - 1])


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
