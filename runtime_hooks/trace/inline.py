"""The monitor inside the serving process: judges what the journal hands on, on its thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from monitor.live.feed import Live, LiveEnd
from runtime_hooks.settings.config import TAKEN
from runtime_hooks.trace.broadcast import Broadcast
from runtime_hooks.trace.tracefile import NewFile
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.live.feed import LiveLine, LiveVerdict
    from runtime_hooks.trace.journal import Line

__all__ = ["Inline"]


class Inline:
    """Verdicts on one stream, into a file of lines and to whoever listens.

    `alarm` is empty until a claim is violated, and then says which, or that the monitor has failed;
    another thread may read it.

    Raises:
        SettingsError: the file or the socket cannot be made.
    """

    def __init__(self, stream: str, verdicts: str, socket: str) -> None:
        self.alarm, self._stream = "", stream
        self._live = Live(stream, TAKEN)
        self._file = NewFile(verdicts, "the file of verdicts", "trace")
        self._out = Broadcast(socket)

    def take(self, lines: Sequence[Line]) -> None:
        """Judge events, and tell what has changed."""
        for line in lines:
            self._live.take(line)
        if self._live.due:  # to let listeners in costs more than most lines
            self.idle()
        else:
            self._tell(self._live.changes())

    def idle(self) -> None:
        """Let listeners in, and tell what has changed."""
        self._out.accept(lambda: _lines(self._live.standing))
        self._tell(self._live.changes())

    def close(self) -> None:
        """Tell every verdict for the last time."""
        last = _lines([*self._live.changes(final=True), LiveEnd(self._stream)])
        self._file.write(last)
        self._file.close()
        self._out.close(last)

    def fail(self) -> None:
        """Nothing is judged any more, which is a reason to accept no more claims."""
        self.alarm = self.alarm or "the monitor has failed"
        self._file.close()
        self._out.close()

    def _tell(self, told: list[LiveVerdict]) -> None:
        if told:
            lines = _lines(told)
            self._file.write(lines)
            self._out.send(lines)
        for verdict in told:
            if verdict.verdict is Verdict.VIOLATED and not self.alarm:
                self.alarm = f"the monitor found claim {verdict.claim_id} violated"


def _lines(told: Sequence[LiveLine]) -> bytes:
    return b"".join(msgspec.json.encode(line) + b"\n" for line in told)
