"""An engine whose own thread is idle between the requests, with a socket for its operator."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import pytest

from runtime_hooks.control.server import Server
from tests.runtime_hooks.tiny import TinyEngine

T = TypeVar("T")


class Operated:
    """A tiny engine on a thread of its own, which sleeps where nothing is to be done."""

    def __init__(self, path: Path, *, wait_s: float = 10.0, **settings: Any) -> None:
        self.engine = TinyEngine(**settings)
        self.server = Server(str(path), self.engine.controller, wait_s=wait_s)
        self.server.wake = lambda: self._work.put(self.engine.controller.operate)
        self.path, self._work = path, queue.Queue[Callable[[], object] | None]()
        self.thread = threading.Thread(target=self._loop, daemon=True)
        self.thread.start()

    def do(self, act: Callable[[TinyEngine], T]) -> T:
        """Have the engine's thread do something."""
        done: Future[T] = Future()
        self._work.put(lambda: done.set_result(act(self.engine)))
        return done.result(30)

    def serve(self, *args: Any, **named: Any) -> bool:
        """Run a request to its end; whether it was served."""
        return self.do(lambda engine: engine.serve(*args, **named))

    def end(self) -> None:
        """The engine ends."""
        self.do(lambda engine: engine.controller.close())
        self.engine.controller.inbox.close()
        self.server.close()
        self._work.put(None)
        self.thread.join(30)

    def _loop(self) -> None:
        while (act := self._work.get()) is not None:
            act()


@pytest.fixture
def operate(tmp_path: Path) -> Iterator[Callable[..., Operated]]:
    """Make an engine with its socket, in a folder that nobody else may enter."""
    made: list[Operated] = []

    def make(name: str = "1", **named: Any) -> Operated:
        folder = tmp_path / "control"
        folder.mkdir(mode=0o700, exist_ok=True)
        made.append(Operated(folder / f"{name}.sock", **named))
        return made[-1]

    yield make
    for each in made:
        if each.thread.is_alive():
            each.end()
