"""Reads live verdicts from the socket of a serving process until the stream ends."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final

import msgspec

from monitor.input.errors import InputError
from monitor.input.lines import LINE_LIMIT
from monitor.live.lines import LiveEnd, LiveLimit, LiveLine
from spec.language.prose import printable
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.live.lines import LiveVerdict

__all__ = ["OPEN", "Followed", "follow", "live_line"]

OPEN: Final = 100_000
"""Claims in hand of which the last verdict is known; of more nothing is concluded."""

_TO_EXPLAIN: Final = (Verdict.PENDING, Verdict.INCONCLUSIVE, Verdict.VIOLATED)
_CHUNK: Final = 1 << 16
_HINT: Final = "name the socket of a process that runs with RESIDENT_CLAIMS_MONITOR"


def follow(path: str) -> Iterator[LiveLine]:
    """What is sent on a Unix socket: live verdicts, from those that stand now on, and the end.

    Where the process broke off there is no end.

    Raises:
        InputError: no process listens on the socket, or a line is no live verdict.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        try:
            peer.connect(path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(path, reason.lower(), hint=_HINT) from None
        for number, line in enumerate(_lines(peer, path), 1):
            try:
                verdict: LiveLine = msgspec.json.decode(line, type=LiveLine)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise InputError(path, str(error), line=number, hint=_HINT) from None
            yield verdict


def live_line(verdict: LiveVerdict | LiveLimit) -> str:
    """One verdict, or one limit, on one line for people."""
    if isinstance(verdict, LiveLimit):
        return f"{printable(f'limit  {verdict.limit}  {verdict.why}')}\n"
    words = [verdict.claim_id, f"{verdict.mode}, {verdict.state}", str(verdict.verdict)]
    if verdict.verdict in _TO_EXPLAIN:
        words.append(f"{verdict.heaviest}: {verdict.why}" if verdict.heaviest else verdict.why)
        words += [] if verdict.sequence is None else [f"at sequence {verdict.sequence}"]
    words += ["(final)"] if verdict.final else ["(ended)"] if verdict.forgotten else []
    return f"{printable('  '.join(words))}\n"


class Followed:
    """The verdicts received so far; retired claims are not kept."""

    def __init__(self) -> None:
        self.ended = False
        self._open: dict[str, Verdict] = {}
        self._verdicts: set[Verdict] = set()  # that stand, whatever is reported later

    def take(self, line: LiveLine) -> None:
        """One more line."""
        if isinstance(line, LiveEnd):
            self.ended = True
            return
        if isinstance(line, LiveLimit):
            return
        self._open.pop(line.claim_id, None)
        if line.forgotten or line.verdict is Verdict.VIOLATED:
            self._verdicts.add(line.verdict)
        elif len(self._open) < OPEN:
            self._open[line.claim_id] = line.verdict
        else:
            self._verdicts.add(Verdict.INCONCLUSIVE)

    @property
    def code(self) -> int:
        """1 violated, 0 where the stream ended and all was kept, else 3."""
        verdicts = self._verdicts | {*self._open.values()}
        if Verdict.VIOLATED in verdicts:
            return 1
        return 0 if self.ended and verdicts == {Verdict.SATISFIED} else 3


def _lines(peer: socket.socket, path: str) -> Iterator[bytes]:
    """Whole lines; one that the process broke off within is left out."""
    rest = b""
    while chunk := _receive(peer):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
        if len(rest) > LINE_LIMIT:
            raise InputError(path, f"a line is over {LINE_LIMIT} bytes", hint=_HINT)


def _receive(peer: socket.socket) -> bytes:
    try:
        return peer.recv(_CHUNK)
    except ConnectionError:  # the process is gone
        return b""
