"""Judges records by one mode or by several at once, and makes the report."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final, NamedTuple

from monitor.check.concluded import concluded
from monitor.check.parts import Trusted, order_of
from monitor.check.portion import Portion, portion_of
from monitor.check.stated import Stated
from monitor.check.theorem import WORLDS, Theorem, covers_all
from monitor.durable.collector import paused
from monitor.durable.copies import copies
from monitor.engine import Monitor
from monitor.input.batches import kinds_of, run_of
from monitor.input.records import At, Record, Stamp, at_line
from spec.claims.claim import Mode
from spec.contract.modes import MODES
from spec.events.alphabet import FACTS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from monitor.check.whole import Asked
    from monitor.engine import ClaimVerdict
    from monitor.evaluate.claim import ClaimRun
    from monitor.input.batches import Batch
    from monitor.input.errors import InputError
    from monitor.input.sources import Account
    from monitor.report.verdict import Report
    from monitor.stream.keep import Keep
    from spec.events.canonical import Event

__all__ = ["ENDED", "Judging"]

ENDED: Final = 10_000
"""Claims that are listed after they have ended, of each stream; others are counted."""

_ANY: Final = Mode.BEST_EFFORT
"""Whose monitor finds the claims where none states a mode."""

_ONE: Final = {kind: {kind: 1} for kind in FACTS}
"""One fact of each kind."""


class _Judge(NamedTuple):
    monitor: Monitor
    theorem: Theorem


class Judging:
    """The judges of some modes, which see the same records.

    Args:
        modes: one; or, with `own`, those that claims may state.
        own: judge each claim by the mode that it states.
        shared: judge them in one pass, as long as that can be done.
        goes_on: when it cannot, judge each mode apart from there on; records are taken one by one.
            Else the judging is `apart`, and to begin again.
        keep: what is kept of claims, by default `ENDED` that ended, within the limits asked for.
    """

    def __init__(
        self,
        asked: Asked,
        modes: Collection[Mode],
        *,
        own: bool,
        keep: Keep | None = None,
        shared: bool = False,
        goes_on: bool = False,
    ) -> None:
        self._asked, self._trusted = asked, Trusted()
        self._stated = Stated(modes, asked.claim) if own else None
        self._moved: list[ClaimRun] = []
        self._watched = False
        keep = keep or asked.limits.keep(ENDED)
        first, *rest = (mode for mode in Mode if mode in (modes or [_ANY]))
        self._shared = shared and own and asked.claim is None and bool(rest)
        self._goes_on = self._shared and goes_on

        def monitor(mode: Mode, *beside: Mode) -> Monitor:
            return Monitor(
                mode,
                asked.bundle,
                only=asked.claim,
                strict=asked.strict,
                keep=keep,
                own=own,
                beside=beside,
            )

        judge = monitor(first, *rest) if self._shared else monitor(first)
        self._judges = [_Judge(judge, Theorem(first))]
        for mode in rest:
            judge = judge.by(mode) if self._shared else monitor(mode)
            self._judges.append(_Judge(judge, Theorem(mode)))

    def take(self, record: Record) -> Mode | None:
        """Judge one line, or return the mode that it states and that has no judge yet."""
        if self._stated is not None and self._stated.note(record):
            return self._stated.more
        if self._goes_on and not self._judges[0].monitor.fits(record):
            self._part()
        self._trusted.note(record)
        if not covers_all(record):
            for judge in self._judges:
                judge.theorem.note(record)
        for monitor in self._reading:
            monitor.take(record)
        if self._goes_on and self.apart:
            self._part()
        return None

    def take_event(self, event: Event, at: At) -> None:
        """Judge a canonical event on a line of its own, whatever modes it states."""
        name, stated, kind = event.stream or at.file, self._stated, event.kind
        if self._goes_on and stated is not None and kind in WORLDS:
            stream = self._judges[0].monitor.take_event(event, at, name)
            if stream is not None:
                stated.note_event(event, name)
                if (fact := _ONE.get(kind)) is not None:
                    self._trusted.note_kinds(fact)
                if stream.apart:
                    self._part()
                return
        self.take(Record(at, Stamp(name, event.sequence, event.time_ns), ((event, at),)))

    def take_batch(self, batch: Batch) -> Mode | None:
        """Judge canonical lines, or return the first mode that they state and that has no judge."""
        file, _, events = batch
        places, run = run_of(batch)
        if self._stated is not None:
            names = {e.stream or file for e in events} if run is None else {run.stream}
            if self._stated.note_events(events, names):
                return self._stated.more
        kinds = kinds_of(events)
        self._trusted.note_kinds(kinds)
        for judge in self._judges:
            judge.theorem.note_events(kinds.keys(), events, places)
        for monitor in self._reading:
            if run is None:
                monitor.take_events(events, places)
            else:
                monitor.take_run(run)
        return None

    @property
    def _reading(self) -> Iterator[Monitor]:
        """The monitors that take what is read; if they share their streams, one does for all."""
        judges = self._judges[:1] if self._shared else self._judges
        return (judge.monitor for judge in judges)

    def _part(self) -> None:
        """From now on each mode judges in a pass of its own; what was found so far stays."""
        moved, first, judges = [*self._moved], self._judges[0].monitor, self._judges
        self._shared = self._goes_on = False
        self._moved.clear()
        self._judges = []
        for judge, monitor in zip(judges, copies(first, len(judges)), strict=True):
            monitor.part(judge.monitor.mode)
            self._judges.append(judge._replace(monitor=monitor))
            if self._watched:
                monitor.watch(self._moved)
        for claim in moved:
            judge_of = self._judge_of(claim)
            self._moved.append(claim if judge_of is None else judge_of.own_of(claim))

    @property
    def apart(self) -> bool:
        """Whether the modes cannot be judged in one pass; then the judging is to begin again."""
        return self._shared and self._judges[0].monitor.apart

    def reject(self, error: InputError) -> None:
        """A line could not be read."""
        for monitor in self._reading:
            monitor.reject(at_line(error.file, error.line or 0))

    def lose(self, at: At, why: str, stream: str | None = None) -> None:
        """Lines may be missing here from a stream of a file, or from all that it has so far."""
        for monitor in self._reading:
            monitor.lose(at, why, stream)

    def watch(self) -> None:
        """From now on `news` has what events decide; ask after each line, or memory grows."""
        self._watched = True
        for judge in self._judges:
            judge.monitor.watch(self._moved)

    def news(self, file: str) -> list[ClaimVerdict]:
        """Claims that were moved since the last call, and are violated or over; each by the mode
        that it is judged by.

        Args:
            file: of which every line is.
        """
        if not self._moved:
            return []
        moved, found = {id(claim): claim for claim in self._moved}, []
        self._moved.clear()
        for claim in moved.values():
            monitor = self._judge_of(claim)
            if monitor is not None and (claim.is_broken or claim.over):
                found.append(monitor.judge(file, claim))
        return found

    def in_hand(self) -> Iterator[ClaimVerdict]:
        """The verdict on each claim in hand, by the mode that it is judged by."""
        for judge in self._judges:
            for judged in judge.monitor.standing():
                if self._judge_of(judged.claim) is judge.monitor:
                    yield judged

    @property
    def live(self) -> int:
        """Claims that have not ended; every claim in hand is looked at."""
        return sum(
            self._judge_of(claim) is judge.monitor and not claim.gone
            for judge in self._judges
            for claim in judge.monitor.claims()
        )

    def limits(self, file: str, stream: str) -> dict[str, str]:
        """The limits that a stream reached, and what came of each."""
        found: dict[str, str] = {}
        for monitor in self._reading:
            found |= monitor.limits(file, stream)
        return found

    def finish(self) -> None:
        """Every stream is over."""
        for judge in self._judges:
            judge.monitor.finish()

    def _judge_of(self, claim: ClaimRun) -> Monitor | None:
        """The monitor, if it is one of the mode that judges the claim; where it is unclear which
        one does, the first.
        """
        (mode, asked), first = (claim.compiled.mode, claim.declared_mode), self._judges[0].monitor
        by = asked if asked in MODES else first.mode
        if by != mode:
            return None
        return next((j.monitor for j in self._judges if j.monitor.mode is mode), None)

    def standing(self) -> Iterator[ClaimVerdict]:
        """The verdicts on the claims in hand as they are now, by each of the modes."""
        for judge in self._judges:
            yield from judge.monitor.standing()

    @property
    def streams(self) -> frozenset[str]:
        """The names of the streams so far."""
        return self._judges[0].monitor.streams

    def of(self, name: str) -> Judging:
        """The judges of one stream alone, which they have in common with these."""
        found, first = copy(self), self._judges[0].monitor.of(name)
        found._judges = [
            each._replace(
                monitor=first.by(each.monitor.mode) if self._shared else each.monitor.of(name)
            )
            for each in self._judges
        ]
        if self._shared:
            found._judges[0] = self._judges[0]._replace(monitor=first)
        return found

    def report(self, accounts: Iterable[Account]) -> Report:
        """The report, every stream being finished.

        Args:
            accounts: one of each file that was read.
        """
        return concluded(self._asked, self.portion(accounts))

    @paused()
    def portion(self, accounts: Iterable[Account], *, apart: bool = False) -> Portion:
        """What was found, every stream being finished.

        Args:
            accounts: one of each file that was read.
            apart: other files are judged apart, and their portions joined to this one.
        """
        accounts = list(accounts)
        if self._shared:
            first = self._judges[0].monitor
            self._judges = [j._replace(monitor=first.by(j.monitor.mode)) for j in self._judges]
        for monitor in self._reading:
            monitor.finish()
        late, modes = order_of(accounts).late, []
        for monitor, theorem in self._judges:
            monitor.late = late
            found = monitor.found(apart=apart)
            left = [left for _, left in monitor.left()]
            modes.append(portion_of(monitor.mode, found, left, theorem))
        return Portion(accounts, self._trusted, self._stated, modes)
