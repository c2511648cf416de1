"""Sends lines to listeners on a Unix socket, without ever waiting for one."""

from __future__ import annotations

import os
import socket
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from runtime_hooks.settings.config import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Broadcast", "listening"]

_BEHIND: Final = 1 << 24
"""The most bytes that a listener may be behind before it is disconnected."""

_BACKLOG: Final = 16
_PEERS: Final = 16  # listeners at once; more are not accepted
_DRAIN_S: Final = 2.0  # at the end, for all listeners to receive what was sent


class Broadcast:
    """A listening socket that only its owner can open. Only `close` blocks.

    Raises:
        SettingsError: the socket cannot be created.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._waiting: dict[socket.socket, bytearray] = {}
        self._server = listening(path, "socket")
        self._server.setblocking(False)

    def accept(self, greeting: Callable[[], bytes]) -> None:
        """Accept new listeners, and send each what `greeting` returns first."""
        while True:
            try:
                peer, _ = self._server.accept()
            except OSError:
                return
            if len(self._waiting) >= _PEERS:
                self._drop_gone()
            if len(self._waiting) >= _PEERS:
                peer.close()
                continue
            peer.setblocking(False)
            self._waiting[peer] = bytearray(greeting())
            self._push(peer)

    def send(self, lines: bytes) -> None:
        """Send whole lines to all listeners, and disconnect one that is too far behind."""
        for peer, waiting in list(self._waiting.items()):
            waiting += lines
            self._push(peer)

    def close(self, last: bytes = b"") -> None:
        """Accept new listeners, send all of them the last lines, and disconnect them.

        They have a bounded time to receive these.
        """
        with suppress(OSError):
            os.unlink(self.path)  # later listeners find no socket
        self.accept(lambda: b"")
        self._server.close()
        until = time.monotonic() + _DRAIN_S
        for peer, waiting in self._waiting.items():
            with suppress(OSError), peer:
                peer.settimeout(max(0.0, until - time.monotonic()))
                peer.sendall(waiting + last)
                peer.shutdown(socket.SHUT_WR)
        self._waiting.clear()

    def _drop_gone(self) -> None:
        """Disconnect listeners that hung up; what they sent is ignored."""
        for peer in list(self._waiting):
            try:
                gone = not (peer.recv(_BEHIND) and peer.recv(1))
            except BlockingIOError:
                gone = False
            except OSError:
                gone = True
            if gone:
                self._disconnect(peer)

    def _disconnect(self, peer: socket.socket) -> None:
        del self._waiting[peer]
        peer.close()

    def _push(self, peer: socket.socket) -> None:
        waiting = self._waiting[peer]
        try:
            while waiting:
                del waiting[: peer.send(waiting)]
        except BlockingIOError:
            if len(waiting) <= _BEHIND:
                return
        except OSError:
            pass
        else:
            return
        self._disconnect(peer)


def listening(path: str, setting: str) -> socket.socket:
    """A Unix socket that listens, and that only its owner can open.

    Args:
        setting: the setting that names it.

    Raises:
        SettingsError: the socket cannot be created.
    """
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_dead(path)
        before = os.umask(0o177)
        try:
            server.bind(path)
        finally:
            os.umask(before)
        server.listen(_BACKLOG)
    except (OSError, ValueError) as error:
        server.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise SettingsError(
            f"the socket {path} cannot be made: {reason}", f"name another as `{setting}`"
        ) from None
    return server


def _remove_dead(path: str) -> None:
    """Remove a socket that a dead process left; anything else is left alone."""
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return
    except OSError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)  # a live one may have a full backlog: do not wait for it
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
