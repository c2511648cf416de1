"""Adds the owner scope of a request's API key to the request, as middleware of vLLM's server.

vLLM's engine does not know its callers. The setting `scopes` maps API keys to owner scopes. This
middleware writes the scope of the request's key into its body, with a proof for the engine
(`runtime_hooks.claims.ownership`). An engine with this setting rejects claims without a proof. So
the middleware need not read every body: those without a scope, over the size limit, or that are not
JSON pass unchanged, and the engine rejects their claims.

    vllm serve MODEL --api-key KEY --middleware runtime_hooks.scopes.OwnerScopes
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from runtime_hooks.claims.ownership import CALLER, CALLING, prepare, signed
from runtime_hooks.settings.config import SettingsError, load
from runtime_hooks.trace.faults import LOG

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["OwnerScopes"]

_PARAMETERS: Final = "kv_transfer_params"
_LIMIT: Final = 8 << 20  # bytes of a body that is read; a longer one cannot claim

if TYPE_CHECKING:
    Message: TypeAlias = dict[str, Any]
    Receive: TypeAlias = Callable[[], Awaitable[Message]]
    Send: TypeAlias = Callable[[Message], Awaitable[None]]
    App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]


class OwnerScopes:
    """The ASGI middleware. Where the settings cannot be read no caller has a scope."""

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
        """Pass a request on, with its caller if it has parameters for the engine."""
        http = scope["type"] == "http"
        caller = self._caller(scope) if http else ""
        CALLING.set(caller)  # what the server answers may name the caller's own claims
        if not caller or scope.get("method") != "POST":
            await self._app(scope, receive, send)
            return
        messages, size = [await receive()], 0
        while messages[-1].get("more_body") and size <= _LIMIT:
            size += len(messages[-1].get("body", b""))
            messages.append(await receive())
        whole = all(m["type"] == "http.request" for m in messages)
        if whole and not messages[-1].get("more_body"):
            body = b"".join(m.get("body", b"") for m in messages)
            body = _add_caller(body, caller)
            messages = [{"type": "http.request", "body": body, "more_body": False}]
            length = [(b"content-length", str(len(body)).encode())]
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


def _add_caller(body: bytes, caller: str) -> bytes:
    """The body with its caller added, if it has parameters for the engine."""
    if _PARAMETERS.encode() not in body and b"\\u" not in body:  # a name may be escaped
        return body
    try:
        content = json.loads(body)
        parameters = content.get(_PARAMETERS) if isinstance(content, dict) else None
        if not isinstance(parameters, dict):
            return body
        parameters[CALLER] = signed(caller, parameters)
        return json.dumps(content).encode()
    except (ValueError, RecursionError):
        return body  # the server will answer what is wrong with it


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
