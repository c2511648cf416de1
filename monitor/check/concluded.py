"""Concludes a report from what was found in all files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from monitor.check.parts import input_of, order_of, place_of
from monitor.check.whole import Part, Read, by_each, by_one
from monitor.durable.collector import paused
from monitor.report.verdict import Applies, Events, Forgotten, ModeReport, Unjudged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from monitor.check.portion import ModePortion, Portion, Unclear
    from monitor.check.whole import Asked
    from monitor.report.verdict import Report, UnjudgedClaim
    from spec.claims.claim import Mode

__all__ = ["concluded"]


@paused()
def concluded(asked: Asked, found: Portion) -> Report:
    """The report on what was found."""
    read, stated, modes = _read(found), found.stated, found.modes
    if stated is None:
        (only,) = modes
        others = dict(only.others + only.other_forgotten)
        return by_one(asked, read, _part(only), others)
    parts = [_part(each, stated.forms(each.mode)) for each in modes if each.judges]
    return by_each(asked, read, parts, _unjudged(modes, stated.usual))


def _read(found: Portion) -> Read:
    grounds, order = found.modes[0].grounds, order_of(found.accounts)
    events = Events(
        grounds.read,
        dict(grounds.unknown),
        grounds.rejected,
        duplicates=order.duplicates,
        reordered=order.held,
        late=order.late,
        contradicting=order.contradicting,
    )
    return Read([input_of(each) for each in found.accounts], events, found.trusted.report())


def _part(found: ModePortion, read_from: Iterable[str] = ()) -> Part:
    """What the claims that a mode judges came to.

    Args:
        read_from: the recorded forms whose own words for the mode stand for it.
    """
    grounds = found.grounds
    verdict, why = grounds.verdict(grounds.absent)
    report = ModeReport(
        mode=found.mode,
        verdict=verdict,
        why=why,
        obligations=grounds.pooled,
        forgotten=_forgotten(found),
        theorem=_applies(found),
        read_from=sorted(read_from),
    )
    return Part(report, [claim for each in found.claims for claim in each.reports(found.mode)])


def _unjudged(modes: Sequence[ModePortion], usual: Callable[[str], Mode | None]) -> Unjudged:
    """The claims of which it is unclear by which mode they go, in what several modes found.

    Args:
        usual: the mode that recordings in the form of a stream are mostly judged by.
    """
    # A claim that one mode lists may be forgotten by another, and one alone may find that something
    # is owed to it.
    every = [found.unclear for found in modes]
    owed = {each.key for listed in every for each in listed if not each.owes_nothing}
    named = {each.key: each for listed in reversed(every) for each in reversed(listed)}
    first = {each.key for each in every[0]}
    claims = [_hinted(each, usual) for key, each in reversed(named.items()) if key in owed]
    away = [_hinted(each, usual) for each in every[0] if each.key not in owed]
    most = max(
        found.unclear_owed + sum(each.key in owed for each in listed)
        for found, listed in zip(modes, every, strict=True)
    )
    forgotten = max(0, most - len(claims))
    gone = modes[0].unclear_forgotten
    return Unjudged(claims, forgotten, away, max(0, gone - forgotten - len(owed - first)))


def _hinted(unclear: Unclear, usual: Callable[[str], Mode | None]) -> UnjudgedClaim:
    return msgspec.structs.replace(unclear.claim, hint=usual(unclear.stream))


def _applies(found: ModePortion) -> Applies:
    """Whether the theorem applies to what was read, if all lines could be read."""
    left = found.theorem.left(found.left)
    if left is None and found.grounds.rejected:
        return Applies(False, None, "lines could not be read")
    if left is None:
        return Applies(True)
    at, why = left
    return Applies(False, None if at is None else place_of(at), why)


def _forgotten(found: ModePortion) -> Forgotten:
    by_name = {name: dict(each) for name, each in found.obligations.items() if each}
    return Forgotten(found.verdicts.total(), dict(found.verdicts), by_name)
