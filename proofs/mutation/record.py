"""`python -m proofs.mutation.record SCENARIOS TABLE`: records traces as runs that detect mutants.

SCENARIOS is a trace with one scenario a stream. For each mode, the run of its first claim is added
to the recorded runs, with pins. TABLE is the Markdown table of the hand-written traces; it names
the mode of each. A run holds what the judge delivers to one claim and one of its requests.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from monitor.core import line_of
from monitor.input.sources import read
from proofs.engines.bounded.minimise import CARRIES
from proofs.mutation import pins
from proofs.mutation.runs.judge import alike, is_faithful
from proofs.mutation.runs.lines import HAND, RUNS, runs, write_run
from spec.claims.states import Mode
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import CONFLICT_ACTIONS
from spec.events.fields import REQUEST_KINDS
from spec.files.writing import write_bytes
from spec.stream.concern import OPENS_MANY
from spec.stream.fields import FIELDS, Moment
from spec.stream.judge import Judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from monitor.input.records import Record
    from spec.events.alphabet import Kind
    from spec.stream.claim import Claim

__all__ = ["handwritten", "projected", "scenarios"]

_HEAD: Final = """\
# The hand-written traces of tests/obligations/traces: name, mode, and the events that are delivered
# to a claim and a request in it. `make runs` writes this.
"""

_RANKED: Final = "priority_influence"
"""Judged by the losses of two claims at a time, beside the events that are delivered to either."""


_ALWAYS: Final = ("mine", "named", "here")
_HELD: Final = ("rest", "rest_since_arrival")
_OF_REQUESTS: Final = REQUEST_KINDS | CONFLICT_ACTIONS


@dataclass
class _Delivered:
    """The events that are delivered to one claim, each with the request it belongs to, if any.

    Only the fields that say something on an event of its kind are kept; one that is unknown is
    plain. Workers are numbered in order of appearance; the judge's own numbers are digests.
    """

    claim: Claim
    events: list[tuple[Kind, dict[str, Any]]] = field(default_factory=list)
    requests: list[str | None] = field(default_factory=list)
    _workers: dict[int, int] = field(default_factory=lambda: {0: 0})

    def add(self, at: Moment, request: str | None) -> None:
        """Add an event, with the request that it belongs to."""
        kind = at.event.kind
        names = (*_ALWAYS, *CARRIES.get(kind, ()), *(_HELD if kind in _OF_REQUESTS else ()))
        values = {name: FIELDS[name](at, self.claim) for name in names if name in FIELDS}
        fields = {name: value for name, value in values.items() if value is not None}
        if "worker" in fields:
            fields["worker"] = self._workers.setdefault(fields["worker"], len(self._workers))
        self.events.append((at.event.kind, fields))
        self.requests.append(request)

    def lines(self) -> Iterator[str]:
        """The run of each request, or that of the claim alone."""
        for request in dict.fromkeys(filter(None, self.requests)) or [None]:
            events = []
            for (kind, fields), own in zip(self.events, self.requests, strict=True):
                here = own is not None and own == request and kind in REQUEST_KINDS
                events.append((kind, {**fields, "here": here}))
            yield write_run(self.claim.threshold, events)


class _Recording(Judge):
    """A judge that records what it delivers to each claim."""

    def __init__(self, mode: Mode) -> None:
        super().__init__(mode)
        self.found: dict[Claim, _Delivered] = {}

    def _deliver_to(self, claim: Claim, at: Moment) -> None:
        self.found.setdefault(claim, _Delivered(claim)).add(at, next(iter(at.here), None))
        super()._deliver_to(claim, at)


class _Telling(_Recording):
    """A judge that delivers each event of a request that fits the pool to every responsible claim,
    whether or not it presses on it.
    """

    def _concerned(self, at: Moment) -> dict[Claim, None]:
        everyone = dict.fromkeys(self.run.capacity if at.event.kind in OPENS_MANY else ())
        return super()._concerned(at) | everyone


def projected(
    mode: Mode, records: Iterable[Record], kind: Callable[[Mode], _Recording] = _Recording
) -> list[str]:
    """The runs of a trace, in the order in which claims begin.

    Args:
        kind: of the judges, which says what is delivered.
    """
    streams: dict[tuple[str, str], _Recording] = {}
    for record in records:
        key = (record.at.file, record.stamp.stream)
        judge = streams.setdefault(key, kind(mode))
        judge.take(line_of(record))
    found = [each for judge in streams.values() for each in judge.found.values()]
    return list(dict.fromkeys(line for claim in found for line in claim.lines()))


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
