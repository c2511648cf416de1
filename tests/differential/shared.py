"""One monitor that judges each claim by its own mode, against one monitor for each mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from monitor.check.judging import Judging
from monitor.check.whole import Asked
from monitor.engine import Monitor
from monitor.input.records import Record, at_line, stamp_of
from monitor.input.sources import Account
from monitor.live.feed import Live
from monitor.stream.keep import Keep
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.language.verdicts import Verdict
from tests.differential.compare import Differs, record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.engine import ClaimVerdict
    from monitor.evaluate.observer_state import Finding
    from monitor.live.lines import LiveVerdict
    from spec.projection.lines import Line

__all__ = ["compare_going_on", "compare_live", "compare_shared"]

Findings = dict[str, dict[str, "Finding"]]


def compare_shared(stream: Sequence[Line], keep: Keep | None = None) -> bool:
    """Both read the stream; after each line each claim has the same findings, explained alike.

    Args:
        keep: what both monitors keep of claims that are over.

    Returns:
        Whether the modes could be judged together to the end.

    Raises:
        Differs: they do not agree; it names the line.
    """
    first, *rest = Mode
    shared = Monitor(first, keep=keep, own=True, beside=tuple(rest))
    single = {mode: Monitor(mode, keep=keep, own=True) for mode in Mode}
    for line in stream:
        read = record(line)
        shared.take(read)
        if shared.apart:
            return False
        for mode, monitor in single.items():
            monitor.take(read)
            _agree(shared.by(mode), monitor, f"line {line.at}")
    for mode, monitor in single.items():
        ours, theirs = shared.by(mode).conclude(), monitor.conclude()
        _agree(shared.by(mode), monitor, "the end")
        for part in ("verdict", "why", "absent", "obligations", "read", "unknown", "rejected"):
            one, other = getattr(ours, part), getattr(theirs, part)
            if one != other:
                raise Differs(f"{mode}: {part} is {one} in one pass, and {other} by itself")
        gone = [_counted(each.forgotten) for each in (ours, theirs)]
        if gone[0] != gone[1]:
            raise Differs(f"{mode}: {gone[0]} forgotten in one pass, and {gone[1]} by itself")
    return True


def compare_going_on(stream: Sequence[Line], keep: Keep | None = None) -> bool:
    """The same of one judging of all modes that parts where it must, and goes on.

    Returns:
        Whether it was parted.

    Raises:
        Differs: they do not agree; it names the line.
    """
    asked, rest = Asked(Bundle.CONTRACT, False, None), {"own": True, "keep": keep or Keep()}
    one = Judging(asked, set(Mode), shared=True, goes_on=True, **rest)
    each = Judging(asked, set(Mode), **rest)
    for judging in (one, each):
        judging.watch()
    for line in stream:
        read, news = record(line), []
        for judging in (one, each):
            judging.take(read)
            news.append({_shown(found) for found in judging.news("run")})
        if news[0] != news[1]:
            raise Differs(f"line {line.at}: news {news[0]} in one pass, {news[1]} by themselves")
        for ours, theirs in zip(one._judges, each._judges, strict=True):
            _agree(ours.monitor, theirs.monitor, f"line {line.at}")
    parted = not one._shared
    reports = [judging.report([Account("run")]) for judging in (one, each)]
    if reports[0] != reports[1]:
        raise Differs(f"{reports[0]} in one pass, {reports[1]} by themselves")
    return parted


def compare_live(stream: Sequence[Line]) -> bool:
    """Live verdicts of all modes in one pass, against what one monitor for each mode finds.

    Returns:
        Whether the pass was parted. From there on claims of other modes are guests, of which less
        is kept, and a verdict may be inconclusive instead.

    Raises:
        Differs: at some line another verdict is emitted.
    """
    live, single = Live("run", tuple(Mode)), {mode: Monitor(mode, own=True) for mode in Mode}
    events = ((line, event) for line in stream for event in line.events[:1])
    for number, (line, event) in enumerate(events, 1):
        place = {"sequence": line.sequence, "time_ns": line.time_ns}
        given = msgspec.structs.replace(event, **place)
        live.take(given)
        live._next = 0.0  # it is time to look again
        live.changes()
        at = at_line("run", number, line.sequence)
        for monitor in single.values():
            monitor.take(Record(at, stamp_of(given, "run"), ((given, at),)))
        for verdict in live._emitted.values():
            _as_found(verdict, single[verdict.mode], f"line {line.at}", parted=not live._shared)
    return not live._shared


def _as_found(verdict: LiveVerdict, monitor: Monitor, where: str, *, parted: bool) -> None:
    """A live verdict is what a monitor of its mode alone finds of the claim."""
    claim = next(each for each in monitor.claims() if each.claim_id == verdict.claim_id)
    found = {n: f.verdict for n, f in claim.findings() if f.verdict is not Verdict.UNEXERCISED}
    less = {n for n, each in verdict.obligations.items() if each is Verdict.INCONCLUSIVE}
    alike = all(verdict.obligations.get(n) == found.get(n) for n in {*found} - less)
    if verdict.state != claim.state or not (alike if parted else verdict.obligations == found):
        raise Differs(f"{where}: {verdict} in one pass, {found} by itself")


def _shown(found: ClaimVerdict) -> tuple[object, ...]:
    findings = tuple(found.findings.items())
    return found.claim.claim_id, found.verdict, found.why, found.unclear or findings


def _counted(forgotten: Sequence[tuple[object, int]]) -> int:
    """How many claims of the mode were forgotten."""
    return sum(count for each, count in forgotten if each.judged)  # type: ignore[attr-defined]


def _agree(shared: Monitor, single: Monitor, where: str) -> None:
    ours, theirs = _findings(shared), _findings(single)
    if odd := ours.keys() ^ theirs.keys():
        raise Differs(f"{single.mode} at {where}: {sorted(odd)} are known to one of both")
    for name, found in theirs.items():
        if ours[name] != found:
            both = f"{ours[name]} in one pass, {found} by itself"
            raise Differs(f"{single.mode} at {where}, {name}: {both}")
    for part in ("left", "contradicted"):
        one, other = list(getattr(shared, part)()), list(getattr(single, part)())
        if one != other:
            raise Differs(f"{single.mode} at {where}: {part} {one} in one pass, {other} by itself")


def _findings(monitor: Monitor) -> Findings:
    return {
        claim.claim_id: {"state": claim.state, "taint": claim.taint, **dict(claim.findings())}  # type: ignore[dict-item]
        for claim in monitor.claims()
        if claim.declared_mode == monitor.mode
    }
