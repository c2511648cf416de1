"""The monitor against the naive projection: one stream through both, compared line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

import msgspec

from monitor.engine import Monitor
from monitor.evaluate.claim import ClaimRun
from monitor.input.records import CANONICAL, Doubt, Form, Record, Stamp, at_line
from monitor.stream.keep import Keep
from spec.claims.claim import Mode
from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import Kind
from spec.language.verdicts import Verdict
from spec.projection.lines import Line
from spec.projection.naive import Naive
from spec.projection.outcome import Outcome, outcome_of
from tests.streams.strategies import Stamped

__all__ = [
    "BARRED",
    "Differs",
    "Heard",
    "Tally",
    "asking",
    "compare",
    "follow",
    "heard",
    "lines",
    "rules_of",
]

Found = tuple[Verdict, int | None]
Verdicts = dict[str, dict[str, Found]]
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
    at = at_line("run", line.at, line.sequence)
    form = _form(line.skips, line.derived, line.foreign)
    stamp = Stamp("run", line.sequence, line.time_ns, form, line.mark, line.observes)
    doubts = tuple(Doubt("it says too little", name, only) for name, only in line.doubts)
    return Record(at, stamp, tuple((event, at) for event in line.events), doubts=doubts)


@cache
def _form(skips: bool, derived: frozenset[Kind], foreign: bool) -> Form:
    plain = not (skips or derived or foreign)
    return CANONICAL if plain else Form("recorded", skips=skips, derived=derived)


# Comparing.


class Heard(NamedTuple):
    """What the monitor held after each line and at the end, where the theorem ceased to apply, and
    its verdict; with `forgets` it may have forgotten claims, and be inconclusive instead.
    """

    lines: list[Verdicts]
    end: Verdicts
    left: int | None
    verdict: str
    forgets: bool


def heard(stream: Sequence[Line], mode: Mode, keep: Keep | None = None) -> Heard:
    """What the monitor makes of a stream.

    Args:
        keep: with it the monitor may forget claims.
    """
    monitor, held = Monitor(mode, keep=keep), []
    for line in stream:
        monitor.take(record(line))
        held.append(_of_monitor(claim for claim in monitor.claims() if claim.may_be_judged))
    concluded = monitor.conclude()
    end = _of_monitor(each.claim for each in concluded.claims if each.other is None)
    return Heard(held, end, _left(monitor), concluded.verdict.value, keep is not None)


def follow(stream: Sequence[Line], mode: Mode, said: Heard) -> tuple[Naive, str]:
    """The naive projection agrees with what the monitor said, after each line and at the end.

    Returns:
        The projection, and its verdict of the whole stream.

    Raises:
        Differs: they do not agree; it names the line.
    """
    naive = Naive(stream, mode)
    for line, fast in zip(naive, said.lines, strict=True):
        _agree(fast, outcome_of(naive), f"line {line.at}", forgets=said.forgets)
    naive.finish()
    slow = outcome_of(naive)
    _agree(said.end, slow, "the end", forgets=said.forgets)
    left = naive.left and naive.left[0]
    if not said.forgets and left != said.left:
        both = f"line {said.left} by the monitor, {left} by the naive projection"
        raise Differs(f"the theorem does not apply from {both}")
    if not said.forgets and slow.verdict.value != said.verdict:
        raise Differs(f"{said.verdict} by the monitor, {slow.verdict} by the naive projection")
    return naive, slow.verdict.value


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
    naive, verdict = follow(stream, mode, heard(stream, mode, keep))
    if tally is not None:
        tally.streams[verdict] += 1
        for case in naive.cases.values():
            tally.rules.update({(mode, *ruled): count for ruled, count in case.taken.items()})
    return verdict


def _left(monitor: Monitor) -> int | None:
    """The line where the monitor saw the stream leave what the theorem assumes."""
    return next((at.line for _, (at, _) in monitor.left() if at is not None), None)


def _of_monitor(claims: Iterable[ClaimRun]) -> Verdicts:
    return {
        c.claim_id: {n: _found(f.verdict, f.at.line if f.at else None) for n, f in c.findings()}
        for c in claims
    }


def _found(verdict: Verdict, line: int | None) -> Found:
    """A verdict, and of a breach the line."""
    return verdict, line if verdict is Verdict.VIOLATED else None


def _agree(fast: Verdicts, outcome: Outcome, where: str, *, forgets: bool) -> None:
    """Every claim has the same verdict of each obligation in both, and a breach the same line.

    A claim that goes by two modes counts for neither, and what is found of it is not compared.

    Args:
        forgets: the monitor may know fewer claims, be inconclusive instead, and find a breach later
            or not know its line.
    """
    slow = outcome.claims
    if not forgets and (odd := fast.keys() ^ slow.keys()):
        raise Differs(f"at {where} claims {sorted(odd)} are known to one of both")
    for claim in sorted(name for name in fast.keys() & slow.keys() if not slow[name].torn):
        for name, expected in slow[claim].findings.items():
            found, verdict = fast[claim][name], _found(expected.verdict, expected.at)
            lost = forgets and (found[0] is Verdict.INCONCLUSIVE or _is_later(found, verdict))
            if found != verdict and not lost:
                both = f"{_said(found)} by the monitor, {_said(verdict)} by the naive projection"
                raise Differs(f"at {where} {name} of {claim}: {both}")


def _is_later(found: Found, than: Found) -> bool:
    """Whether a breach was found after another one, or it is unknown where."""
    if not found[0] is than[0] is Verdict.VIOLATED:
        return False
    return found[1] is None or than[1] is None or found[1] >= than[1]


def _said(found: Found) -> str:
    verdict, line = found
    return verdict if line is None else f"{verdict} at line {line}"
