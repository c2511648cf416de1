"""Log records that are posted are followed: none is lost in silence, and the numbers decide."""

from __future__ import annotations

import gzip
import json
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from monitor.check.files import check_files
from monitor.follow import http_server
from monitor.follow.addresses import source_of
from monitor.follow.buffer import Batch, Buffer, Outlet, WhenFull
from monitor.follow.http_server import Address
from monitor.follow.otlp_receiver import BODY_BYTES, PATH, REFUSED, OtlpReceiver
from monitor.follow.verdict_line import ClaimLine, VerdictLine
from monitor.input.errors import InputError
from monitor.input.otlp_requests import Form
from spec.stream.outcome import ModeVerdict
from tests.monitor.follow.processes import finish, following, wait_for
from tests.monitor.follow.reading import Read, reading
from tests.monitor.follow.traces import trace
from tests.monitor.input.otlp_lines import FORMS, exported
from tests.monitor.input.test_otlp_requests import in_protobuf

SAMPLE = Path(__file__).parents[3] / "monitor" / "samples" / "hard_protected_refusal.jsonl"
LINES = [line.strip() for line in trace(3)]
TOKEN = "0123456789abcdef"
JSON = {"Content-Type": "application/json; charset=utf-8"}


def request_of(lines: list[bytes]) -> bytes:
    """A request of these lines, as the collector's file receiver makes log records of them."""
    return exported({"body": {"stringValue": line.decode()}} for line in lines)


class Answer(NamedTuple):
    code: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def post(
    port: int,
    body: bytes,
    headers: dict[str, str] = JSON,
    *,
    path: str = PATH,
    method: str = "POST",
) -> Answer:
    link = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        link.request(method, path, body, headers)
        answer: HTTPResponse = link.getresponse()
        return Answer(answer.status, dict(answer.headers), answer.read())
    finally:
        link.close()


class Receiving(NamedTuple):
    port: int
    read: Read


@contextmanager
def receiver(token: str | None = None) -> Iterator[Receiving]:
    made = OtlpReceiver("s", Address("127.0.0.1", 0), token)
    with reading(made) as read:
        yield Receiving(made.port, read)


class TestAccepted:
    @pytest.mark.parametrize("packed", [False, True])
    @pytest.mark.parametrize("form", Form)
    def test_lines(self, form: Form, packed: bool) -> None:
        """With the answer the lines are in the buffer, whatever the encoding."""
        body = request_of(LINES)
        body = body if form is Form.JSON else in_protobuf(body)
        headers = {"Content-Type": str(form)} | ({"Content-Encoding": "gzip"} if packed else {})
        with receiver() as (port, read):
            answer = post(port, gzip.compress(body) if packed else body, headers)
            assert (200, str(form)) == (answer.code, answer.headers["Content-Type"])
            assert (b"{}" if form is Form.JSON else b"") == answer.body
            assert LINES == read.lines
            assert [] == read.breaks

    def test_unread(self) -> None:
        """Log records that cannot be read are counted in the answer, and lines all the same."""
        others = [{"body": {"stringValue": "started"}}, {"body": {"intValue": "7"}}]
        with receiver() as (port, read):
            answer = post(port, exported([FORMS["map"](json.loads(LINES[0])), *others]))
            partial = answer.json["partialSuccess"]
            assert (200, "2") == (answer.code, partial["rejectedLogRecords"])
            assert "number 2" in partial["errorMessage"]
            assert "started" not in partial["errorMessage"]
            assert 3 == len(read.lines)

    def test_nothing(self) -> None:
        """An empty request is accepted."""
        with receiver() as (port, read):
            assert 200 == post(port, b"{}").code
            assert [] == read.items


BOMB = gzip.compress(b" " * (BODY_BYTES + 1), mtime=0)
GZIP = JSON | {"Content-Encoding": "gzip"}


