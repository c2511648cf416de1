"""Follows sources until they end or a signal says so: reads, judges, writes, keeps checkpoints."""

from __future__ import annotations

import math
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from monitor.follow.buffer import Batch, Break, Buffer, Drop, End, Outlet
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

    from monitor.follow.buffer import Position, Source, WhenFull
    from monitor.follow.checkpointing import Recording
    from monitor.follow.engines import Engines
    from monitor.follow.judge import Judge
    from monitor.follow.verdict_line import Counts, VerdictLine
    from monitor.follow.verdicts_file import VerdictsFile
    from monitor.report.verdict import Report

__all__ = ["Follower", "verdict_of"]

STUCK_S: Final = 60.0
"""So long the judging thread may do nothing, not even look whether there is anything to do."""

_LOOK_S: Final = 0.2  # between two looks at signals and the clock
_RETRY_S: Final = 1.0  # between two tries to write what the disk did not take
_JOIN_S: Final = 2.0
_COUNT_S: Final = 5.0  # between two counts of live claims, at least
_SHARE: Final = 20
_STALLED_S: Final = 2.0  # after a longer pause sources are listened to anew


class Follower:
    """Reads sources by a thread each, and judges what they deliver in this one.

    Args:
        sources: by the names that verdicts cite.
        judges: of each source.
        engines: those who judge the lines of ranks.
        report: says something to people.
        tell: what else hears of verdicts, after the file has them.
        positions: where each source is read on, after a restart.
        interrupted: sources of which lines may be missing since the state of their judge, and why.
        look: called between lines, several times a second.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        judges: Mapping[str, Judge],
        counts: Counts,
        when_full: WhenFull,
        engines: Engines,
        *,
        report: Callable[[str], None],
        tell: Callable[[Sequence[VerdictLine]], None],
        verdicts: VerdictsFile | None = None,
        recorder: Recording | None = None,
        positions: Mapping[str, Position] | None = None,
        interrupted: Mapping[str, str] | None = None,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        self.sources, self.judges, self.counts, self.engines = sources, judges, counts, engines
        self.buffer = Buffer(when_full)
        self._report, self._tell, self._show = report, tell, look
        self._verdicts, self._recorder = verdicts, recorder
        self._positions, self._interrupted = dict(positions or {}), dict(interrupted or {})
        self._open = set(sources)
        self._stopping = threading.Event()
        self._reopen = self._stop = self._moved = False
        self._failed, self._beat = "", time.monotonic()
        self._live, self._next_count = 0, 0.0
        self._heard = dict.fromkeys(sources, self._beat)  # when something was judged last
        self._looked = self._beat
        self.outlets = {name: Outlet(name, self.buffer, self._stopping) for name in sources}

    def run(self) -> list[Report]:
        """Follow until all sources end, or SIGTERM or SIGINT; the report of each source.

        What is in the buffer by then is judged.

        Raises:
            OutputError: the file of verdicts cannot be opened again, or takes no more.
        """
        with self._signals():
            threads = [self._start(name, source) for name, source in self.sources.items()]
            try:
                # Before a checkpoint of any of them: what this decides is in the file of verdicts.
                for name, why in self._interrupted.items():
                    self._take(Break(name, why))
                self._follow()
                self._stopping.set()
                self.buffer.close()
                while (item := self.buffer.get(0, self._left())) is not None:
                    self._take(item)
            finally:
                self._stopping.set()
                self.buffer.close()
                for thread in threads:
                    thread.join(_JOIN_S)
            self._save()
            self._count()
            return self._finish()

    @property
    def live(self) -> int:
        """Claims that had not ended when they were last counted, of all sources."""
        return self._live

    def is_up(self, source: str) -> bool:
        """Whether a source was opened, and has not ended."""
        return source in self._open and self.outlets[source].connects > 0

    def healthy(self) -> str:
        """Why nothing is judged any more; empty where it is."""
        idle = time.monotonic() - self._beat
        return f"nothing was done for {idle:.0f} s" if idle > STUCK_S else ""

    def ready(self) -> str:
        """Why what comes is not judged; empty where it is."""
        if self._failed:
            return f"verdicts cannot be written: {self._failed}"
        down = [name for name in self.sources if not self.is_up(name)]
        return f"not open: {', '.join(down)}" if down else self.healthy()

    def silent(self, source: str) -> float:
        """For so many seconds nothing came; 0 where something waits to be judged, or to be read."""
        if source not in self.sources:  # it was followed before a restart
            return math.inf
        waits = self.buffer.has(source) or self.buffer.is_full(source)
        return (
            0.0 if waits or self.sources[source].lag() else time.monotonic() - self._heard[source]
        )

    def all_heard(self, since: float) -> bool:
        """Whether of each source something was judged since then, or nothing waits to be."""
        return all(heard > since or self.silent(name) > 0 for name, heard in self._heard.items())

    def stop(self) -> None:
        """Read no more, judge what is in the buffer, and end."""
        self._stop = True

    def _follow(self) -> None:
        while self._open and not self._stop:
            self._beat = time.monotonic()
            if (item := self.buffer.get(_LOOK_S, self.engines.paused())) is not None:
                self._take(item)
            self._look()
            if time.monotonic() >= self._next_count:
                self._count()
            if self._reopen:
                self._reopen = False
                if self._verdicts is not None:
                    self._verdicts.reopen()
                self._save()
            elif self._moved and self._recorder is not None and self._recorder.due():
                self._save()

    def _look(self) -> None:
        """Have engines go on without ranks that are silent."""
        now = time.monotonic()
        if now - self._looked > _STALLED_S:  # what came meanwhile may not be read yet
            self._heard = dict.fromkeys(self._heard, now)
        self._looked = now
        self._emit(self.engines.look(self))
        self._show()

    def _count(self) -> None:
        """Count live claims, which takes at most one part in `_SHARE` of the time."""
        began = time.monotonic()
        engines = [each.judge for each in self.engines.by_source.values()]
        self._live = sum(judge.live for judge in (*self.judges.values(), *engines))
        ended = time.monotonic()
        self._next_count = ended + max(_COUNT_S, _SHARE * (ended - began))

    def _take(self, item: End | Batch | Break | Drop) -> None:
        judge, self._moved = self.judges[item.source], True
        match item:
            case Batch():
                self._emit([found for line in item.lines for found in judge.take(line)])
                self._positions[item.source] = item.position
            case Break():
                self._emit(judge.interrupt(item.why))
                if item.why != self._interrupted.get(item.source):  # of a restart one knows
                    self._report(f"{item.source}: {item.why}")
            case Drop():
                self._emit(judge.drop(item.lines))
                self._positions[item.source] = item.position
                self._report(f"{item.source}: {item.lines} lines were dropped")
            case End():
                self._open.discard(item.source)
                if item.fault:
                    self._emit(judge.interrupt(item.fault))
                    self._report(f"{item.source}: {item.fault}")
                self._emit(self.engines.end(item.source))
        self._heard[item.source] = time.monotonic()  # after the beginning of an engine in it

    def _left(self) -> Set[str]:
        """Sources whose lines are left where they are when it ends: they wait for those of others,
        and are read again after a restart.
        """
        paused = self.engines.paused() if self._stop and self._recorder is not None else set()
        return {name for name in paused & self.sources.keys() if self.sources[name].replays}

    def _emit(self, lines: list[VerdictLine]) -> None:
        if not lines:
            return
        new = lines
        if self._verdicts is not None:
            new = self._write(self._verdicts, lines)
        self.counts.note(new)
        self._tell(new)

    def _write(self, file: VerdictsFile, lines: list[VerdictLine]) -> list[VerdictLine]:
        """Have the lines in the file; while the disk is full, wait."""
        new = file.add(lines)
        while True:
            try:
                file.flush()
            except OSError as error:
                if not self._failed:
                    self._report(f"cannot write {file.path}: {error.strerror}; trying again")
                self._failed = error.strerror or str(error)
                if self._stop:
                    raise
                time.sleep(_RETRY_S)
                self._beat = time.monotonic()
            else:
                self._failed = ""
                return new

    def _save(self) -> None:
        """Keep a checkpoint of what was judged, once its verdicts are on the disk."""
        if self._recorder is None:
            return
        emitted: Mapping[str, int] = {}
        if self._verdicts is not None:
            try:
                self._verdicts.sync()
            except OSError as error:
                self._report(f"cannot write {self._verdicts.path}: {error.strerror}")
                return
            emitted = self._verdicts.emitted
        self._recorder.save(self.judges, self._positions, emitted, self.engines)
        self._moved = False

    def _finish(self) -> list[Report]:
        """The reports. Verdicts on claims that are not over are written unless the follower can be
        started again from a checkpoint, and goes on with them. A source that had nothing but lines
        of ranks has no report of its own.
        """
        goes_on = self._recorder is not None and bool(self._open)
        merged = [*self.engines.finish()]
        every = [*(judge.finish() for judge in self.judges.values()), *merged]
        for lines, _ in every if not goes_on else ():
            self._emit(lines)
        reports = [report for _, report in every]
        bare = [each for each in reports if not each.events.read and not each.events.rejected]
        return [each for each in reports if each not in bare] if merged else reports

    def _start(self, name: str, source: Source) -> threading.Thread:
        if position := self._positions.get(name):
            source.seek(position)
        outlet = self.outlets[name]

        def run() -> None:
            try:
                source.run(outlet)
            except Exception as error:  # or the follower would wait for it forever
                outlet.end(f"cannot be read: {type(error).__name__}: {error}")

        thread = threading.Thread(target=run, name=f"follow {name}", daemon=True)
        thread.start()
        return thread

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """SIGTERM and SIGINT stop, a second one at once; SIGHUP opens files again."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(number: int, _: object) -> None:
            self._stop = True
            signal.signal(number, before[signal.Signals(number)])

        def reopen(_: int, __: object) -> None:
            self._reopen = True

        handlers = {signal.SIGTERM: stop, signal.SIGINT: stop, signal.SIGHUP: reopen}
        before = {number: signal.signal(number, each) for number, each in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def verdict_of(reports: Iterable[Report], *, dropped: bool) -> ModeVerdict:
    """The verdict over all sources: violated if any is, kept if all are and nothing was dropped."""
    found = {report.verdict for report in reports}
    if ModeVerdict.VIOLATED in found:
        return ModeVerdict.VIOLATED
    kept = found == {ModeVerdict.KEPT} and not dropped
    return ModeVerdict.KEPT if kept else ModeVerdict.INCONCLUSIVE
