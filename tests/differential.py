"""The monitor against the naive projection: the same stream through both, compared line by line.

`python -m tests.differential 100000` (`make differential`) runs so many streams, over all modes.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec
from hypothesis import HealthCheck, given, settings

from monitor.census import Keep
from monitor.engine import Monitor
from monitor.records import At, Record, Stamp
from spec.claims import Mode
from spec.projection.lines import Line
from spec.projection.naive import Naive
from spec.projection.outcome import outcome_of
from spec.verdicts import Verdict
from tests.strategies import Stamped, streams

Verdicts = dict[str, dict[str, Verdict]]


@dataclass
class Tally:
    """What was compared: streams by their verdict."""

    streams: Counter[str] = field(default_factory=Counter)


def asking(events: Sequence[Stamped], mode: Mode) -> list[Stamped]:
    """The stream where every claim that asks for a mode asks for this one."""
    return [
        (number, msgspec.structs.replace(event, mode=mode.value) if event.mode else event)
        for number, event in events
    ]


def records(events: Sequence[Stamped]) -> list[Record]:
    """The stream as the monitor takes it."""
    found = []
    for line, (number, event) in enumerate(events, start=1):
        at = At("run", line, number)
        found.append(Record(at, Stamp("run", number, event.time_ns), ((event, at),)))
    return found


def lines(events: Iterable[Stamped]) -> list[Line]:
    """The stream as the naive projection takes it."""
    return [
        Line(line, (event,), sequence=number, time_ns=event.time_ns)
        for line, (number, event) in enumerate(events, start=1)
    ]


def of_monitor(monitor: Monitor) -> Verdicts:
    """What the monitor holds of each claim that it judges."""
    concluded = monitor.conclude()
    return {
        judged.claim.claim_id: {n: found.verdict for n, found in judged.claim.findings()}
        for judged in concluded.claims
        if judged.other is None
    }


def of_naive(naive: Naive) -> Verdicts:
    """The same of the naive projection."""
    return {
        name: {n: found.verdict for n, found in claim.findings.items()}
        for name, claim in outcome_of(naive).claims.items()
    }


def differ(fast: Verdicts, slow: Verdicts, *, forgetting: bool = False) -> str:
    """Where two verdicts differ, in words; empty where they agree.

    Args:
        forgetting: the monitor may have forgotten claims; then it may be inconclusive instead.
    """
    if not forgetting and (odd := fast.keys() ^ slow.keys()):
        return f"claims {sorted(odd)} are known to one of both"
    for claim in fast.keys() & slow.keys():
        for name, verdict in slow[claim].items():
            found = fast[claim][name]
            unclear = forgetting and found is Verdict.INCONCLUSIVE
            if found is not verdict and not unclear:
                return f"{claim} {name}: {found} by the monitor, {verdict} by the naive projection"
    return ""


def compare(
    events: Sequence[Stamped], mode: Mode, tally: Tally | None = None, keep: Keep | None = None
) -> None:
    """Both read the stream and agree after each line.

    Raises:
        AssertionError: they do not; it names the line.
    """
    monitor, naive = Monitor(mode, keep=keep), Naive(lines(events), mode)
    for record, line in zip(records(events), naive, strict=True):
        monitor.take(record)
        fast = {
            claim.claim_id: {n: found.verdict for n, found in claim.findings()}
            for claim in monitor.claims()
            if monitor.judges(claim)
        }
        wrong = differ(fast, of_naive(naive), forgetting=keep is not None)
        assert not wrong, f"{mode}, line {line.at}: {wrong}"
    naive.finish()
    concluded = monitor.conclude()
    slow = outcome_of(naive)
    wrong = differ(of_monitor(monitor), of_naive(naive), forgetting=keep is not None)
    assert not wrong, f"{mode}, at the end: {wrong}"
    if keep is None:
        assert slow.verdict.value == concluded.verdict.value, f"{mode}: {concluded.why}"
    if tally is not None:
        tally.streams[slow.verdict.value] += 1


def main(argv: Sequence[str]) -> int:
    """Compare so many streams, and say how they came out; 1 where two verdicts differ."""
    number = int(argv[0]) if argv else 100_000
    share = -(-number // len(Mode))
    for mode in Mode:
        tally = Tally()

        @settings(
            max_examples=share,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(streams())
        def agree(stream: list[Stamped], mode: Mode = mode, tally: Tally = tally) -> None:
            compare(asking(stream, mode), mode, tally)

        try:
            agree()
        except AssertionError as error:
            print(f"differs: {error}", file=sys.stderr)
            return 1
        counts = ", ".join(f"{count} {verdict}" for verdict, count in tally.streams.items())
        print(f"{mode}: {tally.streams.total()} streams agree: {counts}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
