"""Checks web addresses that a person named, and fetches one answer from a server: bounded in bytes
and in time, without proxies, and from no other host.
"""

from __future__ import annotations

import time
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import SplitResult, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

__all__ = ["NoRedirect", "fetch", "parts_of"]

_TIMEOUT_S: Final = 5.0  # to connect, and for each piece of an answer
_PIECE: Final = 1 << 16


class NoRedirect(HTTPRedirectHandler):
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
    """The body of the answer to a GET.

    A server that is slow with its headers may take longer than `within_s`: call it in a thread of
    its own where that matters.

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
        with build_opener(ProxyHandler({}), NoRedirect).open(url, timeout=_TIMEOUT_S) as answer:
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
