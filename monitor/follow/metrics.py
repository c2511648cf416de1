"""Serves metrics for Prometheus, and whether the follower is healthy and ready."""

from __future__ import annotations

import hmac
import ipaddress
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spec.installed import how_to_install
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from socket import socket

__all__ = ["Address", "MetricsServer", "address_of", "token_in"]

REQUESTS: Final = 8
"""Requests that are served at once; another is turned away."""

_TIMEOUT_S: Final = 5.0
_TOKEN_BYTES: Final = 4096
_NO_LIB: Final = "prometheus_client is not installed"


class Address(NamedTuple):
    """Where metrics are served."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only processes of this machine reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def address_of(text: str, token: str | None) -> Address:
    """The address that `--metrics` names: PORT, of the loopback interface, or HOST:PORT.

    Raises:
        SpecError: it is none, others than this machine reach it and there is no token, or
            prometheus_client is not installed.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise SpecError(f"--metrics {text}: no port", "give PORT or HOST:PORT, such as 9464")
    found = Address(host, int(port))
    if not found.is_loopback and not token:
        raise SpecError(
            f"--metrics {text} can be read from other machines",
            "serve 127.0.0.1, or name a file with a token by --metrics-token",
        )
    if find_spec("prometheus_client") is None:
        raise SpecError(_NO_LIB, how_to_install("metrics"))
    return found


def token_in(path: Path, option: str = "--metrics-token") -> str:
    """The token in a file, without blanks around it; raises SpecError, which names the option."""
    try:
        with path.open("rb") as file:
            token = file.read(_TOKEN_BYTES).strip().decode("ascii")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no ASCII text"
        raise SpecError(f"{option} {path}: {reason}", "name a file with a token") from None
    if len(token) < 16:
        raise SpecError(f"{option} {path}: under 16 characters", "make a longer one")
    return token


class MetricsServer:
    """Answers /metrics, /healthz and /readyz in threads of its own.

    /metrics asks for the token as `Authorization: Bearer`, where there is one. The others say only
    whether the follower works, and ask for none.

    Args:
        registry: a registry of prometheus_client.
        healthy: why the follower does not work; empty where it does.
        ready: why it does not judge what comes; empty where it does.

    Raises:
        SpecError: the address is taken, or not of this machine.
    """

    def __init__(
        self,
        address: Address,
        token: str | None,
        registry: Any,
        healthy: Callable[[], str],
        ready: Callable[[], str],
    ) -> None:
        from prometheus_client import generate_latest

        def metrics() -> tuple[int, bytes]:
            return 200, generate_latest(registry)

        pages = {
            "/metrics": metrics,
            "/healthz": lambda: _state(healthy()),
            "/readyz": lambda: _state(ready()),
        }
        try:
            self._server = _Server(address, _handler(pages, token))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            cause = f"--metrics {address.host}:{address.port}: {reason}"
            raise SpecError(cause, "name another address") from None
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    """Serves few requests at once, so that whoever opens connections takes no more than that."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: Address, handler: type[BaseHTTPRequestHandler]) -> None:
        import socket

        self.address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self._free = threading.BoundedSemaphore(REQUESTS)
        super().__init__(address, handler)

    def process_request(self, request: socket | tuple[bytes, socket], client: Any) -> None:
        """Serve a request in a thread, if there is one to spare."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: socket | tuple[bytes, socket], client: Any) -> None:
        """Serve it, and spare the thread again."""
        try:
            super().process_request_thread(request, client)
        finally:
            self._free.release()

    def handle_error(self, request: object, client: object) -> None:
        """A client that went away is no error of ours."""


def _handler(
    pages: dict[str, Callable[[], tuple[int, bytes]]], token: str | None
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _TIMEOUT_S
        server_version, sys_version = "resident-claims", ""

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            page = pages.get(path)
            if page is None:
                self._answer(404, b"not found\n")
            elif path == "/metrics" and token and not self._may(token):
                self._answer(401, b"a token is needed\n")
            else:
                self._answer(*page())

        def _may(self, token: str) -> bool:
            given = self.headers.get("Authorization", "").removeprefix("Bearer ")
            return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())

        def _answer(self, code: int, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Requests are not logged."""

    return Handler


def _state(why: str) -> tuple[int, bytes]:
    return (503, why.encode() + b"\n") if why else (200, b"ok\n")
