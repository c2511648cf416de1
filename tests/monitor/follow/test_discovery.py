"""The sockets of an SGLang server are found by what it says of them, on its own host only."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from monitor.follow import discovery
from monitor.follow.discovery import discover, with_replays
from monitor.input.errors import InputError
from spec.language.errors import SpecError

SAYS = {
    "publisher": "zmq",
    "endpoint_host": "10.0.0.9",
    "endpoint_port_base": 5557,
    "topic": "",
    "block_size": 16,
    "dp_size": 2,
    "replay_endpoint_port_base": 6557,
}


@contextmanager
def server(body: bytes, code: int = 200, location: str = "", wait_s: float = 0.0) -> Iterator[str]:
    """A server that answers this to every question."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(wait_s)
            found = self.path == "/server_info"
            self.send_response(code if found else 404)
            if location:
                self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    made = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{made.server_port}"
    finally:
        made.shutdown()
        made.server_close()
        thread.join()


def saying(value: Any) -> bytes:
    return json.dumps({"model_path": "x", "kv_events": value}).encode()


class TestDiscover:
    @pytest.mark.parametrize("path", ["", "/", "/server_info"])
    def test_ranks(self, path: str) -> None:
        """Each rank has sockets of its own, on the host of the server, also if it names another."""
        with server(saying(SAYS)) as url:
            assert discover(url + path) == [
                ("tcp://127.0.0.1:5557", "tcp://127.0.0.1:6557"),
                ("tcp://127.0.0.1:5558", "tcp://127.0.0.1:6558"),
            ]

    def test_no_replay(self) -> None:
        """Without a socket that replays it is empty."""
        with server(saying({**SAYS, "dp_size": 1, "replay_endpoint_port_base": None})) as url:
            assert discover(url) == [("tcp://127.0.0.1:5557", "")]

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            (saying(None), "publishes no KV events"),
            (b"{}", "publishes no KV events"),
            (b"no JSON", "is not understood"),
            (b"[" * 100_000, "is not understood"),
            (saying({**SAYS, "publisher": "null"}), "is not understood"),
            (saying({**SAYS, "dp_size": 10**9}), "is not understood"),
            (saying({**SAYS, "endpoint_port_base": 70_000}), "is not understood"),
            (b" " * (5 << 20), "has over"),
        ],
        ids=range(8),
    )
    def test_refused(self, body: bytes, said: str) -> None:
        """What is not understood is named."""
        with server(body) as url, pytest.raises(InputError, match=said):
            discover(url)

    def test_redirected(self) -> None:
        """No redirection to another server is followed."""
        with (
            server(saying(SAYS)) as other,
            server(b"", 302, f"{other}/server_info") as url,
            pytest.raises(InputError, match="cannot be read: HTTP 302"),
        ):
            discover(url)

    @pytest.mark.parametrize("url", ["http://", "http://[", "http://127.0.0.1:1", "http://a:b/"])
    def test_nobody(self, url: str) -> None:
        """An address without an answer is bad input."""
        with pytest.raises(InputError):
            discover(url)

    @pytest.mark.parametrize(
        "url", ["http://user:hunter2@127.0.0.1:1", "http://:hunter2@h", "http://h?t=hunter2"]
    )
    def test_private(self, url: str) -> None:
        """Passwords and queries are refused, and not shown."""
        with pytest.raises(InputError, match="no address of a server") as caught:
            discover(url)
        assert "hunter2" not in str(caught.value)

    def test_slow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A server that is too slow is not waited for."""
        monkeypatch.setattr(discovery, "_MOST_S", 0.2)
        slow = server(saying(SAYS), wait_s=1.0)
        with slow as url, pytest.raises(InputError, match="no answer within"):
            discover(url)


class TestSources:
    def test_in_place(self) -> None:
        """The sockets of a server stand in its place, with their replays."""
        with server(saying(SAYS)) as url:
            found = with_replays(["tcp://h:1", url, "capture.jsonl"], ["tcp://h:2"])
        assert [*found.items()] == [
            ("tcp://h:1", "tcp://h:2"),
            ("tcp://127.0.0.1:5557", "tcp://127.0.0.1:6557"),
            ("tcp://127.0.0.1:5558", "tcp://127.0.0.1:6558"),
            ("capture.jsonl", ""),
        ]

    def test_replays(self) -> None:
        """There is one `--replay` for each socket that is named, or none."""
        with server(saying(SAYS)) as url:
            assert with_replays(["tcp://h:1", url], [])["tcp://h:1"] == ""
            with pytest.raises(SpecError, match="2 --replay for 1 socket of KV events"):
                with_replays(["tcp://h:1", url], ["tcp://h:2", "tcp://h:3"])

    def test_named_twice(self) -> None:
        """A socket that is named beside its server, or twice, is one source with one replay."""
        with server(saying(SAYS)) as url:
            found = with_replays(["tcp://127.0.0.1:5557", url], ["tcp://127.0.0.1:9"])
        assert [*found.items()] == [
            ("tcp://127.0.0.1:5557", "tcp://127.0.0.1:9"),
            ("tcp://127.0.0.1:5558", "tcp://127.0.0.1:6558"),
        ]
        assert with_replays(["tcp://h:1", "tcp://h:1"], ["tcp://h:2"]) == {"tcp://h:1": "tcp://h:2"}
