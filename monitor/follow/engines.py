"""Merges the ranks of engines, whichever sources they come from, and judges each engine as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec

from monitor.follow.verdict_line import key_of
from monitor.input.errors import InputError, kept_state
from monitor.input.rank_merge import RankMerge, fault_of
from monitor.input.records import Disorder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from monitor.follow.judge import Judge
    from monitor.follow.verdict_line import VerdictLine
    from monitor.input.records import Record
    from monitor.input.reorder_window import Window
    from monitor.report.verdict import Report

__all__ = ["ENGINES", "PREFIX", "Engines", "Hearing"]

PREFIX: Final = "ranks:"
"""With this the name of an engine is the source that its verdicts cite."""

ENGINES: Final = 64
"""Engines whose ranks are merged; the lines of one more are rejected."""

_SECOND: Final = 1_000_000_000


class Hearing(Protocol):
    """Knows how long nothing came of sources."""

    def silent(self, source: str) -> float:
        """For so many seconds nothing came; 0 where something waits to be judged, or to be read."""

    def all_heard(self, since: float) -> bool:
        """Whether of each source something was judged since then, or nothing waits to be."""


class _Place(msgspec.Struct, frozen=True, array_like=True):
    """Where a rank is read, and the line that opened it."""

    source: str
    stream: str
    line: int

    @property
    def key(self) -> tuple[str, str]:
        return self.source, self.stream


class _EngineState(msgspec.Struct, frozen=True, array_like=True):
    name: str
    ranks: int
    places: dict[int, _Place]
    origins: dict[str, str]
    merge: bytes
    judge: bytes


class _Refused(msgspec.Struct, frozen=True, array_like=True):
    """A stream of which it is unknown which rank of an engine it is, and why."""

    source: str
    stream: str
    engine: str
    why: str
    hint: str


class _States(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of all engines."""

    engines: list[_EngineState]
    refused: list[_Refused]


class _Of(NamedTuple):
    """The rank that a stream of a source is."""

    engine: Engine
    rank: int

    @property
    def is_over(self) -> bool:
        return self.engine.merge.is_over(self.rank)


class Engine:
    """One engine: its ranks, merged, and the judge of what they are together."""

    def __init__(self, name: str, ranks: int, lines: int, judge: Judge) -> None:
        self.name, self.ranks, self.judge = name, ranks, judge
        self.source = f"{PREFIX}{name}"
        self.merge = RankMerge(name, self.source, ranks, lines)
        self.places: dict[int, _Place] = {}
        self.origins: dict[str, str] = {}
        self.began = 0.0
        self.reported = set[int]()  # ranks of which it was said that they are behind
        self._late = 0  # lines, before a restart
        judge.origins = self.origins

    @property
    def held(self) -> int:
        """Lines that are held back until those of other ranks come."""
        return self.merge.held

    @property
    def disorder(self) -> Disorder:
        """What was out of order since the process started."""
        return Disorder(late=self.merge.late - self._late)

    def note_origin(self, source: str, origin: str) -> None:
        """The source has lines of the engine."""
        if source not in self.origins:
            self.origins[source] = origin
            others = sorted(text for name, text in self.origins.items() if name != self.source)
            self.origins[self.source] = key_of("", *others)

    def state(self) -> _EngineState:
        """The state, for `restore`."""
        places, origins = dict(self.places), dict(self.origins)
        parts = (self.merge.snapshot(), self.judge.snapshot())
        return _EngineState(self.name, self.ranks, places, origins, *parts)

    def restore(self, state: _EngineState) -> None:
        """Go on where `state` was taken; raises SpecError."""
        self.merge.restore(state.merge)
        self.judge.restore(state.judge)
        self.places.update(state.places)
        self.origins.update(state.origins)
        self._late = self.merge.late


