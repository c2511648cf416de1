"""Checks web addresses that a person named, and fetches from them or posts to them: bounded in
bytes and in time, and at no other host.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, wait
from http.client import HTTPException
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.error import HTTPError
from urllib.parse import SplitResult, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["fetch", "parts_of", "post", "refused_in", "within"]

T = TypeVar("T")

_TIMEOUT_S: Final = 5.0  # to connect, and for each piece of an answer
_PIECE: Final = 1 << 16
_MOST_ANSWER: Final = 1 << 16  # bytes of the answer to a post that are read


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirection: only the server that was named is asked, or posted to."""

    def redirect_request(self, *_: Any) -> None:
        """Return no request, so that the answer is an error."""


def parts_of(url: str) -> SplitResult | None:
    """The parts of an address of HTTP with a host; None where it is no such address."""
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if whole else None


def fetch(url: str, most: int, within_s: float) -> bytes:
    """The body of the answer to a GET, asked for without a proxy.

    A server that is slow with its headers may take longer than `within_s`: call it by `within`
    where that matters.

    Args:
        most: bytes of the body.
        within_s: seconds for the body, from the beginning of the request on.

    Raises:
        OSError: there is no such server, it answers with an error or a redirection, or it is too
            slow.
        ValueError: the answer is too long.
    """
    until = time.monotonic() + within_s
    body = bytearray()
    try:
        with build_opener(ProxyHandler({}), _NoRedirect).open(url, timeout=_TIMEOUT_S) as answer:
            while piece := answer.read1(_PIECE):
                body += piece
                if len(body) > most:
                    raise ValueError(f"the answer has over {most} bytes")
                if time.monotonic() > until:
                    raise TimeoutError(f"no answer within {within_s:.0f} s")
    except HTTPError as error:
        error.close()
        raise OSError(f"HTTP {error.code}") from None
    except HTTPException as error:
        raise OSError(f"no answer in HTTP: {type(error).__name__}") from None
    return bytes(body)


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> bytes:
    """The beginning of the answer to a POST of JSON.

    Args:
        timeout_s: to connect, and for each piece of the answer.

    Raises:
        HTTPError: the answer is an error or a redirection.
        OSError, ValueError, HTTPException: nothing was posted, or no answer came.
    """
    every = {"Content-Type": "application/json", "User-Agent": "resident-claims", **headers}
    request = Request(url, body, every, method="POST")
    with build_opener(_NoRedirect).open(request, timeout=timeout_s) as answer:
        found: bytes = answer.read(_MOST_ANSWER)
    return found


def refused_in(answer: bytes, what: str) -> int:
    """How many records a collector says that it refused, in an answer of success (OTLP/HTTP).

    Args:
        what: `LogRecords` or `Spans`.
    """
    try:
        return int(msgspec.json.decode(answer)["partialSuccess"][f"rejected{what}"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return 0  # usually there is nothing to say


def within(seconds: float, act: Callable[[], T]) -> T:
    """What a function returns or raises; TimeoutError where it takes longer, and goes on."""
    done = Future[T]()

    def run() -> None:
        try:
            done.set_result(act())
        except BaseException as error:
            done.set_exception(error)

    Thread(target=run, daemon=True).start()
    wait([done], seconds)
    if not done.done():
        raise TimeoutError(f"no answer within {seconds:.0f} s")
    return done.result()
