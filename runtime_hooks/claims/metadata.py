"""Parses the metadata of a request: claims and releases."""

from __future__ import annotations

from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import ValidationError

from runtime_hooks.claims.qualified import RESERVED
from runtime_hooks.trace.names import PREFIX, identity_text, object_of
from spec.claims.claim import MAX_ID, CacheIdentity, ResidentClaim, explain
from spec.claims.predicates import parse_predicate
from spec.claims.states import Mode
from spec.language.errors import ClaimError, PredicateError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "ACTIONS",
    "CHANGE",
    "CLAIM",
    "DEFAULT_OWNER",
    "HINTS",
    "NO_ADMIT",
    "NULL",
    "ON_ABORT",
    "PIN",
    "RELEASE",
    "RENEW",
    "RESUME",
    "TRY",
    "ModeChange",
    "Renewal",
    "Resume",
    "UnreadableClaim",
    "aside",
    "aside_ahead",
    "check_caller",
    "claim_of",
    "mode_change_of",
    "release_of",
    "renewal_of",
    "resume_of",
]

CLAIM: Final = "resident_claim"
"""The key of a claim among the metadata of a request."""

RELEASE: Final = "release_claim"
"""The key of a release: an object with the `claim_id` and `owner_scope` of a claim."""

RENEW: Final = "renew_claim"
"""The key of a renewal: an object with `claim_id`, the `successor`'s id, its `duration`, and the
`owner_scope`.
"""

CHANGE: Final = "change_mode"
"""The key of a change of the mode: an object with `claim_id`, the `successor`'s id, its
`protection_mode`, `duration` and `priority`, and the `owner_scope`.
"""

TRY: Final = "try_claim"
"""The key of a claim that is not made: the answer says whether it would be accepted."""

ON_ABORT: Final = "on_abort"
"""The field of a claim that says what becomes of it if its request is aborted."""

RESUME: Final = "resume"
"""The field of a claim that says whether it outlives its engine, and the key of the answer."""


class Resume(StrEnum):
    """What becomes of a claim when its engine stops in order and another one starts.

    With RECOMPUTE a successor waits for a request with its prefix. With RESTORE the next engine
    loads the prefix by itself where its tier has it, and else does the same.
    """

    NEVER = "never"
    RECOMPUTE = "recompute"
    RESTORE = "restore"


NO_ADMIT: Final = "no_admit"
"""The key of a boolean: true keeps what the request computes out of the prefix cache."""

PIN: Final = "pin"
"""The key of a pin: an object with `job_id`, `last_step`, `ttl` and `owner_scope`."""

HINTS: Final = "kv_hints"
"""The key of an envelope of KV hints, and of the answer to it (`runtime_hooks.claims.hints`)."""

ACTIONS: Final = (CLAIM, RELEASE, PIN, RENEW, TRY, CHANGE, HINTS)
"""The keys of what is asked for in the name of a scope."""

NULL: Final = object()
"""Stands for a JSON null, which is given, and cannot be used; None means that nothing is."""

DEFAULT_OWNER: Final = "default"
"""The owner scope where callers are not authenticated and the request names none."""

_RENEWS: Final = frozenset({"claim_id", "successor", "duration", "owner_scope"})
_CHANGES: Final = _RENEWS | {"protection_mode", "priority"}
_MOST_FIELDS: Final = 32
_LONGEST: Final = 500  # characters of a reason
_SHOWN: Final = 64  # characters of an id in a reason


class UnreadableClaim(ClaimError):
    """What is stated is no claim; the text may quote any part of it."""


