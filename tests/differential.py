"""The monitor against the naive projection: one stream through both, compared line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from monitor.census import Keep
from monitor.claim import ClaimRun
from monitor.engine import Monitor
from monitor.records import At, Record, Stamp
from spec.claims import Mode
from spec.modes import MODES
from spec.obligations import OBLIGATIONS
from spec.projection.lines import Line
from spec.projection.naive import Naive
from spec.projection.outcome import Outcome, outcome_of
from spec.verdicts import Verdict
from tests.strategies import Stamped

__all__ = ["BARRED", "Differs", "Tally", "asking", "compare", "lines", "rules_of"]

Verdicts = dict[str, dict[str, Verdict]]
Ruled = tuple[str, str]

BARRED: Final[dict[Ruled, str]] = {}
"""Rules that no stream of the comparison takes, each with the reason."""


class Differs(AssertionError):
    """The two projections hold different verdicts."""


@dataclass
class Tally:
    """What was compared: streams by their verdict, and how often each rule was taken."""

    streams: Counter[str] = field(default_factory=Counter)
    rules: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Count in what another one counted."""
        self.streams += other.streams
        self.rules += other.rules

    def taken(self) -> dict[Ruled, int]:
        """How often each rule was taken, over all modes of whose contracts it is."""
        found = dict.fromkeys((ruled for mode in Mode for ruled in rules_of(mode)), 0)
        for (_, *ruled), count in self.rules.items():
            found[ruled[0], ruled[1]] += count
        return found


def rules_of(mode: Mode) -> list[Ruled]:
    """Every rule of every observer of the mode's contract."""
    return [(name, rule.name) for name in MODES[mode].names() for rule in OBLIGATIONS[name].rules]


# Streams.


def asking(events: Sequence[Stamped], mode: Mode) -> list[Stamped]:
    """The stream where every claim that asks for a mode asks for this one."""
    return [
        (number, msgspec.structs.replace(event, mode=mode.value) if event.mode else event)
        for number, event in events
    ]


def lines(events: Iterable[Stamped]) -> list[Line]:
    """The events, each in a line of its own."""
    return [
        Line(line, (event,), sequence=number, time_ns=event.time_ns)
        for line, (number, event) in enumerate(events, start=1)
    ]


def record(line: Line) -> Record:
    """The line as the monitor takes it."""
    at = At("run", line.at, line.sequence)
    stamp = Stamp("run", line.sequence, line.time_ns, mark=line.mark, observes=line.observes)
    return Record(at, stamp, tuple((event, at) for event in line.events))


# Comparing.


def compare(
    stream: Sequence[Line], mode: Mode, tally: Tally | None = None, keep: Keep | None = None
) -> str:
    """Both read the stream and agree after each line.

    Args:
        keep: with it the monitor may forget claims, and be inconclusive instead.

    Returns:
        The verdict of the whole stream.

    Raises:
        Differs: they do not agree; it names the line.
    """
    monitor, naive = Monitor(mode, keep=keep), Naive(stream, mode)
    forgets = keep is not None
    for line in naive:
        monitor.take(record(line))
        judged = (claim for claim in monitor.claims() if monitor.judges(claim))
        slow = outcome_of(naive)
        _agree(_of_monitor(judged), slow, f"line {line.at}", forgets=forgets)
    naive.finish()
    concluded, slow = monitor.conclude(), outcome_of(naive)
    judged = (each.claim for each in concluded.claims if each.other is None)
    _agree(_of_monitor(judged), slow, "the end", forgets=forgets)
    left = [each and each[0] for each in (_left(monitor), naive.left)]
    if not forgets and left[0] != left[1]:
        raise Differs(f"from line {left[0]} on by the monitor the theorem does not apply, {left}")
    if not forgets and slow.verdict.value != concluded.verdict.value:
        raise Differs(f"{concluded.verdict} by the monitor, {slow.verdict} by the naive projection")
    if tally is not None:
        tally.streams[slow.verdict.value] += 1
        for case in naive.cases.values():
            tally.rules.update({(mode, *ruled): count for ruled, count in case.taken.items()})
    return slow.verdict.value


def _left(monitor: Monitor) -> tuple[int, str] | None:
    """Where the monitor saw the stream leave what the theorem assumes, and how."""
    return next(((at.line, why) for _, (at, why) in monitor.left() if at is not None), None)


def _of_monitor(claims: Iterable[ClaimRun]) -> Verdicts:
    return {c.claim_id: {n: found.verdict for n, found in c.findings()} for c in claims}


def _agree(fast: Verdicts, outcome: Outcome, where: str, *, forgets: bool) -> None:
    """Every claim has the same verdict of each obligation in both.

    A claim that goes by two modes counts for neither, and what is found of it is not compared.

    Args:
        forgets: the monitor may know fewer claims, and be inconclusive instead.
    """
    slow = outcome.claims
    if not forgets and (odd := fast.keys() ^ slow.keys()):
        raise Differs(f"at {where} claims {sorted(odd)} are known to one of both")
    for claim in sorted(name for name in fast.keys() & slow.keys() if not slow[name].torn):
        for name, expected in slow[claim].findings.items():
            found, verdict = fast[claim][name], expected.verdict
            if found is not verdict and not (forgets and found is Verdict.INCONCLUSIVE):
                both = f"{found} by the monitor, {verdict} by the naive projection"
                raise Differs(f"at {where} {name} of {claim}: {both}")
