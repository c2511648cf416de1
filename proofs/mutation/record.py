"""`python -m proofs.mutation.record SCENARIOS TABLE`: records traces as runs that detect mutants.

SCENARIOS is a trace with one scenario a stream. For each mode, the run of its first claim is added
to the recorded runs, with pins. TABLE is the Markdown table of the hand-written traces; it names
the mode of each. A run holds what the monitor delivers to one claim and one of its requests.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from monitor.evaluate.compile import Compiled, compile_mode
from monitor.input.sources import read
from monitor.stream.projection import Stream
from proofs.mutation import pins
from proofs.mutation.runs.judge import alike, is_faithful
from proofs.mutation.runs.lines import HAND, RUNS, runs, write_run
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.contract.vocabulary import EVENT_FIELDS
from spec.events.fields import REQUEST_KINDS
from spec.files.writing import write_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.constants import Constants
    from monitor.evaluate.event_view import EventView
    from monitor.input.records import Record
    from monitor.requests.request import Request
    from spec.events.alphabet import Kind
    from spec.events.canonical import Event

__all__ = ["handwritten", "projected", "scenarios"]

_HEAD: Final = """\
# The hand-written traces of tests/obligations/traces: name, mode, and the events that are delivered
# to a claim and a request in it. `make runs` writes this.
"""

_RANKED: Final = "priority_influence"
"""Judged by the losses of two claims at a time, beside the events that are delivered to either."""


@dataclass
class _Delivered:
    """The events that are delivered to one claim, each with the request it belongs to, if any.

    Workers are numbered in order of appearance; the monitor's own numbers are digests.
    """

    constants: Constants
    events: list[tuple[Kind, dict[str, Any]]] = field(default_factory=list)
    requests: list[str | None] = field(default_factory=list)
    _last: EventView | None = None
    _workers: dict[int, int] = field(default_factory=lambda: {0: 0})

    def add(self, e: EventView, request: str | None = None) -> None:
        """Add an event, or the request to which the event that was just added belongs."""
        if e is not self._last:
            fields = {name: getattr(e, name) for name in EVENT_FIELDS}
            fields["worker"] = self._workers.setdefault(e.worker, len(self._workers))
            self.events.append((e.kind, fields))
            self.requests.append(None)
        self._last, self.requests[-1] = e, request

    def lines(self) -> Iterator[str]:
        """The run of each request, or that of the claim alone."""
        for request in dict.fromkeys(filter(None, self.requests)) or [None]:
            events = []
            for (kind, fields), own in zip(self.events, self.requests, strict=True):
                here = own is not None and own == request and kind in REQUEST_KINDS
                events.append((kind, {**fields, "here": here}))
            yield write_run(self.constants.threshold, events)


class _Telling(Stream):
    """A stream that delivers each event of a request that fits the pool to every responsible claim,
    whether or not it presses on it.
    """

    def __init__(self, compiled: Compiled, name: str) -> None:
        super().__init__(compiled, name, ways={})

    def _presses(self, request: Request) -> bool:
        return request.needed <= request.usable

    def _has_part(self, claim: ClaimRun, event: Event, request: Request, view: EventView) -> bool:
        return True


def _recording(compiled: Compiled) -> tuple[Compiled, dict[int, _Delivered]]:
    """A bundle that steps as before, and the events that are delivered to each claim."""
    found: dict[int, _Delivered] = {}

    def claim(e: EventView, c: Constants, was: Any) -> Any:
        found.setdefault(id(c), _Delivered(c)).add(e)
        return compiled.claim(e, c, was)

    def request(e: EventView, c: Constants, *ledgers: Any) -> Any:
        if e.here:
            found.setdefault(id(c), _Delivered(c)).add(e, e.request_id)
        return compiled.request(e, c, *ledgers)

    return replace(compiled, claim=claim, request=request), found


def projected(
    mode: Mode, records: Iterable[Record], kind: Callable[[Compiled, str], Stream] = Stream
) -> list[str]:
    """The runs of a trace, in the order in which claims begin.

    Args:
        kind: of the streams, which says what is delivered.
    """
    compiled, found = _recording(compile_mode(mode, Bundle.CONTRACT))
    streams: dict[tuple[str, str], Stream] = {}
    for record in records:
        key = (record.at.file, record.stamp.stream)
        stream = streams.setdefault(key, kind(compiled, record.stamp.stream))
        stream.stamp(record.stamp, record.at)
        for event, at in record.events:
            stream.take(event, at)
    return list(dict.fromkeys(line for claim in found.values() for line in claim.lines()))


def scenarios(path: Path) -> list[str]:
    """The first run of each stream of a trace by each mode, where it is faithful in some mode."""
    streams: dict[str, list[Record]] = {}
    for record in read([str(path)]):
        streams.setdefault(record.stamp.stream, []).append(record)
    lines: dict[str, None] = {}
    for records in streams.values():
        for mode in Mode:
            lines |= dict.fromkeys(projected(mode, records, _Telling)[:1])
    return [line for line in lines if any(is_faithful(alike(mode), line) for mode in Mode)]


def handwritten(table: Path) -> str:
    """The text of the file of hand-written traces, those of the table in the canonical form."""
    found = [_HEAD]
    for row in table.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if cells[0] in OBLIGATIONS and cells[0] != _RANKED and cells[1] == "canonical":
            name, mode = cells[0], Mode(cells[2])
            for ending in ("kept", "broken"):
                trace = f"{name}.{ending}"
                lines = projected(mode, read([str(table.parent / f"{trace}.jsonl")]))
                found += [f"{trace} {mode} {line}\n" for line in lines]
    return "".join(found)


def main() -> None:
    """Write both files; runs that are recorded already stay where they are."""
    given = [Path(name) for name in sys.argv[1:]]
    if len(given) != 2:
        sys.exit("usage: python -m proofs.mutation.record SCENARIOS TABLE")
    write_bytes(Path(str(HAND)), handwritten(given[1]).encode())
    every = dict.fromkeys([*runs(), *scenarios(given[0])])
    write_bytes(Path(str(RUNS)), pins.page(every).encode())


if __name__ == "__main__":
    main()
