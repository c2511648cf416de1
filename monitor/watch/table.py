"""Shows what is known of watched claims: as a table, or as lines of a log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from monitor.watch.standing import State
from spec.cli.layout import STYLES, Page, Styled
from spec.language.prose import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.watch.join import Change, Join
    from monitor.watch.standing import Standing

__all__ = ["change_text", "table"]

_STYLES: Final = {
    State.HELD: STYLES["satisfied"],
    State.ABSENT: STYLES["violated"],
    State.UNKNOWN: STYLES["inconclusive"],
}
_ORDER: Final = {State.ABSENT: 0, State.UNKNOWN: 1, State.HELD: 2}
_DAY_NS: Final = 86_400_000_000_000


def table(joins: Sequence[Join], width: int, most: int | None = None) -> Page:
    """What is known of each claim on each engine; claims that are not held come first.

    Args:
        width: columns of the page.
        most: rows at most.
    """
    page = Page(width)
    rows = [(join, each) for join in joins for each in join.standings.values()]
    rows.sort(key=lambda row: _ORDER[row[1].state])
    several = len(joins) > 1
    head = ["claim", *(["engine"] if several else []), "state", "GPU", "other tiers", "since", ""]
    cells: list[list[str | Styled]] = [
        [
            printable(each.claim.claim_id),
            *([printable(join.stream)] if several else []),
            Styled(each.state, _STYLES[each.state]),
            _held(each),
            _tiers(each),
            "" if each.since_ns is None else _clock(each.since_ns, join.now_ns),
            _losses(each, join.now_ns),
        ]
        for join, each in rows[:most]
    ]
    if not cells:
        return page.put("no batch of KV events was read yet")
    page.grid(cells, head=head, gap=2)
    if most is not None and len(rows) > most:
        page.put(f"and {len(rows) - most} more")
    return page


def change_text(change: Change, *, several: bool) -> str:
    """One line of a log."""
    each = change.standing
    words = [_stamp(change.time_ns), each.claim.claim_id]
    words += [change.stream] if several else []
    words += [f"{each.state}: {_said(change)}"]
    return printable("  ".join(words)) + "\n"


def _said(change: Change) -> str:
    each = change.standing
    if each.state is State.HELD:
        return f"{_held(each)} blocks on the GPU"
    return f"{change.why}; {_held(each)} blocks on the GPU" if change.why else _held(each)


def _held(each: Standing) -> str:
    unknown = each.needed - each.held - each.gone
    return f"{each.held} of {each.needed}" + (f", {unknown}?" if unknown else "")


def _tiers(each: Standing) -> str:
    return ", ".join(f"{number} {tier}" for tier, number in sorted(each.tiers.items())) or "-"


def _losses(each: Standing, now_ns: int) -> str:
    if each.last is None:
        return ""
    times = {1: "lost once,", 2: "lost twice, last"}.get(each.losses)
    times = times or f"lost {each.losses} times, last"
    return f"{times} {_clock(each.last.time_ns, now_ns)}: {each.last.why}"


def _clock(time_ns: int, now_ns: int) -> str:
    """A time of the day; with the date, where that is another."""
    time = datetime.fromtimestamp(time_ns / 1e9, UTC)
    same = time_ns // _DAY_NS == now_ns // _DAY_NS
    return f"{time:%H:%M:%S}" if same else f"{time:%Y-%m-%d %H:%M:%S}"


def _stamp(time_ns: int) -> str:
    return f"{datetime.fromtimestamp(time_ns / 1e9, UTC):%Y-%m-%dT%H:%M:%SZ}"
