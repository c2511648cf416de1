"""Lines for whoever listens: a Unix socket that nobody has to wait for."""

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

__all__ = ["Broadcast"]

_BEHIND: Final = 1 << 24
"""Bytes that a listener may be behind, with the verdicts as they stood; then it is cut off."""

_BACKLOG: Final = 16
_PEERS: Final = 16  # listeners at once; more are turned away
_DRAIN_S: Final = 2.0  # until the last listener has taken what was sent to it, at the end


class Broadcast:
    """A listening socket that only its owner can open. Nothing here blocks but `close`.

    Raises:
        SettingsError: the socket cannot be made.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._waiting: dict[socket.socket, bytearray] = {}
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            _remove_dead(path)
            before = os.umask(0o177)
            try:
                self._server.bind(path)
            finally:
                os.umask(before)
            self._server.listen(_BACKLOG)
        except (OSError, ValueError) as error:
            self._server.close()
            reason = getattr(error, "strerror", None) or str(error)
            raise SettingsError(
                f"the socket {path} cannot be made: {reason}", "name another as `socket`"
            ) from None

    def accept(self, greeting: Callable[[], bytes]) -> None:
        """Let in whoever came, and send each what `greeting` returns first."""
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
        """Send whole lines to all; one that is too far behind is cut off."""
        for peer, waiting in list(self._waiting.items()):
            waiting += lines
            self._push(peer)

    def close(self, last: bytes = b"") -> None:
        """Let in whoever came, send all of them these lines, and end when they took them.

        They have a bounded time for it.
        """
        with suppress(OSError):
            os.unlink(self.path)  # whoever comes later is not let in, and told nothing
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
        """Cut off those that hung up; what they said before is of no account."""
        for peer in list(self._waiting):
            try:
                gone = not (peer.recv(_BEHIND) and peer.recv(1))
            except BlockingIOError:
                gone = False
            except OSError:
                gone = True
            if gone:
                self._cut(peer)

    def _cut(self, peer: socket.socket) -> None:
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
        self._cut(peer)


def _remove_dead(path: str) -> None:
    """Remove a socket that a process left behind; anything else is left alone."""
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return
    except OSError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)  # one whose backlog is full lives, and must not be waited for
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