class Engines:
    """The engines whose ranks are followed.

    Args:
        wait: for a rank that is silent: so long by the times of the others, and as long by the
            clock of this machine; or until so many lines are held back.
        judge_of: makes the judge of an engine, by the source that its verdicts cite.
        report: prints a message for people.
        clock: the time in seconds.
    """

    def __init__(
        self,
        wait: Window,
        judge_of: Callable[[str], Judge],
        report: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        self._lines = wait.lines
        self._nanoseconds = wait.nanoseconds or 0
        self._judge_of, self._report, self._clock = judge_of, report, clock
        self._engines: dict[str, Engine] = {}
        self._of: dict[tuple[str, str], _Of] = {}
        self._refused: dict[tuple[str, str], _Refused] = {}

    @property
    def merges(self) -> bool:
        """Whether any rank was met."""
        return bool(self._engines)

    @property
    def by_source(self) -> Mapping[str, Engine]:
        """The engines by the sources that their verdicts cite."""
        return {each.source: each for each in list(self._engines.values())}

    def take(self, source: str, origin: str, record: Record, size: int) -> list[VerdictLine] | None:
        """Judge a line of a rank; None where it is of none.

        Raises:
            InputError: it cannot be of the rank that it says it is.
        """
        stamp, key = record.stamp, (source, record.stamp.stream)
        if stamp.rank is None and not self._engines:
            return None
        if stamp.rank is not None:
            of = self._opened(source, record)
        elif (refused := self._refused.get(key)) is not None:
            raise self._refuse(record, refused)
        elif (found := self._of.get(key)) is None:
            self._check_unopened(source, record)
            return None
        else:
            of = found
        engine, rank = of
        if fault := fault_of(record, rank):
            engine.merge.lose(rank, f"line {record.at.line} of {source}: {fault}", unread=True)
            hint = "state time_ns on each event, by a clock that all ranks share"
            raise InputError(source, fault, line=record.at.line, field="time_ns", hint=hint)
        engine.note_origin(source, origin)
        return self._judged(engine, engine.merge.take(rank, record, size))

    def lose(self, source: str, why: str, *, unread: bool = False) -> None:
        """Lines of the ranks in a source may be missing before the next ones, or one was not
        understood.
        """
        for engine, rank in self._in(source):
            engine.merge.lose(rank, f"{source}: {why}", unread=unread)

    def interrupt(self, source: str, why: str) -> None:
        """The numbers of the next lines say whether lines of the ranks in a source are missing."""
        for engine, rank in self._in(source):
            engine.merge.interrupt(rank, f"{source}: {why}")

    def end(self, source: str) -> list[VerdictLine]:
        """A source ended; what is decided by the lines that waited for it."""
        found = []
        for engine, rank in self._in(source):
            found += self._judged(engine, engine.merge.end_of(rank))
        return found

    def paused(self) -> set[str]:
        """Sources that are not to be read on now: their lines wait for those of others."""
        ahead, needed = set[str](), set[str]()
        for engine in self._engines.values():
            blocking = {*engine.merge.blocking()}
            needed |= {at.source for rank, at in engine.places.items() if rank in blocking}
            if blocking and engine.merge.is_half_full:
                ahead |= {at.source for at in engine.places.values()}
        return ahead - needed

    def look(self, hearing: Hearing) -> list[VerdictLine]:
        """Wait no longer for ranks that are silent; what is decided by the lines that waited."""
        found = []
        for engine in self._engines.values():
            for rank in engine.merge.blocking():
                if self._is_silent(engine, rank, hearing):
                    seconds = self._nanoseconds / _SECOND
                    why = f"nothing came of it for more than {seconds:g} s"
                    found += self._judged(engine, engine.merge.overtake(rank, why))
        return found

    def finish(self) -> Iterator[tuple[list[VerdictLine], Report]]:
        """Of each engine the last verdicts and the report."""
        for engine in self._engines.values():
            for rank in engine.merge.missing:
                what = f"rank {rank} of {engine.ranks} of {engine.name} is missing"
                self._report(f"{what}: {self._opening(engine)}; follow the source of it, too")
            lines = self._judged(engine, engine.merge.end())
            late = Disorder(late=engine.merge.late)
            last, report = engine.judge.finish(late if engine.merge.late else None)
            yield [*lines, *last], report

    def snapshot(self) -> bytes:
        """The state, for `restore`; raises SpecError where there is more than a snapshot holds."""
        states = [engine.state() for engine in self._engines.values()]
        return msgspec.msgpack.encode(_States(states, [*self._refused.values()]))

    def restore(self, snapshot: bytes) -> None:
        """Go on where `snapshot` was taken; raises SpecError where it is none."""
        if not snapshot:
            return
        states = kept_state(snapshot, _States, "engines")
        for state in states.engines:
            engine = self._made(state.name, state.ranks)
            engine.restore(state)
            for rank, at in state.places.items():
                self._of[at.key] = _Of(engine, rank)
        self._refused = {(each.source, each.stream): each for each in states.refused}

    def _made(self, name: str, ranks: int) -> Engine:
        engine = Engine(name, ranks, self._lines, self._judge_of(f"{PREFIX}{name}"))
        engine.began = self._clock()
        self._engines[name] = engine
        return engine

    def _in(self, source: str) -> Iterator[_Of]:
        """The ranks that a source has lines of."""
        return (of for (name, _), of in list(self._of.items()) if name == source)

    def _judged(self, engine: Engine, records: Iterable[Record]) -> list[VerdictLine]:
        found = engine.judge.judge(records)
        for rank, why in engine.merge.notes:
            if rank not in engine.reported:
                engine.reported.add(rank)
                text = "the others go on without it, and claims that live meanwhile are"
                self._report(f"{engine.name}: {why}; {text} inconclusive")
        engine.merge.notes.clear()
        return found

    def _is_silent(self, engine: Engine, rank: int, hearing: Hearing) -> bool:
        """Whether a rank that others wait for is so far behind that they go on."""
        merge, wait = engine.merge, self._nanoseconds
        if not merge.is_half_full and merge.silence(rank) <= wait:
            return False
        if (at := engine.places.get(rank)) is not None:
            return hearing.silent(at.source) * _SECOND > wait
        since = engine.began
        return (self._clock() - since) * _SECOND > wait and hearing.all_heard(since)

    def _opened(self, source: str, record: Record) -> _Of:
        """The rank that a mark opens; raises InputError."""
        stamp, key = record.stamp, (source, record.stamp.stream)
        rank, name, at = stamp.rank or 0, stamp.engine, record.at
        place = _Place(source, stamp.stream, at.line)
        engine = self._engines.get(name)
        if engine is None:
            if len(self._engines) >= ENGINES:
                hint = "follow the others by another process"
                raise InputError(source, f"more than {ENGINES} engines", line=at.line, hint=hint)
            engine = self._made(name, stamp.ranks)
        why = hint = ""
        before, other = engine.places.get(rank), self._of.get(key)
        if stamp.ranks != engine.ranks:
            why = f"rank {rank} of {stamp.ranks} of {name}: {self._opening(engine)}"
            hint = "all ranks of an engine state how many there are, and the same number"
        elif other is not None and other != (engine, rank) and not other.is_over:
            first = other.engine.places[other.rank].line
            why = f"rank {rank} in the stream of rank {other.rank}, which line {first} opened"
            hint = "where ranks share a source, give each stream another name, and state engine"
            other.engine.merge.lose_all(why)
        elif before is not None and before.key != key and not engine.merge.is_over(rank):
            why = f"a second rank {rank} of {name}: line {before.line} of {before.source} is it"
            hint = f"number the ranks from 0 to {engine.ranks - 1}, each once, or name two "
            hint += "engines by two names"
        if why:
            refused = _Refused(*key, name, why, hint)
            self._refused[key] = refused
            self._of.pop(key, None)
            raise self._refuse(record, refused)
        if before is not None:
            self._of.pop(before.key, None)
        self._refused.pop(key, None)
        engine.places[rank] = place
        of = self._of[key] = _Of(engine, rank)
        return of

    def _check_unopened(self, source: str, record: Record) -> None:
        """A line of a stream that no mark has opened as a rank; raises InputError where it has the
        name of an engine whose ranks are followed, and may be of any of them.
        """
        name = record.stamp.stream
        if name not in self._engines or name == source:
            return
        why = f"a line of {name} of which nothing says which rank it is of"
        hint = "have each rank begin with stream_opened, and give other streams another name"
        raise self._refuse(record, _Refused(source, name, name, why, hint))

    def _refuse(self, record: Record, refused: _Refused) -> InputError:
        """The error of a line that may be of any rank of an engine."""
        if (engine := self._engines.get(refused.engine)) is not None:
            engine.merge.lose_all(f"line {record.at.line} of {refused.source}: {refused.why}")
        why, hint = refused.why, refused.hint
        return InputError(refused.source, why, line=record.at.line, field="rank", hint=hint)

    @staticmethod
    def _opening(engine: Engine) -> str:
        """Which line says how many ranks there are."""
        for rank, at in sorted(engine.places.items()):
            return f"line {at.line} of {at.source} is rank {rank} of {engine.ranks}"
        return f"there are {engine.ranks}"
