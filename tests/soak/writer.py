"""Writes the disturbed lines of an episode to files, a pipe and sockets, as engines do.

`python -m tests.soak.writer FOLDER SEED SECONDS` prints the port that it listens on, and ends when
all of the plan in the folder is delivered.
"""

from __future__ import annotations

import fcntl
import os
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import msgspec

from tests.soak.disturbed import Delivery
from tests.soak.plan import KNOWN, LAST, PLAN, READY, Plan, SourcePlan

_SMALL = 4096  # bytes on their way, where the kernel lets it be so few
_KEPT = 0.05  # of the deliveries so many wait for the last follower


class _Writer:
    """Writes the deliveries of one source, spread over so many seconds."""

    def __init__(self, source: SourcePlan, folder: Path, seconds: float, seed: int) -> None:
        self.source, self.folder, self.chance = source, folder, Random(seed)
        self.first = int((len(source.deliveries) - 1) * (1 - _KEPT))
        self.pause = seconds / max(1, self.first)

    def run(self) -> None:
        """Deliver all."""
        rest = deque(self.source.deliveries)
        for _ in range(self.first):
            due = time.monotonic() + self.pause * self.chance.uniform(0.5, 1.5)
            while not self.is_last() and time.monotonic() < due:
                time.sleep(0.02)
            if self.is_last():
                break
            self.deliver(rest.popleft())
        while not self.is_last():
            time.sleep(0.05)
        self.finish(rest)

    def deliver(self, delivery: Delivery) -> None:
        """Write what a follower may see that will be killed."""
        raise NotImplementedError

    def finish(self, deliveries: Iterable[Delivery]) -> None:
        """Write the rest for the last follower, which is started when all sources are ready."""
        raise NotImplementedError

    def is_last(self) -> bool:
        """Whether no more followers are killed."""
        return (self.folder / LAST).exists()

    def is_ready(self) -> None:
        """The last follower may start, for all that this source does."""
        (self.folder / f"{self.source.kind}{READY}").touch()

    def pieces(self, content: bytes) -> Iterator[bytes]:
        """What is written at once: it may end within a line."""
        while content:
            size = self.chance.choice((7, 300, 4000, 20_000))
            yield content[:size]
            content = content[size:]
            if content and self.chance.random() < 0.3:
                time.sleep(0.01)


class _File(_Writer):
    rotations = 0

    def deliver(self, delivery: Delivery) -> None:
        path = self.folder / f"{self.source.kind}.jsonl"
        if delivery.break_before and (self.folder / KNOWN).exists():
            self.rotations += 1
            path.rename(f"{path}.{self.rotations}")
        for piece in self.pieces(delivery.content):
            with path.open("ab") as file:
                file.write(piece)

    def finish(self, deliveries: Iterable[Delivery]) -> None:
        for each in deliveries:
            self.deliver(each)
        self.is_ready()


class _Connection(_Writer):
    """Whoever reads may go at any time: what was on its way is lost, and then it goes on."""

    peer = -1

    def connect(self) -> int:
        """A connection to a follower that is there now; raises OSError where none is."""
        raise NotImplementedError

    def deliver(self, delivery: Delivery) -> None:
        if delivery.break_before:
            self.close()
        for piece in self.pieces(delivery.content):
            while self.peer < 0 and not self.is_last():
                self.try_to_connect()
            self.write(piece)

    def finish(self, deliveries: Iterable[Delivery]) -> None:
        self.close()
        with suppress(OSError):  # followers that connected, and were killed since
            while True:
                os.close(self.connect())
        self.is_ready()
        while self.peer < 0:
            self.try_to_connect()
        for each in deliveries:
            self.write(each.content)
        self.close()

    def try_to_connect(self) -> None:
        try:
            self.peer = self.connect()
            os.set_blocking(self.peer, True)
        except OSError:
            time.sleep(0.02)

    def write(self, content: bytes) -> None:
        """Write it, or lose it where nobody reads any more."""
        try:
            while content and self.peer >= 0:
                content = content[os.write(self.peer, content) :]
        except OSError:
            self.close()

    def close(self) -> None:
        if self.peer >= 0:
            os.close(self.peer)
            self.peer = -1


class _Pipe(_Connection):
    def connect(self) -> int:
        peer = os.open(self.folder / self.source.kind, os.O_WRONLY | os.O_NONBLOCK)
        fcntl.fcntl(peer, fcntl.F_SETPIPE_SZ, _SMALL)
        return peer


class _Socket(_Connection):
    server: socket.socket

    def connect(self) -> int:
        return self.server.accept()[0].detach()


def main() -> None:
    """Deliver all."""
    folder, seed, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    plan = msgspec.msgpack.decode((folder / PLAN).read_bytes(), type=Plan)
    unix, tcp = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), socket.socket()
    unix.bind(str(folder / "unix"))
    tcp.bind(("127.0.0.1", 0))
    os.mkfifo(folder / "pipe")
    threads = []
    for number, source in enumerate(plan.sources.values()):
        about = source, folder, seconds, seed + number
        writer: _Writer
        if source.kind in ("unix", "tcp"):
            writer = _Socket(*about)
            writer.server = unix if source.kind == "unix" else tcp
            writer.server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SMALL)
            writer.server.listen(1)
            writer.server.setblocking(False)
        else:
            writer = (_Pipe if source.kind == "pipe" else _File)(*about)
        threads.append(threading.Thread(target=writer.run))
    print(tcp.getsockname()[1], flush=True)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