class TestRefused:
    @pytest.mark.parametrize(
        ("code", "body", "headers"),
        [
            (400, b"{", JSON),
            (400, b"[" * 10**6, JSON),
            (400, b"no gzip", GZIP),
            (400, gzip.compress(b"{}", mtime=0)[:-4], GZIP),
            (400, gzip.compress(b"{}", mtime=0)[:-8] + b"12345678", GZIP),
            (413, BOMB, GZIP),
            (413, b" " * (BODY_BYTES + 1), JSON),
            (411, b"", JSON | {"Transfer-Encoding": "chunked"}),
            (411, b"", JSON | {"Content-Length": "-1"}),
            (411, b"", JSON | {"Content-Length": "9" * 5000}),
            (415, b"{}", {"Content-Type": "text/plain"}),
            (415, b"{}", {}),
            (415, b"{}", JSON | {"Content-Encoding": "zstd"}),
        ],
    )
    def test_is_loss(self, code: int, body: bytes, headers: dict[str, str]) -> None:
        """What the sender will not send again may be missing from then on; it is said once."""
        with receiver() as (port, read):
            for _ in range(2):
                answer = post(port, body, headers)
                assert code == answer.code
                assert answer.json["message"]
            assert [REFUSED] == read.breaks
            assert 200 == post(port, request_of(LINES)).code
            assert code == post(port, body, headers).code
            assert [REFUSED, REFUSED] == read.breaks
            assert LINES == read.lines

    @pytest.mark.parametrize(
        ("code", "method", "path"),
        [(404, "POST", "/v1/traces"), (404, "POST", "/"), (405, "GET", PATH), (405, "PUT", PATH)],
    )
    def test_no_logs(self, code: int, method: str, path: str) -> None:
        """What is no log records is refused, and nothing is missing."""
        with receiver() as (port, read):
            assert code == post(port, b"{}", path=path, method=method).code
            assert [] == read.items

    def test_token(self) -> None:
        """Where there is a token, whoever has not got it neither delivers nor breaks anything."""
        with receiver(TOKEN) as (port, read):
            for given in ({}, {"Authorization": TOKEN}, {"Authorization": f"Bearer {TOKEN}x"}):
                assert 401 == post(port, b"{", JSON | given).code
            assert [] == read.items
            given = {"Authorization": f"Bearer {TOKEN}"}
            assert 200 == post(port, request_of(LINES), JSON | given).code
            assert LINES == read.lines

    @pytest.mark.parametrize("when_full", WhenFull)
    def test_full(self, when_full: WhenFull) -> None:
        """At a full buffer the sender is asked to come again: nothing is dropped."""
        made = OtlpReceiver("s", Address("127.0.0.1", 0), None)
        buffer, stopping = Buffer(when_full, 100), threading.Event()
        thread = threading.Thread(target=made.run, args=(Outlet("s", buffer, stopping),))
        thread.start()
        assert 200 == post(made.port, request_of(LINES[:9])).code
        answer = post(made.port, request_of(LINES[9:]))
        assert (503, "1") == (answer.code, answer.headers["Retry-After"])
        assert LINES[:9] == _lines(buffer)
        assert 200 == post(made.port, request_of(LINES[9:])).code
        assert LINES[9:] == _lines(buffer)
        buffer.close()
        assert 503 == post(made.port, request_of(LINES)).code
        stopping.set()
        thread.join(10.0)
        assert not thread.is_alive()


def _lines(buffer: Buffer) -> list[bytes | None]:
    item = buffer.get(0)
    assert isinstance(item, Batch)
    assert buffer.get(0) is None
    return [*item.lines]


def _is_cut(link: socket.socket) -> bool:
    """Whether a connection takes no byte more."""
    try:
        link.sendall(b" ")
    except OSError:
        return True
    return False


