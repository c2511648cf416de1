"""Answers owners about their own claims over HTTP: GET lists and shows them, PATCH changes the mode
of one, DELETE releases one.

The middleware of `runtime_hooks.scopes` says who calls. An owner sees nothing of other owners: an
id of theirs is answered as one that does not exist.
"""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import unquote_to_bytes

import msgspec
from pydantic import TypeAdapter, ValidationError

from runtime_hooks.claims.metadata import CHANGE, RELEASE, mode_change_of
from runtime_hooks.claims.ownership import CALLING, signed
from runtime_hooks.control.client import Unknown
from runtime_hooks.control.messages import ChangeOwn, List, ReleaseOwn, Show
from runtime_hooks.trace.faults import LOG
from spec.claims.claim import Identifier
from spec.files.json_text import decode_json
from spec.language.errors import ClaimError, SpecError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from runtime_hooks.control.messages import Request
    from runtime_hooks.control.ranks import Reply
    from runtime_hooks.controller.views import EngineView

__all__ = ["PATH", "SCHEMA", "OwnClaims"]

PATH: Final = "/v1/resident_claims"
"""The path of an owner's claims; that of one of them has its id behind it."""

SCHEMA: Final = "resident-claims/own-claims/1"

_AT_ONCE: Final = 2  # questions to the engine; the operator's and the scrapes come beside them
_MOST_WAITING: Final = 64
_LIMIT: Final = 1 << 14  # bytes of a body
_RETRY_S: Final = b"1"
_TYPES: Final = {
    HTTPStatus.BAD_REQUEST: "BadRequestError",
    HTTPStatus.UNAUTHORIZED: "AuthenticationError",
    HTTPStatus.FORBIDDEN: "PermissionDeniedError",
    HTTPStatus.NOT_FOUND: "NotFoundError",
    HTTPStatus.METHOD_NOT_ALLOWED: "BadRequestError",
    HTTPStatus.CONFLICT: "ConflictError",
    HTTPStatus.SERVICE_UNAVAILABLE: "ServiceUnavailableError",
}
_WHY: Final = {
    1: "the engine does not know the caller; try again",
    3: "the engine was too busy to answer in time",
}  # by the code of a command
_ID: Final[TypeAdapter[str]] = TypeAdapter(Identifier)

Answer: TypeAlias = tuple[HTTPStatus, dict[str, Any]]


