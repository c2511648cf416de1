"""Takes the operator's requests on a Unix socket, and has the engine's thread carry them out."""

from __future__ import annotations

import os
import socket
import threading
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from runtime_hooks.control.messages import MOST_ASKED, Answer, Failure, read_request
from runtime_hooks.controller.operator import NotAllowed, UnknownClaim
from runtime_hooks.trace.faults import LOG
from runtime_hooks.trace.socket import listening
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_hooks.control.messages import Request
    from runtime_hooks.controller.controller import Controller

__all__ = ["WAIT_S", "Server"]

WAIT_S: Final = 10.0
"""How long a request waits for the engine, in seconds."""

_PATIENCE_S: Final = 5.0  # for a client to send its request, and to take the answer
_CLOSING_S: Final = 1.0  # for the thread to notice that the socket is closed
_AT_ONCE: Final = 8  # requests; others wait in the socket's backlog


class _Busy(SpecError):
    """The engine gives no answer in time."""


_LATER: Final = "an engine in a Python process takes it with its next request; else try again"


class Server:
    """The socket of one engine.

    `wake` has an idle engine carry out what waits; where nothing sets it, that waits for the next
    request or step.

    Raises:
        SettingsError: the socket cannot be created.
    """

    def __init__(self, path: str, controller: Controller, *, wait_s: float = WAIT_S) -> None:
        self.path = path
        self.wake: Callable[[], None] = lambda: None
        self._controller, self._wait_s = controller, wait_s
        self._places = threading.BoundedSemaphore(_AT_ONCE)
        self._server = listening(path, "control")
        self._thread = threading.Thread(target=self._run, name="claims-control", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take no more requests."""
        with suppress(OSError):
            os.unlink(self.path)
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._server.close()
        self._thread.join(_CLOSING_S)

    def _run(self) -> None:
        while True:
            self._places.acquire()
            try:
                peer, _ = self._server.accept()
            except OSError:
                return  # it is closed
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        try:
            with peer:
                peer.settimeout(_PATIENCE_S)
                answer = self._answer(_line_of(peer))
                peer.sendall(msgspec.json.encode(answer) + b"\n")
        except OSError:
            pass  # the client is gone, or too slow
        except Exception as fault:
            LOG.error("resident-claims: a request of the operator failed", exc_info=fault)
        finally:
            self._places.release()

    def _answer(self, line: bytes) -> Answer:
        try:
            request = read_request(line)
        except ValueError as error:
            return _failure(f"this is no request: {error}", "use a command of the same version")
        try:
            page = self._carried_out(request)
        except NotAllowed as error:
            return Answer(failure=Failure(error.cause, error.remedy, 1))
        except _Busy as error:
            return Answer(failure=Failure(error.cause, error.remedy, 3))
        except UnknownClaim as error:
            return Answer(failure=Failure(error.cause, error.remedy, 2, unknown=True))
        except SpecError as error:
            return _failure(error.cause, error.remedy)
        except CancelledError:
            return _failure("the engine has ended, or the plugin is disarmed in it", "see its log")
        except Exception as fault:
            return _failure(f"the plugin failed: {type(fault).__name__}", "see the engine's log")
        return Answer(page=msgspec.Raw(msgspec.json.encode(page)))

    def _carried_out(self, request: Request) -> object:
        """What the engine's thread returns for a request."""
        done = self._controller.ask(request.call)
        self.wake()
        try:
            return done.result(self._wait_s)
        except TimeoutError:
            if done.cancel():
                said = f"the engine did not begin with it within {self._wait_s:g} s"
                raise _Busy(f"{said}; nothing was done", _LATER) from None
        try:
            return done.result(self._wait_s)
        except TimeoutError:
            raise _Busy("the engine has begun with it, and not ended", "list the claims") from None


def _failure(message: str, hint: str) -> Answer:
    return Answer(failure=Failure(message, hint, 2))


def _line_of(peer: socket.socket) -> bytes:
    """The first line that a client sends, as far as it is not too long."""
    line = b""
    while b"\n" not in line and len(line) <= MOST_ASKED:
        more = peer.recv(MOST_ASKED)
        if not more:
            break
        line += more
    return line.partition(b"\n")[0][: MOST_ASKED + 1]