def _sent(port: int, data: bytes) -> bytes:
    """What is answered to these bytes, after which nothing is sent, and the connection is left."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as link:
        link.sendall(data)
        found = b""
        while data := link.recv(1 << 16):
            found += data
        return found


class TestHostile:
    def test_slow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A request that takes too long is cut off, however lively its sender is."""
        monkeypatch.setattr(http_server, "MOST_S", 0.3)
        with receiver() as (port, read):
            for head in (f"POST {PATH} HTTP/1.1\r\nA: ", f"POST {PATH} HTTP/1.1\r\n{_HEAD}\r\n"):
                with socket.create_connection(("127.0.0.1", port), timeout=30) as link:
                    link.sendall(head.encode())
                    wait_for(lambda: _is_cut(link))
            assert 200 == post(port, request_of(LINES)).code
            assert LINES == read.lines
            assert [] == read.breaks

    def test_half_a_body(self) -> None:
        """A body that ends early is dropped: its sender has no answer, and sends it again."""
        with receiver() as (port, read):
            with socket.create_connection(("127.0.0.1", port), timeout=30) as link:
                link.sendall(f"POST {PATH} HTTP/1.1\r\n{_HEAD}\r\n{{".encode())
                link.shutdown(socket.SHUT_WR)
                assert b" 408 " in link.recv(1 << 16)
            assert [] == read.items

    @pytest.mark.parametrize(
        "headers", ["A: " + "x" * http_server.HEADER_BYTES, "A: b\r\n" * 101, "A: xx\r\n" * 9000]
    )
    def test_headers(self, headers: str) -> None:
        """Headers are bounded, together and in number."""
        with receiver() as (port, read):
            answer = _sent(port, f"POST {PATH} HTTP/1.1\r\n{headers}\r\n\r\n".encode())
            assert not answer or b" 431 " in answer.splitlines()[0]
            assert 200 == post(port, request_of(LINES)).code
            assert LINES == read.lines

    def test_connections(self) -> None:
        """Connections beyond a number are turned away, and come in once others have ended."""
        with receiver() as (port, read):
            links = [
                socket.create_connection(("127.0.0.1", port)) for _ in range(http_server.REQUESTS)
            ]
            time.sleep(1.0)
            with pytest.raises((OSError, ConnectionError)):
                post(port, request_of(LINES))
            for link in links:
                link.close()

            def accepted() -> bool:
                try:
                    return 200 == post(port, request_of(LINES)).code
                except OSError:
                    return False

            wait_for(accepted)
            assert LINES == read.lines


_HEAD = "Content-Type: application/json\r\nContent-Length: 1000\r\n"


class TestAddress:
    def test_beyond_this_machine(self) -> None:
        """An address that others reach needs a token."""
        with pytest.raises(InputError, match="--listen-token"):
            source_of("otlp:0.0.0.0:4318", until_eof=False)

    @pytest.mark.parametrize("text", ["otlp:", "otlp:4318", "otlp:localhost:0", "otlp:h:x"])
    def test_none(self, text: str) -> None:
        """What is no address is refused."""
        with pytest.raises(InputError, match=r"otlp:127\.0\.0\.1:4318"):
            source_of(text, until_eof=False)

    def test_no_end(self) -> None:
        """What is posted has no end."""
        with pytest.raises(InputError, match="--until-eof"):
            source_of("otlp:localhost:4318", until_eof=True)

    def test_taken(self) -> None:
        """An address that another process listens on is bad input."""
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            pytest.raises(InputError, match="in use"),
        ):
            source_of(f"otlp:127.0.0.1:{server.getsockname()[1]}", until_eof=False)


VERDICT = msgspec.json.Decoder(VerdictLine)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Follower:
    """A process that follows what is posted to a port, and what it concluded."""

    def __init__(self, process: subprocess.Popen[str], port: int, verdicts: Path) -> None:
        self._process, self.port, self._verdicts = process, port, verdicts

    def post(self, lines: list[bytes]) -> None:
        """Post lines, and again until it listens."""

        def accepted() -> bool:
            try:
                return 200 == post(self.port, request_of(lines)).code
            except OSError:
                return False

        wait_for(accepted)

    def refuse(self, lines: list[bytes]) -> None:
        """Post lines in an encoding that it does not read."""
        headers = JSON | {"Content-Encoding": "br"}
        assert 415 == post(self.port, request_of(lines), headers).code

    def end(self) -> tuple[int, list[str]]:
        """The exit code, and the breaks that it reports."""
        code, out, _ = finish(self._process)
        return code, json.loads(out.splitlines()[-1]).get("breaks", [])

    def claims(self) -> dict[tuple[str, str], ModeVerdict]:
        """The verdicts, by stream and claim."""
        lines = map(VERDICT.decode, self._verdicts.read_bytes().splitlines())
        return {(e.stream, e.claim_id): e.verdict for e in lines if isinstance(e, ClaimLine)}


@contextmanager
def follower(folder: Path, *args: object, port: int = 0) -> Iterator[Follower]:
    port, verdicts = port or free_port(), folder / "verdicts.jsonl"
    source = f"otlp:127.0.0.1:{port}"
    with following(source, "--verdicts", verdicts, "--format", "json", *args) as process:
        yield Follower(process, port, verdicts)


def checked(path: Path, lines: list[bytes]) -> dict[tuple[str, str], ModeVerdict]:
    """The verdicts of a check of a file with these lines."""
    path.write_bytes(b"\n".join(lines) + b"\n")
    return {(each.stream, each.claim_id): each.verdict for each in check_files(path).claims}