class _Wrong(Exception):
    """The request is answered with this status and these words."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class OwnClaims:
    """The ASGI application.

    Args:
        ask: asks the engine, or each of its ranks, and waits for the answers; raises SpecError.
    """

    def __init__(self, ask: Callable[[Request], list[Reply]]) -> None:
        self._ask, self._waiting = ask, 0
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="claims-owners")

    async def __call__(
        self, scope: Any, receive: Any, send: Callable[[dict[str, Any]], Awaitable[None]]
    ) -> None:
        """Answer a request for `PATH`, or below it."""
        try:
            status, body = await self._answer(scope, receive)
        except _Wrong as wrong:
            status, body = wrong.status, _error(wrong.status, str(wrong))
        except Exception as fault:
            LOG.error("resident-claims: an owner's question failed", exc_info=fault)
            status = HTTPStatus.SERVICE_UNAVAILABLE
            body = _error(status, "the plugin failed; see the server's log")
        content = json.dumps(body).encode()
        headers = [(b"content-type", b"application/json")]
        headers.append((b"content-length", str(len(content)).encode()))
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers.append((b"allow", b"GET, PATCH, DELETE"))
        elif status is HTTPStatus.SERVICE_UNAVAILABLE:
            headers.append((b"retry-after", _RETRY_S))
        await send({"type": "http.response.start", "status": status.value, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _answer(self, scope: Any, receive: Any) -> Answer:
        owner = _owner(scope)
        claim_id, method = _claim_id(scope), scope["method"]
        if method not in ("GET", "PATCH", "DELETE") or (method != "GET" and claim_id is None):
            raise _Wrong(HTTPStatus.METHOD_NOT_ALLOWED, f"{method} is not for {PATH}")
        if claim_id is None:
            return HTTPStatus.OK, _listed(await self._asked(List(owner)))
        if method == "GET":
            rank, page, *_ = (await self._asked(Show(claim_id, owner)))[0]
            shown = msgspec.to_builtins(page.shown)
            del shown["shared"]  # with whom is nobody else's business
            return HTTPStatus.OK, _body(rank, page.engine, **shown)
        if method == "PATCH":
            return await self._change(owner, {**await _content(receive), "claim_id": claim_id})
        caller = signed(owner, {RELEASE: {"claim_id": claim_id}})
        rank, page, *_ = (await self._asked(ReleaseOwn(claim_id, caller)))[0]
        return HTTPStatus.OK, _body(rank, page.engine, claim_id=claim_id, report=page.report)

    async def _change(self, owner: str, change: dict[str, Any]) -> Answer:
        """Have a claim of another mode follow one."""
        try:
            mode_change_of(change, owner)
        except ClaimError as error:
            raise _Wrong(HTTPStatus.BAD_REQUEST, str(error)) from None
        asked = ChangeOwn(change, signed(owner, {CHANGE: change}))
        rank, page, *_ = (await self._asked(asked))[0]
        if page.rejected:
            raise _Wrong(HTTPStatus.CONFLICT, page.rejected)
        return HTTPStatus.OK, _body(rank, page.engine, claim_id=page.successor, mode=page.mode)

    async def _asked(self, request: Request) -> list[Any]:
        if self._waiting >= _MOST_WAITING:
            raise _Wrong(HTTPStatus.SERVICE_UNAVAILABLE, "too many ask about claims; try again")
        self._waiting += 1
        loop = asyncio.get_running_loop()
        done = self._threads.submit(self._ask, request)
        done.add_done_callback(lambda _: loop.call_soon_threadsafe(self._done))
        try:
            return await asyncio.wrap_future(done)
        except Unknown as unknown:
            raise _Wrong(HTTPStatus.NOT_FOUND, unknown.cause) from None
        except SpecError as error:  # its own words may name files of the server
            said = _WHY.get(getattr(error, "code", 0), "no engine of this server answers")
            raise _Wrong(HTTPStatus.SERVICE_UNAVAILABLE, said) from None

    def _done(self) -> None:
        self._waiting -= 1


def _owner(scope: Any) -> str:
    """The owner scope of who calls."""
    if owner := CALLING.get():
        return owner
    if any(name.lower() == b"authorization" for name, _ in scope["headers"]):
        raise _Wrong(HTTPStatus.FORBIDDEN, "this API key has no owner scope")
    raise _Wrong(HTTPStatus.UNAUTHORIZED, "give an API key that has an owner scope")


def _claim_id(scope: Any) -> str | None:
    """The id behind the path; None where nothing is behind it."""
    behind = scope["path"].removeprefix(scope.get("root_path", "")).removeprefix(PATH)
    if not behind:
        return None
    try:
        unquote_to_bytes(scope.get("raw_path") or b"").decode()
        claim_id: str = _ID.validate_python(behind.removeprefix("/"))
    except UnicodeDecodeError:
        raise _Wrong(HTTPStatus.BAD_REQUEST, "the claim id is not UTF-8") from None
    except ValidationError as error:
        why = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise _Wrong(HTTPStatus.BAD_REQUEST, f"the claim id cannot be one: {why}") from None
    if claim_id != claim_id.strip():
        why = "the claim id begins or ends with white space"
        raise _Wrong(HTTPStatus.BAD_REQUEST, why)
    return claim_id


async def _content(receive: Any) -> dict[str, Any]:
    """The JSON object of a request's body."""
    body, more = b"", True
    while more and len(body) <= _LIMIT:
        message = await receive()
        body += message.get("body", b"")
        more = message["type"] == "http.request" and message.get("more_body", False)
    try:
        content = decode_json(body, object) if len(body) <= _LIMIT else None
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise _Wrong(HTTPStatus.BAD_REQUEST, f"the body is no JSON object of {_LIMIT} bytes")
    return content


def _listed(replies: list[Any]) -> dict[str, Any]:
    """The claims of all ranks, each with its rank; or those of the only engine."""
    claims = [
        {**msgspec.to_builtins(claim), **_ranked(each.rank)}
        for each in replies
        for claim in each.page.claims
    ]
    left_out = sum(each.page.left_out for each in replies)
    if (first := replies[0]).rank is None:
        return _body(None, first.page.engine, claims=claims, left_out=left_out)
    epochs = {str(each.rank): each.page.engine.epoch for each in replies}
    return {"schema": SCHEMA, "epochs": epochs, "claims": claims, "left_out": left_out}


def _body(rank: int | None, engine: EngineView, **more: Any) -> dict[str, Any]:
    """An answer; of the engine it has the epoch alone, and the rank where there are several."""
    return {"schema": SCHEMA, **_ranked(rank), "epoch": engine.epoch, **more}


def _ranked(rank: int | None) -> dict[str, int]:
    return {} if rank is None else {"rank": rank}


def _error(status: HTTPStatus, why: str) -> dict[str, Any]:
    """An error of OpenAI's form."""
    return {"error": {"message": why, "type": _TYPES[status], "param": None, "code": status.value}}
