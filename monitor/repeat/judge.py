"""Decides whether each run of a repetition shows what its row expects.

A success restores a claim from the offload tier. A failure fails to load a claim, and reports an
outcome that names this claim. A control has no such outcome, or one that the check rejects. The
repetition holds if all runs that are due were made and each shows what is expected. Source:
Fail-Closed Lowering of Resident KV Claims, table 8.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from monitor.repeat.runs import RowKind
from spec.language.prose import counted
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from monitor.repeat.run import Run
    from monitor.repeat.runs import ListedRow

__all__ = ["Latency", "Repeated", "Repetition", "Row", "judge"]


class Repeated(StrEnum):
    """Whether all runs show what their rows expect."""

    HOLDS = "holds"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"


class Latency(msgspec.Struct, frozen=True):
    """The time from failed loads to their outcomes, in ns: how many state it, median and p95.

    A percentile is the least value that so many of the values do not exceed (nearest rank).
    """

    failures: int
    p50_ns: int
    p95_ns: int


class Row(msgspec.Struct, frozen=True):
    """The runs of one row: how many there are, are due, and show each of these.

    `valid` runs have a complete sequence of events, `kept` ones the verdict kept. `restored` ones
    bring a claim back, in `failed` ones a load of a claim failed, and `outcomes` ones report the
    outcome for that claim. `latency` is null if no failure states it. The bytes are those of all
    runs, and null if a run does not state them.
    """

    row: str
    kind: RowKind
    due: int
    runs: int
    valid: int
    kept: int
    restored: int
    failed: int
    outcomes: int
    met: int
    latency: Latency | None
    stored_bytes: int | None
    loaded_bytes: int | None


class Repetition(msgspec.Struct, frozen=True, tag_field="schema", tag="resident-claims/repeat/1"):
    """All rows together.

    `unmet` has the runs that do not show what their row expects, by their traces, each with the
    reason; `unclear` those that leave it open.
    """

    verdict: Repeated
    why: str
    runs: int
    rows: list[Row]
    unmet: dict[str, str]
    unclear: dict[str, str]


def judge(rows: Sequence[tuple[ListedRow, Sequence[Run]]]) -> Repetition:
    """Judge the runs of all rows."""
    runs = [run for _, made in rows for run in made]
    unmet = {run.listed.trace: run.why for run in runs if run.met is False}
    unclear = {run.listed.trace: run.why for run in runs if run.met is None}
    first: dict[str, Run] = {}
    for run in runs:
        if (other := first.setdefault(run.sha256, run)) is not run:
            unclear.setdefault(run.listed.trace, f"it has the same events as {other.listed.trace}")
    counts = [_row(listed, made) for listed, made in rows]
    verdict, why = _verdict(counts, unmet, unclear)
    return Repetition(verdict, why, len(runs), counts, unmet, unclear)


def _verdict(
    rows: Sequence[Row], unmet: dict[str, str], unclear: dict[str, str]
) -> tuple[Repeated, str]:
    for verdict, found, what in (
        (Repeated.VIOLATED, unmet, "not as expected"),
        (Repeated.INCONCLUSIVE, unclear, "unclear"),
    ):
        if found:
            trace, why = next(iter(found.items()))
            return verdict, f"{counted(len(found), 'run')} {what}; {trace}: {why}"
    for row in rows:
        if row.runs < row.due:
            return Repeated.INCONCLUSIVE, f"{row.row}: {row.runs} of {row.due} runs were made"
    if missing := [str(kind) for kind in RowKind if not any(row.kind is kind for row in rows)]:
        return Repeated.INCONCLUSIVE, f"there is no row of the kind {' and '.join(missing)}"
    total = counted(sum(row.runs for row in rows), "run")
    return Repeated.HOLDS, f"each of {total} shows what is expected of its row"


def _row(listed: ListedRow, runs: Sequence[Run]) -> Row:
    shown = [run.shown for run in runs]
    latencies = sorted(ns for each in shown for ns in each.latencies_ns)
    return Row(
        row=listed.row,
        kind=listed.kind,
        due=listed.due,
        runs=len(runs),
        valid=sum(not each.broken for each in shown),
        kept=sum(each.verdict is ModeVerdict.KEPT for each in shown),
        restored=sum(each.restored > 0 for each in shown),
        failed=sum(each.failed > 0 for each in shown),
        outcomes=sum(each.outcomes > 0 for each in shown),
        met=sum(run.met is True for run in runs),
        latency=_latency(latencies) if latencies else None,
        stored_bytes=_total(run.listed.stored_bytes for run in runs),
        loaded_bytes=_total(run.listed.loaded_bytes for run in runs),
    )


def _latency(ordered: Sequence[int]) -> Latency:
    return Latency(len(ordered), _percentile(ordered, 50), _percentile(ordered, 95))


def _percentile(ordered: Sequence[int], percent: int) -> int:
    """The value at the nearest rank."""
    return ordered[-(-percent * len(ordered) // 100) - 1]


def _total(sizes: Iterable[int | None]) -> int | None:
    """The sum; None if there is no size, or one is not stated."""
    stated = list(sizes)
    known = [size for size in stated if size is not None]
    return sum(known) if stated and len(known) == len(stated) else None