def claim_of(
    raw: object, identity: CacheIdentity, keys: Sequence[bytes], scope: str | None = None
) -> ResidentClaim:
    """Parse a claim, with defaults from the engine.

    Defaults: the engine's cache identity, the object of the prompt's first blocks, the footprint
    that the predicate needs, and the caller's scope as the owner.

    Args:
        raw: the claim as the request states it.
        identity: of this engine's cache; a claim for another cache is rejected.
        keys: the contents of the prompt's whole blocks.
        scope: the authenticated caller; None where callers are not authenticated.

    Raises:
        ClaimError: this is not a claim, or not one for this engine or by this caller.
    """
    check_caller(scope)
    if not isinstance(raw, dict):
        got = repr(raw[:_SHOWN]) if isinstance(raw, str) else f"a {type(raw).__name__}"
        got = "null" if raw is NULL else got
        raise UnreadableClaim(f"{CLAIM} is no object (got {got})", "docs/vllm-claims.md shows one")
    given = raw.get("cache_identity")
    fields = len(raw) + (len(given) if isinstance(given, dict) else 0)
    if fields > _MOST_FIELDS:
        raise ClaimError(f"it has {fields} fields", f"a claim has at most {_MOST_FIELDS}")
    stated: dict[str, Any] = {
        "cache_identity": identity.model_dump(),
        "owner_scope": scope or DEFAULT_OWNER,
        **raw,
    }
    stated.setdefault("footprint_blocks", _needed(stated, identity.block_size))
    stated.setdefault("object_id", _object(stated["footprint_blocks"], keys))
    try:
        claim = ResidentClaim.model_validate(stated)
    except (ValueError, RecursionError) as error:
        raise UnreadableClaim(_why(error, raw)) from None
    if claim.claim_id != claim.claim_id.strip():
        raise ClaimError("its claim_id begins or ends with white space", "remove it")
    if scope is None and claim.owner_scope != claim.owner_scope.strip():
        raise ClaimError("its owner_scope begins or ends with white space", "remove it")
    if RESERVED.search(claim.claim_id):
        raise ClaimError("its claim_id ends as names of the trace alone may", "use another one")
    if claim.cache_identity != identity:
        raise ClaimError("it is for another cache", f"this one is {identity_text(identity)}")
    if scope is not None and claim.owner_scope != scope:
        raise ClaimError(f"{scope} cannot claim for {claim.owner_scope}", "leave owner_scope out")
    return claim


def aside(raw: object) -> tuple[object, bool]:
    """A claim without what it says of itself beside its terms: whether it is kept where its request
    is aborted.

    Raises:
        ClaimError: it says neither that it is kept nor that it is released.
    """
    if not isinstance(raw, dict) or ON_ABORT not in raw:
        return raw, False
    how = raw[ON_ABORT]
    if how not in ("keep", "release"):
        raise ClaimError(f"{ON_ABORT} is neither keep nor release", "leave it out for release")
    return {name: value for name, value in raw.items() if name != ON_ABORT}, how == "keep"


def resume_of(raw: object) -> tuple[object, Resume]:
    """A claim without what it says of the next engine, and that.

    Raises:
        ClaimError: it is none of the known ways.
    """
    if not isinstance(raw, dict) or RESUME not in raw:
        return raw, Resume.NEVER
    how = raw[RESUME]
    if not isinstance(how, str) or how not in set(Resume):
        raise ClaimError(f"its {RESUME} is none", f"give one of {', '.join(Resume)}")
    return {name: value for name, value in raw.items() if name != RESUME}, Resume(how)


def aside_ahead(raw: dict[str, Any]) -> dict[str, Any]:
    """A claim that is registered ahead of its request, without what it says beside its terms.

    Nobody waits for its answer, so that it is kept whatever becomes of a request.

    Raises:
        ClaimError: it asks to be released with a request.
    """
    stated, keep = aside(raw)
    if ON_ABORT in raw and not keep:
        raise ClaimError(
            f"{ON_ABORT} is release, and a claim that is registered ahead ends with no request",
            "leave it out, or give keep",
        )
    assert isinstance(stated, dict)
    return stated


def release_of(raw: object, scope: str | None = None) -> tuple[str, str]:
    """Parse a release: the id of the claim, and the scope that releases it.

    Raises:
        ClaimError: this is not a release, or not one by this caller.
    """
    check_caller(scope)
    if not isinstance(raw, dict) or not {"claim_id"} <= raw.keys() <= {"claim_id", "owner_scope"}:
        raise ClaimError(f"{RELEASE} is no object with a claim_id", "docs/vllm-claims.md shows one")
    claim_id, owner = raw["claim_id"], raw.get("owner_scope", scope or DEFAULT_OWNER)
    if not isinstance(claim_id, str) or not isinstance(owner, str):
        raise ClaimError("the ids are no texts", "give them in quotes")
    _check_owner(owner, scope)
    return claim_id, owner


