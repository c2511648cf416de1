"""Authenticates the callers of an engine by proofs that its server writes into requests.

The server's middleware adds to a request the owner scope of the caller, with a proof: a keyed
digest (HMAC) of the scope, of everything that the request asks for in that scope, and of the time.
The server makes the key once, and its processes inherit it. The engine accepts a proof once, for
exactly this content, within `WINDOW_S`. In any other case the caller is unknown.

So a client cannot take a scope, by its own words or with a logged request. This does not protect
against someone who can read the environment of the server's processes. Nor does it protect against
someone who sees a proof and uses it before the original request reaches the engine: they get what
that request asked for, once, for another prompt.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import os
import secrets
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from runtime_hooks.claims.metadata import ACTIONS, NULL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runtime_hooks.settings.config import Settings

__all__ = ["CALLER", "CALLING", "MOST", "WINDOW_S", "Callers", "prepare", "signed"]

CALLER: Final = "resident_claims_caller"
"""The key of the caller among the metadata of a request; only the middleware writes it."""

CALLING: Final[ContextVar[str]] = ContextVar("resident_claims_calling", default="")
"""The scope of the caller of the HTTP request that is being answered; empty where it is unknown."""

WINDOW_S: Final = 60
"""How long a proof is valid, in seconds."""

MOST: Final = 1 << 16
"""The most proofs that are accepted within `WINDOW_S`; each is remembered that long."""

_SECRET: Final = "RESIDENT_CLAIMS_SECRET"
_NS: Final = 1_000_000_000


def prepare(settings: Settings) -> None:
    """Make the key, for this process and those that it starts, where callers are authenticated."""
    if settings.scopes:
        os.environ.setdefault(_SECRET, secrets.token_hex(32))


def signed(scope: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The caller of a request with this metadata, with the proof.

    Raises:
        ValueError, RecursionError: the metadata cannot be written as JSON.
    """
    made, asks = time.monotonic_ns(), _digest(metadata)
    proof = _proof(scope, made, asks)
    return {"scope": scope, "made_ns": made, "asks": asks, "proof": proof}


class Callers:
    """Checks the proofs of callers for one engine, and remembers those that were used.

    Args:
        clock: monotonic time in ns, the same in all processes of a machine.
    """

    def __init__(self, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock = clock
        self._used: dict[
            str, int
        ] = {}  # used proofs by the time in ns when each is too old, in order

    def scope_of(self, caller: object, metadata: Mapping[str, Any]) -> str:
        """The owner scope of the caller; empty where it is unknown."""
        if not isinstance(caller, dict) or not os.environ.get(_SECRET):
            return ""
        scope, made, asks, proof = (caller.get(k) for k in ("scope", "made_ns", "asks", "proof"))
        if not (isinstance(scope, str) and isinstance(asks, str) and isinstance(proof, str)):
            return ""
        if not isinstance(made, int):
            return ""
        try:
            right = _proof(scope, made, asks).encode()
            if not hmac.compare_digest(right, proof.encode("utf-8", "replace")):
                return ""  # before the digest of the metadata, which may be long
            same = asks == _digest(metadata)
        except (TypeError, ValueError, RecursionError):
            return ""
        return scope if same and self._fresh(proof, made) else ""

    def _fresh(self, proof: str, made: int) -> bool:
        """Whether a proof is recent and unused; it counts as used from now on."""
        now = self._clock()
        for old in [*itertools.takewhile(lambda used: self._used[used] < now, self._used)]:
            del self._used[old]
        fresh = 0 <= now - made <= WINDOW_S * _NS
        if not fresh or proof in self._used or len(self._used) >= MOST:
            return False
        self._used[proof] = now + WINDOW_S * _NS
        return True


def _digest(metadata: Mapping[str, Any]) -> str:
    """A digest of everything that is asked for in the name of a scope."""
    asked = [None if metadata.get(key) is NULL else metadata.get(key) for key in ACTIONS]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _proof(scope: str, made_ns: int, asks: str) -> str:
    secret = os.environ.get(_SECRET, "").encode()
    return hmac.new(secret, json.dumps([scope, made_ns, asks]).encode(), "sha256").hexdigest()
