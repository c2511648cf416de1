"""Runs the monitor inside the serving process, on the journal's thread."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from monitor.live.feed import Live
from monitor.live.lines import LiveEnd, LiveLimit
from runtime_hooks.settings.config import TAKEN
from runtime_hooks.trace.faults import LOG
from runtime_hooks.trace.file import NewFile
from runtime_hooks.trace.socket import Broadcast
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.live.lines import LiveLine, LiveVerdict
    from runtime_hooks.trace.journal import Line

__all__ = ["Inline"]


class Inline:
    """Writes verdicts on one stream to a file of lines and to listeners.

    `verdicts` counts the lines that were written, by mode and verdict; `given_up` the claims that
    ended and of which the monitor keeps at most the id.
    `alarm` is empty until a claim is violated or the monitor fails, and then says so. Any thread
    may read it.

    Raises:
        SettingsError: the file or the socket cannot be created.
    """

    def __init__(self, stream: str, verdicts: str, socket: str) -> None:
        self.alarm, self._stream = "", stream
        self.verdicts: Counter[tuple[str, str]] = Counter()
        self._live = Live(stream, TAKEN)
        self.given_up = self._live.given_up
        self._file = NewFile(verdicts, "the file of verdicts", "trace")
        self._out = Broadcast(socket)

    def take(self, lines: Sequence[Line]) -> None:
        """Judge lines, and write the verdicts that changed."""
        self._live.take_all(lines)
        self.given_up = self._live.given_up
        if self._live.due:  # accepting listeners costs more than most lines
            self.idle()
        else:
            self._write(self._live.changes())

    def idle(self) -> None:
        """Accept listeners, and write the verdicts that changed."""
        self._out.accept(lambda: _lines(self._live.standing))
        self._write(self._live.changes())

    def close(self) -> None:
        """Write every verdict for the last time."""
        found = self._live.changes(final=True)
        self._count(found)
        last = _lines([*found, LiveEnd(self._stream)])
        self._file.write(last)
        self._file.close()
        self._out.close(last)

    def fail(self) -> None:
        """The monitor failed: raise the alarm."""
        self.alarm = self.alarm or "the monitor has failed"
        self._file.close()
        self._out.close()

    def _write(self, found: list[LiveVerdict | LiveLimit]) -> None:
        if not found:
            return
        lines = _lines(found)
        self._file.write(lines)
        self._out.send(lines)
        self._count(found)

    def _count(self, found: list[LiveVerdict | LiveLimit]) -> None:
        for line in found:
            if isinstance(line, LiveLimit):
                LOG.info("resident-claims: %s", line.why)
                continue
            self.verdicts[line.mode.value, line.verdict.value] += 1
            if line.verdict is Verdict.VIOLATED and not self.alarm:
                self.alarm = f"the monitor found claim {line.claim_id} violated"


def _lines(verdicts: Sequence[LiveLine]) -> bytes:
    return b"".join(msgspec.json.encode(line) + b"\n" for line in verdicts)
