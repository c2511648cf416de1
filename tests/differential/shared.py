"""One monitor that judges each claim by its own mode, against one monitor for each mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from monitor.check.judging import Judging
from monitor.check.whole import Asked
from monitor.engine import Monitor
from monitor.input.sources import Account
from monitor.live.feed import Live
from monitor.stream.known_claims import Keep
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from tests.differential.compare import Differs, record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.engine import ClaimVerdict
    from monitor.evaluate.observer_state import Finding
    from spec.events.canonical import Event
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


def compare_live(stream: Sequence[Line], ended: int = 1_000) -> bool:
    """Live verdicts of all modes in one pass, against those of a monitor for each mode.

    Returns:
        Whether the one pass was parted.

    Raises:
        Differs: at some line other verdicts are emitted.
    """
    one, each = (Live("run", tuple(Mode), ended=ended) for _ in range(2))
    each._part()
    for line in stream:
        for event in line.events[:1]:
            place = {"sequence": line.sequence, "time_ns": line.time_ns}
            _emit(one, each, msgspec.structs.replace(event, **place), f"line {line.at}")
    found = [sorted(live.changes(final=True), key=repr) for live in (one, each)]
    if found[0] != found[1]:
        raise Differs(f"at the end {found[0]} in one pass, {found[1]} by themselves")
    return not one._shared


def _emit(one: Live, each: Live, event: Event, where: str) -> None:
    found = []
    for live in (one, each):
        live.take(event)
        live._next = 0.0  # it is time to look again
        found.append(sorted(live.changes(), key=repr))
    if found[0] != found[1]:
        raise Differs(f"{where}: {found[0]} in one pass, {found[1]} by themselves")


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