class Renewal(NamedTuple):
    """A renewal: a claim, the id of the one that follows it, whose both are, and the duration of
    the second; None for that of the first.
    """

    claim_id: str
    successor: str
    owner: str
    duration: str | None


def renewal_of(raw: object, scope: str | None = None) -> Renewal:
    """Parse a renewal.

    Raises:
        ClaimError: this is not a renewal, or not one by this caller.
    """
    check_caller(scope)
    if not isinstance(raw, dict) or not {"claim_id", "successor"} <= raw.keys() <= _RENEWS:
        raise ClaimError(
            f"{RENEW} is no object with claim_id and successor", "docs/vllm-claims.md has one"
        )
    return Renewal(*_followed(raw, scope))


class ModeChange(NamedTuple):
    """A change of the mode: a claim, the id of the one that follows it, who asks for it, and of the
    second claim the duration (None for what is left of the first), the mode, and the priority.
    """

    claim_id: str
    successor: str
    owner: str
    duration: str | None
    mode: Mode
    priority: int | None


def mode_change_of(raw: object, scope: str | None = None) -> ModeChange:
    """Parse a change of the mode.

    Raises:
        ClaimError: this is not one, or not one by this caller.
    """
    check_caller(scope)
    required = {"claim_id", "successor", "protection_mode"}
    if not isinstance(raw, dict) or not required <= raw.keys() <= _CHANGES:
        raise ClaimError(
            f"{CHANGE} is no object with claim_id, successor and protection_mode",
            "docs/vllm-claims.md has one",
        )
    mode, priority = raw["protection_mode"], raw.get("priority")
    if not isinstance(mode, str) or mode not in set(Mode):
        raise ClaimError("its protection_mode is none", f"give one of {', '.join(Mode)}")
    if priority is not None and type(priority) is not int:
        raise ClaimError("its priority is no whole number", "give one, or leave it out")
    return ModeChange(*_followed(raw, scope), Mode(mode), priority)


def _followed(raw: Mapping[str, Any], scope: str | None) -> tuple[str, str, str, str | None]:
    """The id of a claim, that of the claim that follows it, who asks, and the second's duration.

    Raises:
        ClaimError: one of them is none.
    """
    owner = raw.get("owner_scope", scope or DEFAULT_OWNER)
    claim_id, successor, duration = raw["claim_id"], raw["successor"], raw.get("duration")
    if not all(isinstance(i, str) and len(i) <= MAX_ID for i in (claim_id, successor, owner)):
        raise ClaimError("the ids are no texts", f"give at most {MAX_ID} characters in quotes")
    if not isinstance(duration, str | None):
        raise ClaimError("the duration is no text", "give one such as '60 s'")
    _check_owner(owner, scope)
    return claim_id, successor, owner, duration


def _check_owner(owner: str, scope: str | None) -> None:
    if scope is not None and owner != scope:
        raise ClaimError(f"{scope} cannot act for {owner[:_SHOWN]}", "leave owner_scope out")


def check_caller(scope: str | None) -> None:
    """Raise ClaimError where callers are authenticated and this one is unknown."""
    if scope == "":
        raise ClaimError("the caller is not known", "use an API key that has an owner scope")


def _why(error: Exception, raw: Mapping[str, Any]) -> str:
    """What is wrong with a claim, as far as that can be shown.

    A default footprint is mentioned only if nothing else is wrong: the predicate gives it.
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
    """The blocks that the predicate needs; None where it is invalid, which is reported later."""
    text = stated.get("materialization_predicate")
    if not isinstance(text, str):
        return None
    try:
        return parse_predicate(text, block_size=block_size).end
    except PredicateError:
        return None


def _object(footprint: object, keys: Sequence[bytes]) -> str:
    if not isinstance(footprint, int) or not 0 < footprint <= len(keys):
        return f"{PREFIX}unknown"
    return object_of(keys[footprint - 1])
