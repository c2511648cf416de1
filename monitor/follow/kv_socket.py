"""Reads the socket on which an engine publishes KV events, and asks its replay socket for gaps.

Every message becomes one line (`monitor.input.dialects.kv_events`). A publisher numbers its batches
from 0, keeps the last ones, and drops what a reader is too slow for. It states no name of its run,
so a run is known by its batches: where the replay has other bytes under a number than those that
came before, the engine was started again (vllm/distributed/kv_events.py, ZmqEventPublisher).
"""

from __future__ import annotations

import hashlib
import random
import time
from base64 import b64encode
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from monitor.follow.streams import FIRST_WAIT_S, LAST_WAIT_S, Once
from monitor.input.kv_events.batches import SEQUENCE_BYTES
from monitor.input.lines import LINE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.follow.buffer import Outlet

__all__ = ["KvSocket"]

REMEMBERED: Final = 10_000
"""Batches of which a repetition is recognised: as many as vLLM keeps for its replay."""

TAIL_S: Final = 5.0
"""After so many seconds of silence newer batches are asked for: the last one leaves no gap if it is
dropped.
"""

FIRST_S: Final = 0.5
"""The same after a connection was made: what comes at once is read first."""

ANSWER_S: Final = 30.0
"""So long an answer of the replay socket may take, and `_NEXT_MS` each message of it."""

_NEXT_MS: Final = 2_000
_MOST_BYTES: Final = 16 << 20
_LOOK_MS: Final = 200
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


class KvSocket(Once):
    """The messages of one publisher, each as a line. What it missed is asked of the replay.

    Args:
        address: of the socket that publishes, such as `tcp://127.0.0.1:5557`.
        replay: of the socket that replays, if there is one.
    """

    lossy = True

    def __init__(self, address: str, replay: str | None = None) -> None:
        self._address, self._replay = address, replay
        self._run, self._complained = 0, False
        self._last: int | None = None
        self._known: OrderedDict[int, bytes] = OrderedDict()
        self._unsure = False  # whether the engine may have been started again since the last batch

    def run(self, outlet: Outlet) -> None:
        """Connect and read until asked to stop, with longer and longer waits in between."""
        import zmq  # the extra `zmq`

        wait = FIRST_WAIT_S
        with zmq.Context() as context:
            while not outlet.stopping:
                try:
                    if self._connection(context, outlet):
                        wait = FIRST_WAIT_S
                except zmq.ZMQError as error:
                    outlet.end(f"cannot be opened: {error}")
                    return
                outlet.wait(wait * random.uniform(0.5, 1.0))
                wait = min(2 * wait, LAST_WAIT_S)

    def _connection(self, context: Any, outlet: Outlet) -> bool:
        """Read until the connection ends; whether there was one.

        ZMQ does not connect again by itself: it would say nothing of an engine that was started
        again meanwhile, and it gives up after a message that is too large.
        """
        import zmq
        from zmq.utils.monitor import recv_monitor_message

        replay = _Replay(context, self._replay, outlet)
        with _socket(context, zmq.SUB) as peer:
            peer.setsockopt(zmq.RECONNECT_IVL, -1)
            peer.setsockopt(zmq.SUBSCRIBE, b"")
            events = peer.get_monitor_socket(zmq.EVENT_ALL)
            peer.connect(self._address)
            connected, quiet = False, time.monotonic()
            while not outlet.stopping:
                came = peer.poll(_LOOK_MS)
                if events.poll(0):  # what happened to the connection before the message came
                    event = recv_monitor_message(events)["event"]
                    if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                        connected, quiet, self._unsure = True, time.monotonic(), True
                        outlet.connects += 1
                    elif event in (zmq.EVENT_DISCONNECTED, zmq.EVENT_CLOSED):
                        while peer.poll(0):
                            self._take(peer.recv_multipart(), replay, outlet)
                        break
                elif came:
                    self._take(peer.recv_multipart(), replay, outlet)
                    quiet = time.monotonic()
                elif connected and time.monotonic() - quiet > (FIRST_S if self._unsure else TAIL_S):
                    if self._unsure:
                        self._verify(replay)
                    self._heal(replay, outlet)
                    quiet = time.monotonic()
            peer.disable_monitor()
        if connected and not outlet.stopping:
            outlet.interrupted("the connection was lost")
        return connected

    def _take(self, frames: list[bytes], replay: _Replay, outlet: Outlet) -> None:
        """A message that was published."""
        message = _Message(*frames) if len(frames) == 3 else None
        if message is None or len(message.number) != SEQUENCE_BYTES or message.sequence < 0:
            outlet.lines([_line(self._address, self._run, frames)])  # the reader says what is wrong
            return
        number = message.sequence
        if self._unsure:
            self._verify(replay)
        if self._is_known(message):
            return
        if self._last is not None and number <= self._last:
            self._begin()
        if number != (0 if self._last is None else self._last + 1):
            self._heal(replay, outlet, number)
        self._pass(message, outlet)

    def _verify(self, replay: _Replay) -> None:
        """After a connection was lost, the same engine is there only if its replay has our last
        batch; if not, or if there is no replay, another run begins.
        """
        self._unsure = False
        if self._last is not None:
            first = next(replay.since(self._last), None)
            replay.leave()
            if first is None or not self._is_known(first):
                self._begin()

    def _heal(self, replay: _Replay, outlet: Outlet, until: int | None = None) -> None:
        """Pass on what the replay has after the last batch, up to this number. Where it has other
        bytes under a number that is known, it is of another run, of which all is passed on.
        """
        last, other = self._last, False
        for message in replay.since(last or 0):
            number = message.sequence
            if number == last:
                other = not self._is_known(message)
            elif until is not None and number >= until:
                replay.leave()
                break
            elif not other and (last is None or number > last):
                self._pass(message, outlet)
        if last is not None and replay.is_empty:  # of a run that has not come so far, or none
            other = any(
                older.sequence in self._known and not self._is_known(older)
                for older in replay.since(0)
            )
        if other:
            self._begin()
            self._heal(replay, outlet, until)
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
        self._last, self._complained = number, False
        self._known[number] = message.digest
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        outlet.lines([_line(self._address, self._run, message)])


