"""Prints a repetition: as text, and as tables in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.cli.layout import Page
from spec.docs.markdown import table
from spec.language.prose import printable

if TYPE_CHECKING:
    from monitor.repeat.judge import Repetition, Row

__all__ = ["as_markdown", "put"]

_COUNTS: Final = ("kind", "runs", "valid", "kept", "restored", "failed", "outcome", "met", "row")
_SIZES: Final = ("outcome p50", "outcome p95", "bytes stored", "bytes loaded", "row")
_UNSTATED: Final = "not stated"
_MOST: Final = 10  # runs that are listed


def put(out: Page, found: Repetition) -> None:
    """Add a repetition to a page."""
    out.put(printable(f"{found.verdict}: {found.why}"), "bold").put()
    out.grid(map(_counts, found.rows), head=_COUNTS, gap=2).put()
    out.grid(map(_sizes, found.rows), head=_SIZES, gap=2)
    listed = [*found.unmet.items(), *found.unclear.items()]
    for trace, why in listed[:_MOST]:
        out.put(printable(f"{trace}: {why}"), indent=2)
    if len(listed) > _MOST:
        out.put(f"{len(listed) - _MOST} more runs are in --format json.", indent=2)


def as_markdown(found: Repetition) -> str:
    """The verdict and two tables."""
    said = printable(f"{found.verdict}: {found.why}")
    counts, sizes = (
        table(head, map(cells, found.rows))
        for head, cells in ((_COUNTS, _counts), (_SIZES, _sizes))
    )
    return f"{said}\n\n{counts}\n\n{sizes}\n"


def _counts(row: Row) -> tuple[str, ...]:
    runs = str(row.runs) if row.runs == row.due else f"{row.runs} of {row.due}"
    shown = (row.valid, row.kept, row.restored, row.failed, row.outcomes, row.met)
    return row.kind, runs, *map(str, shown), printable(row.row)


def _sizes(row: Row) -> tuple[str, ...]:
    latency, sizes = row.latency, (row.stored_bytes, row.loaded_bytes)
    times = (_UNSTATED,) * 2
    if latency is not None:
        times = (_micros(latency.p50_ns), _micros(latency.p95_ns))
    said = (_UNSTATED if size is None else f"{size:,}" for size in sizes)
    return *times, *said, printable(row.row)


def _micros(ns: int) -> str:
    return f"{ns / 1000:,.1f} us"
