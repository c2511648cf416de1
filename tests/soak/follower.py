"""Runs `monitor follow` on a slow disk that is full now and then; or with a planted bug.

`python -m tests.soak.follower SEED BUG ARGUMENT...`; an empty BUG plants none.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Sequence
from random import Random

from monitor.__main__ import main
from monitor.core import Streams
from monitor.follow import follower
from monitor.follow.buffer import Line, Outlet, Position
from monitor.follow.growing_file import GrowingFile
from monitor.follow.verdicts_file import VerdictsFile

__all__ = ["BUGS"]


def _slow_disk(chance: Random) -> None:
    fsync, write = os.fsync, os.write

    def slow(descriptor: int) -> None:
        time.sleep(chance.choice((0.0, 0.0, 0.01, 0.05, 0.3)))
        if chance.random() < 0.05:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    def part(descriptor: int, data: bytes) -> int:
        if chance.random() < 0.05:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[: chance.randint(1, len(data))])

    os.fsync, os.write = slow, part  # type: ignore[assignment]
    follower._RETRY_S = 0.02  # type: ignore[misc]


def _skip_lines() -> None:
    """What is read first after a restart is skipped, and nobody says so."""
    run = GrowingFile.run

    def skip(self: GrowingFile, outlet: Outlet) -> None:
        skipped, lines = not self._resumed, outlet.lines

        def fewer(found: Sequence[Line], position: Position | None = None) -> None:
            nonlocal skipped
            if skipped:
                lines(found, position)
            skipped = skipped or bool(found)

        outlet.lines = fewer  # type: ignore[method-assign,assignment]
        run(self, outlet)

    GrowingFile.run = skip  # type: ignore[method-assign]


def _write_twice() -> None:
    """Lines that the file of verdicts has are written again after a restart."""
    VerdictsFile._read_known = lambda self, emitted: None  # type: ignore[method-assign]


def _see_no_gap() -> None:
    """Missing lines are no reason for a verdict to be inconclusive."""
    Streams.lose = lambda *_, **__: None  # type: ignore[method-assign]


BUGS: dict[str, Callable[[], None]] = {
    "": lambda: None,
    "skip": _skip_lines,
    "twice": _write_twice,
    "no gap": _see_no_gap,
}
"""Bugs that a soak finds, by name."""

if __name__ == "__main__":
    _slow_disk(Random(int(sys.argv[1])))
    BUGS[sys.argv[2]]()
    raise SystemExit(main(["follow", *sys.argv[3:]]))
