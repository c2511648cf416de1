"""Asks a running engine on its Unix socket."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from runtime_hooks.control.folder import default_folder, own_sockets, server_of, sockets
from runtime_hooks.control.messages import Answer
from runtime_hooks.routing.rank import rank_in
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from runtime_hooks.control.messages import Page, Request

__all__ = ["PATIENCE_S", "Refused", "Unknown", "ask", "find", "find_own"]

PATIENCE_S: Final = 30.0
"""How long a client waits for an engine, in seconds: more than the engine takes to answer."""

_AGAIN_S: Final = 0.05
_MOST: Final = 64 << 20  # bytes of an answer
_SHOWN: Final = 5  # engines in a message


class Refused(SpecError):
    """The engine did not do it; `code` is the exit code."""

    def __init__(self, cause: str, remedy: str, code: int) -> None:
        super().__init__(cause, remedy)
        self.code = code


class Unknown(Refused):
    """The engine has no such claim."""


def find(named: Path | None) -> list[Path]:
    """The socket of the only engine in a folder, or those of the ranks of the only server in it; or
    the socket that is named.

    Args:
        named: a socket or a folder; None for the folder where engines put theirs by default.

    Raises:
        SpecError: there is none, or there are several that are not the ranks of one server, or a
            rank is missing.
    """
    folder = default_folder() if named is None else named
    if named is not None and not named.is_dir():
        return [named]
    found = sockets(folder)
    live = [path for path in found if _listens(path)]
    if live and _ranked(live) and len({server_of(path) for path in live}) == 1:
        return _all_ranks(live)
    if len(live) == 1:
        return live
    if not live:
        gone = f"; {len(found)} have ended" if found else ""
        raise SpecError(
            f"no engine listens in {folder}{gone}", "see the engine's log for `control`"
        )
    names = ", ".join(path.name for path in live[:_SHOWN])
    more = f" and {len(live) - _SHOWN} more" if len(live) > _SHOWN else ""
    raise SpecError(f"{len(live)} engines listen in {folder}: {names}{more}", "give --socket")


def find_own(folder: Path) -> list[Path]:
    """The socket of this server's engine, or those of its ranks.

    Raises:
        SpecError: there is none, or a rank is missing.
    """
    live = [path for path in own_sockets(folder) if _listens(path)]
    if not live:
        raise SpecError("no engine of this server can be asked about claims", "see its log")
    return _all_ranks(live) if _ranked(live) else live[-1:]


def ask(path: Path, request: Request, patience_s: float = PATIENCE_S) -> Page:
    """Ask the engine whose socket this is, and wait for the answer.

    Args:
        patience_s: the most seconds that each part of the exchange may take.

    Raises:
        Unknown: there is no such claim.
        Refused: the engine did not do it.
        SpecError: there is no such socket, the engine is gone, or this is no engine.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.settimeout(patience_s)
        try:
            _connect(peer, path, patience_s)
            peer.sendall(msgspec.json.encode(request) + b"\n")
            content = _all_of(peer)
        except FileNotFoundError:
            raise SpecError(f"there is no socket {path}", _SOCKET) from None
        except ConnectionRefusedError:
            raise SpecError(f"the engine of {path} is gone", "its claims ended with it") from None
        except TimeoutError:
            said = f"{path} did not answer within {patience_s:g} s"
            raise Refused(said, "try again", 3) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise SpecError(f"{path} cannot be used: {reason}", _SOCKET) from None
    return _page_of(content, path, request)


def _page_of(content: bytes, path: Path, request: Request) -> Page:
    if not content:
        raise SpecError(f"the engine of {path} ended before it answered", "see its log")
    try:
        answer = msgspec.json.decode(content, type=Answer)
        if answer.failure is not None:
            kind_of = Unknown if answer.failure.unknown else Refused
            raise kind_of(answer.failure.message, answer.failure.hint, answer.failure.code)
        kind: Any = request.answer
        page: Page = msgspec.json.decode(answer.page, type=kind)
    except msgspec.DecodeError:
        raise SpecError(f"what listens at {path} is no engine of this version", _SOCKET) from None
    return page


def _all_of(peer: socket.socket) -> bytes:
    content = bytearray()
    while len(content) <= _MOST:
        more = peer.recv(1 << 16)
        if not more:
            break
        content += more
    return bytes(content)


def _connect(peer: socket.socket, path: Path, patience_s: float) -> None:
    """Connect; where too many others are about to, try again, because that does not wait."""
    until = time.monotonic() + patience_s
    while True:
        try:
            return peer.connect(str(path))
        except BlockingIOError:
            if time.monotonic() > until:
                raise TimeoutError from None
            time.sleep(_AGAIN_S)


def _ranked(paths: list[Path]) -> bool:
    """Whether each of these engines is a data-parallel rank."""
    return all(rank_in(path.name) for path in paths)


def _all_ranks(paths: list[Path]) -> list[Path]:
    """The sockets of a server's ranks, in their order."""
    ranks = {rank: path for path in paths if (rank := rank_in(path.name))}
    most = max(rank.ranks for rank in ranks)
    if missing := set(range(most)) - {rank.number for rank in ranks}:
        gone = ", ".join(map(str, sorted(missing)[:_SHOWN]))
        raise SpecError(f"of {most} ranks these do not listen: {gone}", "see the server's log")
    return [ranks[rank] for rank in sorted(ranks)]


def _listens(path: Path) -> bool:
    """Whether somebody listens on a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except BlockingIOError:
            return True  # and many others want to be heard
        except OSError:
            return False
    return True


_SOCKET: Final = "give the engine's socket, which its log names"
