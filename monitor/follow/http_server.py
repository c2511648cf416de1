"""Serves HTTP from few threads: bounds connections, headers and the time of a request."""

from __future__ import annotations

import hmac
import socket
import threading
from contextlib import suppress
from http.client import LineTooLong
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from monitor.input.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HEADER_BYTES", "MOST_S", "REQUESTS", "Address", "HttpServer", "has_token"]

REQUESTS: Final = 8
"""Requests that are served at once; another is turned away."""

MOST_S: Final = 30.0
"""So long a request may take, its answer included."""

HEADER_BYTES: Final = 32 << 10
"""Most bytes of the line and the headers of a request."""

_TIMEOUT_S: Final = 5.0


class Address(NamedTuple):
    """Where this process listens."""

    host: str
    port: int


def has_token(environ: Mapping[str, Any], token: str | None) -> bool:
    """Whether a request has the token, if one is needed."""
    given = environ.get("HTTP_AUTHORIZATION", "").encode("utf-8", "replace")
    return not token or hmac.compare_digest(given, f"Bearer {token}".encode())


class HttpServer(ThreadingMixIn, WSGIServer):
    """Serves few requests at once, so that whoever opens connections takes no more than that.

    Args:
        name: what a person typed for the address, in errors.

    Raises:
        InputError: the address is taken, or not of this machine.
    """

    daemon_threads = True

    def __init__(self, name: str, address: Address) -> None:
        self.address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self._free = threading.BoundedSemaphore(REQUESTS)
        try:
            super().__init__(address, _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(name, reason, hint="name another address") from None

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return int(self.server_address[1])

    def process_request(self, request: Any, client: Any) -> None:
        """Serve a request in a thread, if there is one to spare."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client: Any) -> None:
        """Serve it for at most `MOST_S` seconds, and spare the thread again."""
        timer = threading.Timer(MOST_S, _cut, (request,))
        timer.daemon = True
        try:
            timer.start()
            super().process_request_thread(request, client)
        finally:
            timer.cancel()
            self._free.release()

    def handle_error(self, request: object, client: object) -> None:
        """A client that went away is no error of ours."""


def _cut(connection: socket.socket) -> None:
    """End a connection, in whichever thread somebody reads from it."""
    with suppress(OSError):  # it has ended meanwhile
        connection.shutdown(socket.SHUT_RDWR)


class _Bounded:
    """The bytes of a request, of which the line and the headers are bounded together."""

    def __init__(self, file: Any) -> None:
        self._file, self._left = file, HEADER_BYTES

    def readline(self, size: int) -> bytes:
        """A line of the headers.

        Raises:
            LineTooLong: they are too long, which is answered by 431.
            ConnectionError: they ended early. http.client would take them for whole.
        """
        line: bytes = self._file.readline(min(size, self._left + 1))
        self._left -= len(line)
        if self._left < 0:
            raise LineTooLong("header")
        if not line.endswith(b"\n"):
            raise ConnectionError
        return line

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _Handler(WSGIRequestHandler):
    """Logs no requests."""

    timeout = _TIMEOUT_S
    server_version, sys_version = "resident-claims", ""

    def setup(self) -> None:
        """Bound what is read of the headers."""
        super().setup()
        self.rfile: Any = _Bounded(self.rfile)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged."""