def batches(lines: list[bytes]) -> list[list[bytes]]:
    return [lines[at : at + 512] for at in range(0, len(lines), 512)]


class TestFollowed:
    def test_as_checked(self, tmp_path: Path) -> None:
        """Ten thousand events come to the verdicts of a check of their file."""
        lines = [line.strip() for line in trace(900)]
        assert len(lines) > 10_000
        with follower(tmp_path) as found:
            for batch in batches(lines):
                found.post(batch)
            assert (1, []) == found.end()
        due = checked(tmp_path / "trace.jsonl", lines)
        assert {ModeVerdict.KEPT, ModeVerdict.VIOLATED} <= {*due.values()}
        assert due == found.claims()

    def test_two_senders(self, tmp_path: Path) -> None:
        """Two streams that are posted at the same time are judged as if each were alone."""
        streams = [
            [line.strip().replace(b'"engine"', name) for line in trace(90)]
            for name in (b'"one"', b'"two"')
        ]
        with follower(tmp_path) as found:

            def send(lines: list[bytes]) -> None:
                for at in range(0, len(lines), 10):
                    found.post(lines[at : at + 10])

            threads = [threading.Thread(target=send, args=(each,)) for each in streams]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert (1, []) == found.end()
        due = checked(tmp_path / "trace.jsonl", [*streams[0], *streams[1]])
        assert due == found.claims()

    def test_kept(self, tmp_path: Path) -> None:
        """A stream with all of its numbers can be kept."""
        with follower(tmp_path) as found:
            found.post(SAMPLE.read_bytes().splitlines())
            assert (0, []) == found.end()

    def test_no_numbers(self, tmp_path: Path) -> None:
        """A stream without numbers is never kept, though it came whole and in order."""
        lines = [json.loads(line) for line in SAMPLE.read_bytes().splitlines()]
        for line in lines:
            del line["sequence"]
        with follower(tmp_path) as found:
            found.post([msgspec.json.encode(line) for line in lines])
            code, breaks = found.end()
        assert 3 == code
        assert "lines have no sequence" in breaks[0]

    @pytest.mark.parametrize("window", [False, True])
    def test_other_order(self, tmp_path: Path, window: bool) -> None:
        """Requests that came in another order, or twice, are put back within a window only."""
        lines = SAMPLE.read_bytes().splitlines()
        half = len(lines) // 2
        with follower(tmp_path, *(("--reorder", "100") if window else ())) as found:
            for part in (lines[half:], lines[:half], lines[:half]):
                found.post(part)
            code, breaks = found.end()
        assert (0 if window else 3) == code
        assert bool(breaks) is not window

    def test_last_request_refused(self, tmp_path: Path) -> None:
        """A refused request breaks the streams, also where none follows that could show a gap."""
        lines = SAMPLE.read_bytes().splitlines()
        with follower(tmp_path) as found:
            found.post(lines)
            found.refuse(lines[-1:])
            code, breaks = found.end()
        assert (3, True) == (code, REFUSED in breaks[0])

    def test_refused_and_sent_again(self, tmp_path: Path) -> None:
        """Where the numbers show that nothing is missing, a refused request breaks nothing."""
        lines = SAMPLE.read_bytes().splitlines()
        with follower(tmp_path) as found:
            found.post(lines[:4])
            found.refuse(lines[4:])
            found.post(lines[4:])
            assert (0, []) == found.end()

    @pytest.mark.parametrize("missing", [0, 1])
    def test_restart(self, tmp_path: Path, missing: int) -> None:
        """After a restart the numbers show whether lines came meanwhile."""
        lines, port = SAMPLE.read_bytes().splitlines(), free_port()
        for part in (lines[:4], lines[4 + missing :]):
            with follower(tmp_path, "--checkpoint", tmp_path / "c", port=port) as found:
                found.post(part)
                code, breaks = found.end()
        assert (3 if missing else 0, bool(missing)) == (code, bool(breaks))

    def test_unread(self, tmp_path: Path) -> None:
        """A log record that is no event breaks the streams, unless those of others are skipped."""
        lines = SAMPLE.read_bytes().splitlines()
        for args, due in (((), 3), (("--others", "skip"), 0)):
            with follower(tmp_path, *args) as found:
                found.post([*lines[:4], b"started", *lines[4:]])
                assert due == found.end()[0]
