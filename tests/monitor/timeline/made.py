"""Makes timelines of traces, and takes them apart by lane."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import monitor.samples
from monitor.check.files import check
from monitor.report.verdict import Report
from monitor.timeline.items import ClaimBegun, Item, RequestSlice, StateSlice
from spec.contract.modes import Bundle
from tests.recordings import FOLDER

TRACES = sorted(
    [*Path(monitor.samples.__file__).parent.glob("*.jsonl"), *FOLDER.rglob("*.jsonl")],
)
"""The shipped samples, and the recordings of real engines."""


def made(path: Path | str, **options: Any) -> tuple[list[Item], Report]:
    """The items of the timeline of a trace, and the report that came with them."""
    items: list[Item] = []
    report = check([str(path)], None, Bundle.CONTRACT, timeline=items.append, **options)
    return items, report


def of(items: list[Item], kind: type) -> list[Any]:
    """The items of one kind."""
    return [each for each in items if isinstance(each, kind)]


def slices(items: list[Item]) -> dict[tuple[type, int], list[Any]]:
    """The slices of each lane, in the order in which they were put."""
    found = defaultdict(list)
    for each in items:
        if isinstance(each, StateSlice):
            found[StateSlice, each.claim].append(each)
        elif isinstance(each, RequestSlice):
            found[RequestSlice, each.request].append(each)
    return found


def claims(items: list[Item]) -> dict[int, ClaimBegun]:
    """The lanes of claims, by number."""
    return {each.claim: each for each in of(items, ClaimBegun)}
