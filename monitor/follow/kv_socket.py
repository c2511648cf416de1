"""Reads the socket on which an engine publishes KV events, and heals gaps by its replay socket.

Every message becomes one line (`monitor.input.dialects.kv_events`). A publisher numbers its batches
from 0, keeps the last ones, and drops what a reader is too slow for. It states no name of its run,
so a run is known by its batches: where the replay has other bytes under a number than those that
came before, the engine was started again (vllm/distributed/kv_events.py, ZmqEventPublisher).
"""

from __future__ import annotations

import hashlib
import time
from base64 import b64encode
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from monitor.input.kv_events.batches import SEQUENCE_BYTES
from monitor.input.lines import LINE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.follow.buffer import Outlet, Position

__all__ = ["KvSocket"]

REMEMBERED: Final = 10_000
"""Batches of which a repetition is recognised: as many as vLLM keeps for its replay."""

TAIL_S: Final = 5.0
"""After so many seconds of silence the last batches are asked for: one that was dropped leaves no
gap until another one comes.
"""

_MOST_BYTES: Final = 16 << 20
_LOOK_MS: Final = 200
_ANSWER_MS: Final = 2_000
_ENCODE: Final = msgspec.json.Encoder().encode


class _Message(NamedTuple):
    topic: bytes
    number: bytes
    payload: bytes

    @property
    def sequence(self) -> int:
        return int.from_bytes(self.number, "big", signed=True)

    @property
    def digest(self) -> bytes:
        return hashlib.blake2b(self.payload, digest_size=16).digest()


class KvSocket:
    """The messages of one publisher, each as a line.

    Args:
        address: of the socket that publishes, such as `tcp://127.0.0.1:5557`.
        replay: of the socket that replays, if there is one.
    """

    replays, lossy = False, True

    def __init__(self, address: str, replay: str | None = None) -> None:
        self._address, self._replay = address, replay
        self._run, self._complained = 0, False
        self._last: int | None = None
        self._known: OrderedDict[int, bytes] = OrderedDict()

    def seek(self, position: Position) -> None:
        """There is no way back but the replay, which is always asked first."""

    def lag(self) -> int | None:
        """Unknown."""
        return None

    def run(self, outlet: Outlet) -> None:
        """Read until asked to stop."""
        import zmq  # the extra `zmq`

        with zmq.Context() as context, context.socket(zmq.SUB) as peer:
            try:
                peer.setsockopt(zmq.LINGER, 0)
                peer.setsockopt(zmq.MAXMSGSIZE, _MOST_BYTES)
                peer.setsockopt(zmq.SUBSCRIBE, b"")
                peer.connect(self._address)
                self._read(peer, _Replay(context, self._replay, outlet), outlet)
            except zmq.ZMQError as error:
                outlet.end(f"cannot be opened: {error}")

    def _read(self, peer: Any, replay: _Replay, outlet: Outlet) -> None:
        outlet.connects += 1
        self._heal(replay, outlet)
        quiet = time.monotonic()
        while not outlet.stopping:
            if peer.poll(_LOOK_MS):
                self._take(peer.recv_multipart(), replay, outlet)
                quiet = time.monotonic()
            elif time.monotonic() - quiet > TAIL_S:
                self._heal(replay, outlet)
                quiet = time.monotonic()

    def _take(self, frames: list[bytes], replay: _Replay, outlet: Outlet) -> None:
        """A message that was published."""
        if len(frames) != 3 or len(frames[1]) != SEQUENCE_BYTES:
            outlet.lines([_line(self._address, self._run, frames)])  # the reader says what is wrong
            return
        message, last = _Message(*frames), self._last
        if self._is_known(message):
            return
        if last is not None and message.sequence != last + 1:
            if message.sequence <= last:
                self._begin()
            if message.sequence:
                self._heal(replay, outlet)
        if not self._is_known(message):
            self._pass(message, outlet)

    def _heal(self, replay: _Replay, outlet: Outlet) -> None:
        """Pass on what the replay has after the last batch. Where it has that batch with other
        bytes, or nothing from it on, it is of another run, of which all is passed on.
        """
        last, answered, other = self._last, False, False
        for message in replay.since(last or 0):
            answered = True
            if message.sequence == last:
                other = not self._is_known(message)
            elif not other and (last is None or message.sequence > last):
                self._pass(message, outlet)
        if last is not None and (other or (replay.is_complete and not answered)):
            self._begin()
            self._heal(replay, outlet)
        elif replay.fails and not self._complained:
            self._complained = True
            outlet.interrupted(f"{self._replay} does not answer, so batches may be missing")

    def _is_known(self, message: _Message) -> bool:
        """Whether this batch of the run was passed on before."""
        return self._known.get(message.sequence) == message.digest

    def _begin(self) -> None:
        """What comes next is of another run."""
        self._run += 1
        self._last = None
        self._known.clear()

    def _pass(self, message: _Message, outlet: Outlet) -> None:
        number, due = message.sequence, 0 if self._last is None else self._last + 1
        if number > due:
            which = f"batch {due}" if number == due + 1 else f"batches {due} to {number - 1}"
            kept = (
                "the engine keeps no more" if self._replay else "--replay asks for what is missing"
            )
            outlet.interrupted(f"{which} did not come; {kept}")
        self._last = number
        self._known[message.sequence] = message.digest
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        outlet.lines([_line(self._address, self._run, message)])


class _Replay:
    """Asks the socket of a publisher that replays, if it has one.

    `is_complete` says that the last answer came to its end. Each question has a connection of its
    own, so that an answer that comes too late is of no other question.
    """

    def __init__(self, context: Any, address: str | None, outlet: Outlet) -> None:
        self._context, self._address, self._outlet = context, address, outlet
        self.is_complete = False

    @property
    def fails(self) -> bool:
        """Whether it did not answer to the end, though nobody asked to stop."""
        return not (self._address is None or self.is_complete or self._outlet.stopping)

    def since(self, number: int) -> Iterator[_Message]:
        """The batches from this number on, as many as the publisher keeps.

        Older engines leave out the topic.
        """
        import zmq

        self.is_complete = False
        if self._address is None:
            return
        with self._context.socket(zmq.DEALER) as peer:
            peer.setsockopt(zmq.LINGER, 0)
            peer.setsockopt(zmq.MAXMSGSIZE, _MOST_BYTES)
            peer.connect(self._address)
            peer.send_multipart((b"", number.to_bytes(SEQUENCE_BYTES, "big")))
            while not self._outlet.stopping and peer.poll(_ANSWER_MS):
                frames = peer.recv_multipart()
                if len(frames) not in (3, 4) or len(frames[-2]) != SEQUENCE_BYTES:
                    return
                message = _Message(frames[1] if len(frames) == 4 else b"", *frames[-2:])
                if message.sequence < 0:
                    self.is_complete = True
                    return
                yield message


def _line(address: str, run: int, frames: Any) -> bytes | None:
    """A message as a line; None where it is too long to be one."""
    fields: dict[str, Any] = {
        "endpoint": address,
        "frames": [b64encode(f).decode() for f in frames],
    }
    if run:
        fields["run"] = run
    line = _ENCODE(fields)
    return line if len(line) <= LINE_LIMIT else None
