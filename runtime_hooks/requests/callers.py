"""Who calls? What the processes of a server tell each other of that, and why it is believed.

The middleware of the server writes, beside a claim, the scope of the caller with a proof: a keyed
digest (HMAC) of the scope, of all that the request asks for in that scope, and of the time. Its key
is made once for a server, whose processes inherit it. An engine believes a proof once, of exactly
that, and for `WINDOW_S`; where anything is amiss the caller is nobody.

So neither what a client writes nor what was read in a log of requests gives it a scope. It does not
protect from who can read the environment of the server's processes, nor from who sees a proof and
uses it before its own request reaches the engine: that gets what the caller asked for, once, for
another prompt.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import os
import secrets
import time
from typing import TYPE_CHECKING, Any, Final

from runtime_hooks.requests.metadata import CLAIM, NULL, PIN, RELEASE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runtime_hooks.settings.config import Settings

__all__ = ["CALLER", "MOST", "WINDOW_S", "Callers", "prepare", "told"]

CALLER: Final = "resident_claims_caller"
"""The key, among the metadata of a request, of who calls; written by the middleware alone."""

WINDOW_S: Final = 60
"""How long a proof is good, in seconds."""

MOST: Final = 1 << 16
"""Proofs that are believed within `WINDOW_S`, for each is remembered so long."""

_SECRET: Final = "RESIDENT_CLAIMS_SECRET"
_ASKED: Final = (CLAIM, RELEASE, PIN)
_NS: Final = 1_000_000_000


def prepare(settings: Settings) -> None:
    """Have a secret that processes started from here on share, where callers are to be told."""
    if settings.scopes:
        os.environ.setdefault(_SECRET, secrets.token_hex(32))


def told(scope: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Who calls, with the proof, for a request with this metadata.

    Raises:
        ValueError, RecursionError: what is asked for cannot be written as JSON.
    """
    made, asks = time.monotonic_ns(), _digest(metadata)
    proof = _proof(scope, made, asks)
    return {"scope": scope, "made_ns": made, "asks": asks, "proof": proof}


class Callers:
    """The callers of one engine, each believed once.

    Args:
        clock: monotonic time in ns, the same in all processes of a machine.
    """

    def __init__(self, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock = clock
        self._used: dict[str, int] = {}  # proofs, and when each is too old; in the order of that

    def scope_of(self, said: object, metadata: Mapping[str, Any]) -> str:
        """The scope of who sent a request with this metadata; empty where nobody is believed."""
        if not isinstance(said, dict) or not os.environ.get(_SECRET):
            return ""
        scope, made, asks, proof = (said.get(k) for k in ("scope", "made_ns", "asks", "proof"))
        if not (isinstance(scope, str) and isinstance(asks, str) and isinstance(proof, str)):
            return ""
        if not isinstance(made, int):
            return ""
        try:
            right = _proof(scope, made, asks).encode()
            if not hmac.compare_digest(right, proof.encode("utf-8", "replace")):
                return ""  # before what is asked for is written: it may be long
            same = asks == _digest(metadata)
        except (TypeError, ValueError, RecursionError):
            return ""
        return scope if same and self._fresh(proof, made) else ""

    def _fresh(self, proof: str, made: int) -> bool:
        """Whether a proof is new and unused; from now on it is used."""
        now = self._clock()
        for old in [*itertools.takewhile(lambda used: self._used[used] < now, self._used)]:
            del self._used[old]
        fresh = 0 <= now - made <= WINDOW_S * _NS
        if not fresh or proof in self._used or len(self._used) >= MOST:
            return False
        self._used[proof] = now + WINDOW_S * _NS
        return True


def _digest(metadata: Mapping[str, Any]) -> str:
    """All that is asked for in the name of a scope."""
    asked = [None if metadata.get(key) is NULL else metadata.get(key) for key in _ASKED]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _proof(scope: str, made_ns: int, asks: str) -> str:
    secret = os.environ.get(_SECRET, "").encode()
    return hmac.new(secret, json.dumps([scope, made_ns, asks]).encode(), "sha256").hexdigest()