class _Replay:
    """Asks the socket of a publisher that replays, if it has one.

    Each question has a connection of its own, so that an answer that comes too late is of no other
    question.

    Attributes:
        is_empty: the last answer came to its end, and had no batch.
        fails: the last answer did not come to its end.
    """

    def __init__(self, context: Any, address: str | None, outlet: Outlet) -> None:
        self._context, self._address, self._outlet = context, address, outlet
        self.is_empty = self.fails = False

    def leave(self) -> None:
        """The rest of the last answer is not needed."""
        self.fails = False

    def since(self, number: int) -> Iterator[_Message]:
        """The batches from this number on, as many as the publisher keeps, in rising order.

        Older engines leave out the topic.
        """
        import zmq

        self.is_empty = self.fails = False
        if self._address is None:
            return
        self.fails, last, until = True, -1, time.monotonic() + ANSWER_S
        with _socket(self._context, zmq.DEALER) as peer:
            peer.connect(self._address)
            peer.send_multipart((b"", number.to_bytes(SEQUENCE_BYTES, "big")))
            while time.monotonic() < until and peer.poll(_NEXT_MS):
                frames = peer.recv_multipart()
                if len(frames) not in (3, 4) or len(frames[-2]) != SEQUENCE_BYTES:
                    break
                message = _Message(frames[1] if len(frames) == 4 else b"", *frames[-2:])
                if message.sequence < 0:
                    self.fails, self.is_empty = False, last < 0
                    break
                if message.sequence <= last or self._outlet.stopping:
                    break
                last = message.sequence
                yield message
            if self._outlet.stopping:
                self.leave()


def _socket(context: Any, kind: int) -> Any:
    """A socket that leaves nothing behind and takes no message that is too large."""
    import zmq

    found = context.socket(kind)
    for option, value in ((zmq.LINGER, 0), (zmq.IPV6, 1), (zmq.MAXMSGSIZE, _MOST_BYTES)):
        found.setsockopt(option, value)
    return found


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
