"""A web server that keeps what is posted to it, and answers as a test wants."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TypeVar

__all__ = ["receiving"]

T = TypeVar("T")


@contextmanager
def receiving(
    keep: Callable[[str, Message, bytes], T], codes: tuple[int, ...], answer: bytes = b""
) -> Iterator[tuple[str, list[T]]]:
    """Its address, and what was posted.

    Args:
        keep: makes what is kept of a post of its path, headers and body.
        codes: of the answers, the last one again and again.
        answer: the body of each.
    """
    left, posted = list(codes), list[T]()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posted.append(keep(self.path, self.headers, body))
            self.send_response(left.pop(0) if len(left) > 1 else left[0])
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", posted
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
