"""Shows what is known of watched claims: as a table, or as lines of a log."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from monitor.watch.compare import Differs
from monitor.watch.standing import State
from spec.cli.layout import STYLES, Page, Styled
from spec.language.prose import counted, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.watch.compare import Compared, Disagreement
    from monitor.watch.join import Change, Join
    from monitor.watch.standing import Standing

__all__ = ["change_text", "comparisons", "disagreement_text", "summary", "table"]

_STYLES: Final = {
    State.HELD: STYLES["satisfied"],
    State.ABSENT: STYLES["violated"],
    State.UNKNOWN: STYLES["inconclusive"],
}
_ORDER: Final = {State.ABSENT: 0, State.UNKNOWN: 1, State.HELD: 2}
_DAY_NS: Final = 86_400_000_000_000
_JUDGED: Final = {
    True: "the engine's own events are the observation point: the peer is out of date",
    False: "which of the two is right is not decided",
}
"""What is said of a disagreement, by whether the first observer is the engine."""

_UNSTATED: Final = ("does not state", "held")
_HEAD: Final = ("claim", "state", "GPU", "other tiers", "since", "losses")


def summary(joins: Sequence[Join]) -> str:
    """How many claims are in each state, over all engines."""
    states = [each.state for join in joins for each in join.standings.values()]
    counts = ", ".join(f"{states.count(state)} {state}" for state in State)
    return f"{counts}; {counted(sum(join.breaks for join in joins), 'gap')}"


def table(joins: Sequence[Join], width: int, most: int | None = None) -> Page:
    """What is known of each claim on each engine; what was lost last comes first.

    Args:
        width: columns of the page.
        most: rows at most, each of one line; None: all, of as many lines as they need.
    """
    page = Page(width)
    rows = [(join, each) for join in joins for each in join.standings.values()]
    rows.sort(key=_urgency)
    if not rows:
        return page.put("no batch of KV events was read yet")
    several = len(joins) > 1
    cells = [_cells(join, each, several=several) for join, each in rows[:most]]
    head: list[str] = [*_HEAD[:1], *(["engine"] if several else []), *_HEAD[1:]]
    if most is not None:
        texts = [head, *([str(cell) for cell in row] for row in cells)]
        taken = sum(2 + max(map(len, column)) for column in [*zip(*texts, strict=True)][:-1])
        cells = [[*row[:-1], _cut(str(row[-1]), width - taken)] for row in cells]
    page.grid(cells, head=head, gap=2)
    if most is not None and len(rows) > most:
        page.put(f"and {len(rows) - most} more")
    return page


def change_text(change: Change) -> str:
    """One line of a log."""
    join, each = change.join, change.standing
    said = f"{each.state}, {_held(join, each)} on the GPU"
    if each.why:
        said += f": {each.why}"
    elif each.state is State.ABSENT and not each.was_held:
        said += ": not stored yet"
    return (
        printable("  ".join([_stamp(join.now_ns), join.stream, each.claim.claim_id, said])) + "\n"
    )


def disagreement_text(join: Join, peer: str, each: Disagreement, over: str) -> str:
    """One line of a log.

    Args:
        over: why it is over; empty if it is not.
    """
    said = f"{peer} {_differs(each, join.now_ns)}" + (f"; over: {over}" if over else "")
    return printable("  ".join([_stamp(join.now_ns), join.stream, each.claim_id, said])) + "\n"


def _differs(each: Disagreement, now_ns: int) -> str:
    """What the peer states of blocks, and the first observer."""
    blocks = f"{'block' if each.blocks == 1 else 'blocks'} {each.positions}"
    batch = "" if each.batch is None else f" (batch {each.batch})"
    peer, first = ("states", "not held") if each.kind is Differs.PEER_ONLY else _UNSTATED
    are = "is" if each.blocks == 1 else "are"
    said = f"{peer} {blocks} in {each.tier}, which the first observer says {are} {first}{batch}"
    return f"{said}, since {_clock(each.since_ns, now_ns)}"


def comparisons(results: Sequence[Compared], width: int, most: int | None = None) -> Page:
    """What each comparison came to.

    Args:
        most: disagreements that are shown of each; None: all.
    """
    page = Page(width)
    for each in results:
        head = f"{each.outcome}: {each.stream} and {each.peer}"
        counts = ", ".join(f"{n} {tier}" for tier, n in sorted(each.compared.items()))
        head += f"; compared blocks: {counts}" if counts else ""
        page.put(printable(head + (f"; {each.why}" if each.why else "")))
        for one in each.disagreements[:most]:
            said = f"  {one.claim_id}: the peer {_differs(one, time.time_ns())}"
            page.put(printable(said))
        if most is not None and len(each.disagreements) > most:
            page.put(f"  and {len(each.disagreements) - most} more")
        for tier, why in sorted(each.not_compared.items()):
            page.put(printable(f"  {tier} is not compared: {why}"))
        if each.disagreements:
            page.put(f"  {_JUDGED[each.is_first_engine]}")
    return page


def _urgency(row: tuple[Join, Standing]) -> tuple[int, int]:
    """Claims that are not held come first, and what changed last before others."""
    standing = row[1]
    return _ORDER[standing.state], -(standing.since_ns or 0)


def _cells(join: Join, each: Standing, *, several: bool) -> list[str | Styled]:
    since = "" if each.since_ns is None else _clock(each.since_ns, join.now_ns)
    return [
        printable(each.claim.claim_id),
        *([printable(join.stream)] if several else []),
        Styled(each.state, _STYLES[each.state]),
        _held(join, each),
        _tiers(join, each),
        since,
        _losses(each, join.now_ns),
    ]


def _held(join: Join, each: Standing) -> str:
    """What a hit would find of what is needed, and what else is held."""
    leading, (held, unknown) = join.leading(each), join.counts(each)
    more = [f"{unknown} unknown"] if unknown else []
    if leading is None:
        leading = held
    elif leading < held:
        more.insert(0, f"{held} held")
    return f"{leading} of {each.needed}" + (f" ({', '.join(more)})" if more else "")


def _tiers(join: Join, each: Standing) -> str:
    found = ", ".join(f"{number} {tier}" for tier, number in sorted(each.tiers.items()))
    return f"{found or '-'}{'?' if join.holdings.hides_tiers else ''}"


def _losses(each: Standing, now_ns: int) -> str:
    if each.last is not None:
        return f"{each.losses}, at {_clock(each.last.time_ns, now_ns)} {each.last.why}"
    if each.state is State.UNKNOWN:
        return each.why
    return "" if each.was_held else "not stored yet"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: max(width - 1, 0)]}…"


def _clock(time_ns: int, now_ns: int) -> str:
    """A time of the day (UTC); with the date, where that is another."""
    time = datetime.fromtimestamp(time_ns // 1_000_000_000, UTC)
    same = time_ns // _DAY_NS == now_ns // _DAY_NS
    return f"{time:%H:%M:%S}" if same else f"{time:%Y-%m-%d %H:%M:%S}"


def _stamp(time_ns: int) -> str:
    time = datetime.fromtimestamp(time_ns // 1_000_000_000, UTC)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time_ns // 1_000_000 % 1000:03}Z"
