"""Reads lines from standard input, pipes, sockets and ZMQ, which cannot be read twice."""

from __future__ import annotations

import os
import random
import select
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from monitor.follow.buffer import Splitter
from monitor.input.kv_events.batches import SEQUENCE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from monitor.follow.buffer import Outlet, Position

__all__ = [
    "FIRST_WAIT_S",
    "LAST_WAIT_S",
    "Fifo",
    "Once",
    "Peer",
    "StandardInput",
    "Zmq",
    "tcp",
    "unix",
]

FIRST_WAIT_S: Final = 0.1
LAST_WAIT_S: Final = 10.0
"""The first and the longest wait before a connection is tried again; each is twice the last."""

_CHUNK: Final = 1 << 16
_LOOK_S: Final = 0.2  # between two looks whether to stop
_CONNECT_S: Final = 10.0
_LOST: Final = "the connection was lost"


class Once:
    """What all sources have in common that cannot be read twice."""

    replays, lossy = False, False

    def seek(self, position: Position) -> None:
        """There is no way back."""

    def lag(self) -> int | None:
        """Unknown."""
        return None


def _pieces(descriptor: int, outlet: Outlet) -> Iterator[bytes]:
    """What can be read, until asked to stop; an empty piece at an end."""
    while not outlet.stopping:
        if select.select([descriptor], [], [], _LOOK_S)[0]:
            with suppress(BlockingIOError):
                yield os.read(descriptor, _CHUNK)


class StandardInput(Once):
    """The lines of standard input."""

    def run(self, outlet: Outlet) -> None:
        """Read until its end."""
        splitter = Splitter()
        try:
            descriptor = sys.stdin.fileno()
            outlet.connects += 1
            for data in _pieces(descriptor, outlet):
                outlet.lines(splitter.feed(data) if data else splitter.flush())
                if not data:
                    outlet.end()
                    return
        except (OSError, ValueError, AttributeError) as error:  # closed, or not there at all
            outlet.end(f"cannot be read: {error}")


class Fifo(Once):
    """The lines that processes write to a named pipe, one process after another.

    Args:
        until_eof: end when the last writer has closed it.
    """

    def __init__(self, path: str, *, until_eof: bool = False) -> None:
        self._path, self._until_eof = path, until_eof

    def run(self, outlet: Outlet) -> None:
        """Read until asked to stop."""
        splitter, written = Splitter(), False
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            outlet.end(f"cannot be opened: {error.strerror}")
            return
        outlet.connects += 1
        with os.fdopen(descriptor, "rb", 0):
            for data in _pieces(descriptor, outlet):
                outlet.lines(splitter.feed(data) if data else splitter.flush())
                if data:
                    written = True
                elif written and self._until_eof:
                    outlet.end()
                    return
                else:
                    outlet.wait(_LOOK_S)  # there is no writer, and nothing to select


class Peer(Once):
    """The lines that a process sends on a connection; a lost one is made again.

    Args:
        connect: makes a connection.
        until_eof: end when the other side closes the first connection.
    """

    def __init__(self, connect: Callable[[], socket.socket], *, until_eof: bool = False) -> None:
        self._connect, self._until_eof = connect, until_eof

    def run(self, outlet: Outlet) -> None:
        """Connect and read until asked to stop, with longer and longer waits in between."""
        wait = FIRST_WAIT_S
        while not outlet.stopping:
            try:
                with self._connect() as peer:
                    outlet.connects += 1
                    if self._read(peer, outlet):
                        wait = FIRST_WAIT_S
                if not self._until_eof and not outlet.stopping:
                    outlet.interrupted(_LOST)
            except OSError:
                pass
            if outlet.connects and self._until_eof:
                outlet.end()
                return
            # So that many readers of one process do not come back at the same moment.
            outlet.wait(wait * random.uniform(0.5, 1.0))
            wait = min(2 * wait, LAST_WAIT_S)

    def _read(self, peer: socket.socket, outlet: Outlet) -> bool:
        """Read until the connection ends; whether anything came."""
        splitter, came = Splitter(), False
        peer.settimeout(_LOOK_S)
        while not outlet.stopping:
            try:
                data = peer.recv(_CHUNK)
            except TimeoutError:
                continue
            except OSError:
                break
            if not data:
                break
            came = True
            outlet.lines(splitter.feed(data))
        if self._until_eof:
            outlet.lines(splitter.flush())
        return came


def unix(path: str) -> Callable[[], socket.socket]:
    """What connects to a Unix socket."""

    def connect() -> socket.socket:
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            peer.settimeout(_CONNECT_S)
            peer.connect(path)
        except OSError:
            peer.close()
            raise
        return peer

    return connect


def tcp(host: str, port: int) -> Callable[[], socket.socket]:
    """What connects to a TCP port."""

    def connect() -> socket.socket:
        peer = socket.create_connection((host, port), timeout=_CONNECT_S)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return peer

    return connect


class Zmq(Once):
    """The lines that a ZMQ publisher sends, one or more in a message.

    ZMQ connects again by itself, and says nothing of messages that it dropped.
    """

    lossy = True

    def __init__(self, address: str) -> None:
        self._address = address

    def run(self, outlet: Outlet) -> None:
        """Read until asked to stop."""
        import zmq  # the extra `zmq`

        with zmq.Context() as context, context.socket(zmq.SUB) as peer:
            self._read(peer, outlet, zmq)

    def _read(self, peer: Any, outlet: Outlet, zmq: Any) -> None:
        try:
            peer.setsockopt(zmq.LINGER, 0)
            peer.setsockopt(zmq.SUBSCRIBE, b"")
            peer.connect(self._address)
        except zmq.ZMQError as error:
            outlet.end(f"cannot be opened: {error}")
            return
        outlet.connects += 1
        while not outlet.stopping:
            if peer.poll(int(_LOOK_S * 1000)):
                *before, message = peer.recv_multipart()  # what comes before is a topic
                if len(before) == 2 and len(before[1]) == SEQUENCE_BYTES:
                    outlet.end(f"these are KV events of an engine: follow {self._address}")
                    return
                splitter = Splitter()
                outlet.lines([*splitter.feed(message), *splitter.flush()])
