"""Who calls? The API key of a request to vLLM's server, told to the engine as an owner scope.

vLLM's engine learns nothing of its callers. This middleware for its server writes into the body of
a request, beside the claim, the scope that the setting `scopes` has for the request's API key, with
a proof that only the processes of this server can make. An engine with that setting takes claims
from nobody else, so what gets past the middleware is turned away.

    vllm serve MODEL --api-key KEY --middleware runtime_hooks.scopes.OwnerScopes
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from runtime_hooks.config import SettingsError, load
from runtime_hooks.faults import LOG

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from runtime_hooks.config import Settings

__all__ = ["CALLER", "OwnerScopes", "prepare", "scope_of"]

CALLER: Final = "resident_claims_caller"
"""The key, among the metadata of a request, of who calls; written by the middleware alone."""

_SECRET: Final = "RESIDENT_CLAIMS_SECRET"
_PARAMETERS: Final = "kv_transfer_params"
_LIMIT: Final = 8 << 20  # bytes of a body that is read; whoever sends more claims nothing

if TYPE_CHECKING:
    Message: TypeAlias = dict[str, Any]
    Receive: TypeAlias = Callable[[], Awaitable[Message]]
    Send: TypeAlias = Callable[[Message], Awaitable[None]]
    App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]


def prepare(settings: Settings) -> None:
    """Have a secret that processes started from here on share, where callers are to be told."""
    if settings.scopes:
        os.environ.setdefault(_SECRET, secrets.token_hex(32))


def scope_of(said: object) -> str:
    """The scope of a caller, as the middleware wrote it; empty where it did not."""
    if not isinstance(said, dict):
        return ""
    scope, proof = said.get("scope"), said.get("proof")
    if not isinstance(scope, str) or not isinstance(proof, str) or not os.environ.get(_SECRET):
        return ""
    return scope if hmac.compare_digest(_proof(scope), proof.encode("utf-8", "replace")) else ""


class OwnerScopes:
    """ASGI middleware; where the settings cannot be read nobody has a scope."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._scopes: dict[bytes, str] = {}
        try:
            settings = load()
        except SettingsError as error:
            LOG.error("resident-claims: no caller has a scope: %s", error)
            return
        prepare(settings)
        for key, scope in settings.scopes.items():
            self._scopes[_digest(key.encode("utf-8", "surrogatepass"))] = scope

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, with its caller where it has parameters for the engine."""
        if scope["type"] != "http" or scope.get("method") != "POST":
            await self._app(scope, receive, send)
            return
        messages, size = [await receive()], 0
        while messages[-1].get("more_body") and size <= _LIMIT:
            size += len(messages[-1].get("body", b""))
            messages.append(await receive())
        whole = all(m["type"] == "http.request" for m in messages)
        if whole and not messages[-1].get("more_body"):
            body = b"".join(m.get("body", b"") for m in messages)
            told = self._tell(body, self._caller(scope))
            messages = [{"type": "http.request", "body": told, "more_body": False}]
            length = [(b"content-length", str(len(told)).encode())]
            headers = [(k, v) for k, v in scope["headers"] if k.lower() != b"content-length"]
            scope = {**scope, "headers": [*headers, *length]}
        waiting = iter(messages)

        async def replay() -> Message:
            message = next(waiting, None)
            return await receive() if message is None else message

        await self._app(scope, replay, send)

    def _caller(self, scope: Message) -> str:
        """The scope of the request's API key; empty where it has none."""
        given = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
        kind, _, key = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        return self._scopes.get(_digest(key), "") if kind.lower() == b"bearer" else ""

    def _tell(self, body: bytes, caller: str) -> bytes:
        """The body with its caller, where it is one for an engine."""
        if _PARAMETERS.encode() not in body and b"\\u" not in body:  # a name may be escaped
            return body
        try:
            said = json.loads(body)
            parameters = said.get(_PARAMETERS) if isinstance(said, dict) else None
            if not isinstance(parameters, dict):
                return body
            parameters.pop(CALLER, None)
            if caller:
                parameters[CALLER] = {"scope": caller, "proof": _proof(caller).decode()}
            return json.dumps(said).encode()
        except (ValueError, RecursionError):
            return body  # the server will say what is wrong with it


def _proof(scope: str) -> bytes:
    secret = os.environ.get(_SECRET, "").encode()
    return hmac.new(secret, scope.encode("utf-8", "replace"), "sha256").hexdigest().encode()


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
