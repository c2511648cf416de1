"""A publisher of KV events, as vLLM has one: it keeps its last batches, and replays them."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import zmq

from tests.monitor.input.kv_lines import message

__all__ = ["Publisher", "publishing"]


class Publisher:
    """Publishes batches at one port and replays them at another.

    Args:
        kept: so many batches are kept.

    Attributes:
        answers: numbers of batches that any question is answered by, if not by those kept.
    """

    def __init__(self, context: zmq.Context[Any], kept: int) -> None:
        self._socket, self._asked = context.socket(zmq.XPUB), context.socket(zmq.ROUTER)
        for socket in (self._socket, self._asked):
            socket.setsockopt(zmq.LINGER, 0)
        port = self._socket.bind_to_random_port("tcp://127.0.0.1")
        other = self._asked.bind_to_random_port("tcp://127.0.0.1")
        self.address, self.replay = f"tcp://127.0.0.1:{port}", f"tcp://127.0.0.1:{other}"
        self._kept: deque[tuple[bytes, bytes, bytes]] = deque(maxlen=kept)
        self._lock, self._number = threading.Lock(), 0
        self._context = context
        self.answers: list[int] | None = None
        self.stopping = threading.Event()

    def publish(self, *events: Any, dropped: bool = False) -> int:
        """Publish a batch, unless it is dropped on its way; its number."""
        with self._lock:
            number, self._number = self._number, self._number + 1
            frames = message(number, *events)
            self._kept.append(frames)
        if not dropped:
            self._socket.send_multipart(frames)
        return number

    def restart(self, number: int = 0) -> None:
        """Another run begins, of which the batches before this number were not published."""
        with self._lock:
            self._kept.clear()
            self._number = number

    def forget(self, count: int) -> None:
        """The last batches are kept no more."""
        with self._lock:
            for _ in range(min(count, len(self._kept))):
                self._kept.pop()

    def reopen(self) -> None:
        """The socket that publishes is closed, and opened again at its address."""
        self._socket.close()
        self._socket = self._context.socket(zmq.XPUB)
        self._socket.setsockopt(zmq.LINGER, 0)
        until = time.monotonic() + 10
        while True:
            try:
                self._socket.bind(self.address)
                return
            except zmq.ZMQError:  # it closes when ZMQ comes to it
                assert time.monotonic() < until
                time.sleep(0.01)

    def wait_for_reader(self) -> None:
        """Wait until somebody reads."""
        while True:
            assert self._socket.poll(20_000)
            if self._socket.recv()[:1] == b"\x01":  # not the leave of another one
                return

    def serve(self) -> None:
        """Replay until asked to stop."""
        while not self.stopping.is_set():
            if not self._asked.poll(20):
                continue
            who, empty, number = self._asked.recv_multipart()
            with self._lock:
                kept = [each for each in self._kept if each[1] >= number]
            if self.answers is not None:  # these numbers, and no end
                for each in self.answers:
                    self._asked.send_multipart((who, empty, *message(each)))
                continue
            for topic, sequence, payload in kept:
                self._asked.send_multipart((who, empty, topic, sequence, payload))
            self._asked.send_multipart((who, empty, b"", b"\xff" * 8, b""))

    def close(self) -> None:
        self._socket.close()
        self._asked.close()


@contextmanager
def publishing(kept: int = 100) -> Iterator[Publisher]:
    """A publisher that replays within the block."""
    with zmq.Context() as context:
        publisher = Publisher(context, kept)
        thread = threading.Thread(target=publisher.serve)
        thread.start()
        try:
            yield publisher
        finally:
            publisher.stopping.set()
            thread.join(10.0)
            publisher.close()
