"""Live verdicts from the process that judges: read from its socket, until it closes it."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final

import msgspec

from monitor.errors import InputError
from monitor.lines import LINE_LIMIT
from monitor.live import LiveVerdict
from spec.screens import printable
from spec.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["follow", "follow_code", "live_line"]

_OPEN: Final = (Verdict.PENDING, Verdict.INCONCLUSIVE, Verdict.VIOLATED)
_CHUNK: Final = 1 << 16
_HINT: Final = "name the socket of a process that runs with RESIDENT_CLAIMS_MONITOR"


def follow(path: str) -> Iterator[LiveVerdict]:
    """The live verdicts that are sent on a Unix socket, from those that stand now on.

    Raises:
        InputError: nobody listens there, or what is sent is no live verdict.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        try:
            peer.connect(path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(path, reason.lower(), hint=_HINT) from None
        for number, line in enumerate(_lines(peer, path), 1):
            try:
                yield msgspec.json.decode(line, type=LiveVerdict)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise InputError(path, str(error), line=number, hint=_HINT) from None


def live_line(told: LiveVerdict) -> str:
    """One verdict on one line, for people."""
    words = [told.claim_id, f"{told.mode}, {told.state}", str(told.verdict)]
    if told.verdict in _OPEN:
        words.append(f"{told.heaviest}: {told.why}")
        words += [] if told.sequence is None else [f"at {told.sequence}"]
    words += ["(final)"] if told.final else []
    return f"{printable('  '.join(words))}\n"


def follow_code(last: dict[tuple[str, str], LiveVerdict]) -> int:
    """What following ends with: 1 violated, 0 where the stream ended and all was kept, else 3.

    Args:
        last: the last verdict of each claim, by stream and claim.
    """
    verdicts = {told.verdict for told in last.values()}
    if Verdict.VIOLATED in verdicts:
        return 1
    ended = bool(last) and all(told.final for told in last.values())
    return 0 if ended and verdicts <= {Verdict.SATISFIED} else 3


def _lines(peer: socket.socket, path: str) -> Iterator[bytes]:
    rest = b""
    while chunk := _receive(peer):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
        if len(rest) > LINE_LIMIT:
            raise InputError(path, f"a line is over {LINE_LIMIT} bytes", hint=_HINT)
    if rest:
        raise InputError(path, "it broke off within a line")


def _receive(peer: socket.socket) -> bytes:
    try:
        return peer.recv(_CHUNK)
    except ConnectionError:  # the process is gone
        return b""
