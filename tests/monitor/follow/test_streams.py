"""Lines come from pipes, sockets and ZMQ, and a lost connection is made again."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from monitor.follow import streams
from monitor.follow.streams import Fifo, Peer, Zmq, tcp, unix
from tests.monitor.follow.processes import wait_for
from tests.monitor.follow.reading import Read, reading


class TestFifo:
    def test_one_writer_after_another(self, tmp_path: Path) -> None:
        """Each writer's last line ends where the writer does."""
        path = tmp_path / "pipe"
        os.mkfifo(path)
        with reading(Fifo(str(path))) as read:
            for text in (b"one\ntwo", b"three\n"):
                with path.open("wb") as pipe:
                    pipe.write(text)
                wait_for(lambda: text.split()[-1] in read.lines)  # noqa: B023
            wait_for(lambda: len(read.lines) == 3)
            assert [b"one", b"two", b"three"] == read.lines
            assert read.end is None

    def test_until_eof(self, tmp_path: Path) -> None:
        """It ends when the writer has closed it."""
        path = tmp_path / "pipe"
        os.mkfifo(path)
        with reading(Fifo(str(path), until_eof=True)) as read:
            with path.open("wb") as pipe:
                pipe.write(b"one\n")
            wait_for(lambda: read.end is not None)
            assert [b"one"] == read.lines


@pytest.fixture(params=["unix", "tcp"])
def server(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> socket.socket:
    """A socket that listens."""
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    if request.param == "unix":
        found = socket.socket(socket.AF_UNIX)
        found.bind("s")
        found.listen()
        return found
    return socket.create_server(("127.0.0.1", 0))


def peer(server: socket.socket, *, until_eof: bool = False) -> Peer:
    name = server.getsockname()
    return Peer(unix(name) if isinstance(name, str) else tcp(*name), until_eof=until_eof)


class TestPeer:
    def test_connects_again(self, server: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
        """A lost connection is made again; the torn line is dropped, and lines may be missing."""
        monkeypatch.setattr(streams, "FIRST_WAIT_S", 0.01)
        with server, reading(peer(server)) as read:
            for text in (b"one\ntwo\ntor", b"three\n"):
                connection, _ = server.accept()
                with connection:
                    connection.sendall(text)
            wait_for(lambda: len(read.lines) == 3)
            assert [b"one", b"two", b"three"] == read.lines
            assert {"the connection was lost"} == {*read.breaks}

    def test_until_eof(self, server: socket.socket) -> None:
        """It ends with the first connection, and the last line needs no end."""
        with server, reading(peer(server, until_eof=True)) as read:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"one\ntwo")
            wait_for(lambda: read.end is not None)
            assert [b"one", b"two"] == read.lines

    def test_waits_longer_and_longer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where nobody listens, the waits double up to a limit."""
        waits: list[float] = []

        def refuse() -> socket.socket:
            raise ConnectionRefusedError

        monkeypatch.setattr(streams.random, "uniform", lambda low, high: high)
        source = Peer(refuse)
        read = Read(source)

        def wait(seconds: float) -> bool:
            waits.append(seconds)
            if len(waits) == 9:
                read.stopping.set()
            return False

        monkeypatch.setattr(read.outlet, "wait", wait)
        source.run(read.outlet)
        assert [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0] == waits
        assert [] == read.items


class TestZmq:
    def test_messages(self, tmp_path: Path) -> None:
        """Each message has a line or more; one with a topic counts by its last part."""
        zmq = pytest.importorskip("zmq")
        address = f"ipc://{tmp_path}/z"
        with zmq.Context() as context, context.socket(zmq.PUB) as publisher:
            publisher.bind(address)
            with reading(Zmq(address)) as read:

                def sent() -> bool:
                    publisher.send_multipart([b"topic", b"one\ntwo"])
                    return len(read.lines) >= 2

                wait_for(sent)
                assert [b"one", b"two"] == read.lines[:2]

    def test_loses_silently(self) -> None:
        """What it loses nobody reports, which the judge takes into account."""
        assert Zmq("tcp://127.0.0.1:1").lossy
        assert not Fifo("pipe").lossy


def test_a_pipe_is_left_as_it_is(tmp_path: Path) -> None:
    """Following a pipe does not remove it."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with reading(Fifo(str(path))):
        pass
    assert stat.S_ISFIFO(path.stat().st_mode)
