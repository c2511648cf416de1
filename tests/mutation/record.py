"""`python -m tests.mutation.record` pins what the specification makes of the recorded runs today.

For each mode, the run of the first claim of each scenario of `tests.streams.chains` is added where
it is new. A run holds what the judge delivers to one claim and one of its requests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from monitor.input.records import line_of
from monitor.input.sources import Source
from proofs.checks.recorded.judge import Judge as Pinned
from proofs.checks.recorded.lines import RUNS, read_run, runs, write_run
from proofs.checks.recorded.pairs import PAIRS, PairJudge
from proofs.engines.bounded.minimise import CARRIES
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.events.alphabet import CONFLICT_ACTIONS
from spec.events.fields import REQUEST_KINDS
from spec.files.writing import write_bytes
from spec.stream.delivery import OPENS_MANY
from spec.stream.fields import FIELDS, Moment
from spec.stream.judge import Judge
from tests.mutation.probes import ROWS, rows_page
from tests.streams import chains

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from monitor.input.records import Record
    from spec.events.alphabet import Kind
    from spec.stream.claim import Claim

__all__ = ["page", "page_of_pairs", "scenarios"]

_HEAD: Final = """\
# Runs, and what is pinned of them: for each obligation, by its code, how its verdict changes; for
# each clause of a mode's theorem the events at which it fails; and as `world` the first event that
# the most general runtime cannot produce, where there is one. Before them, the obligations of each
# mode, and in all runs how often each clause is compared in each situation, and how many events can
# be written as lines of a trace (`replayable`).
# `make runs` writes the pins; their form is in proofs/checks/recorded/judge.py.
"""

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
    """A judge that records what it delivers to each claim. It delivers each event of a request that
    fits the pool to every responsible claim, whether or not it presses on it.
    """

    def __init__(self, mode: Mode) -> None:
        super().__init__(mode)
        self.found: dict[Claim, _Delivered] = {}

    def _concerned(self, at: Moment) -> dict[Claim, None]:
        everyone = dict.fromkeys(self.run.capacity if at.event.kind in OPENS_MANY else ())
        return super()._concerned(at) | everyone

    def _deliver_to(self, claim: Claim, at: Moment) -> None:
        self.found.setdefault(claim, _Delivered(claim)).add(at, next(iter(at.here), None))
        super()._deliver_to(claim, at)


def scenarios(path: Path) -> list[str]:
    """The runs of the first claim of each stream by each mode, where faithful in some mode."""
    streams: dict[str, list[Record]] = {}
    for record in Source([str(path)]):
        streams.setdefault(record.stamp.stream, []).append(record)
    lines: dict[str, None] = {}
    for records in streams.values():
        for mode in Mode:
            judge = _Recording(mode)
            for record in records:
                judge.take(line_of(record))
            lines |= dict.fromkeys(next(iter(judge.found.values())).lines() if judge.found else ())
    judges = [Pinned(mode) for mode in Mode]
    return [line for line in lines if any("world" not in j.pins(line) for j in judges)]


def page(lines: Iterable[str]) -> str:
    """The text of the file: these runs, each with what the specification makes of it today."""
    judges = [Pinned(mode) for mode in Mode]
    each = ((line, _pins(line, judges)) for line in lines)
    text = "".join(f"{line}\n  {pins}\n" if pins else f"{line}\n" for line, pins in each)
    had = "".join(f"= {judge.mode}: {' '.join(sorted(judge.obligations))}\n" for judge in judges)
    counts = "".join(f"= {name} {n}\n" for judge in judges for name, n in judge.compared.items())
    return _HEAD + had + counts + text


def _pins(line: str, judges: Iterable[Pinned]) -> str:
    """By what is pinned, followed by the constants of the mode where it depends on them."""
    each: dict[str, dict[str, str]] = {}
    for judge in judges:
        found = judge.pins(line)
        for name in ("world", *(o.code for o in MODES[judge.mode].bundle()), *found):
            each.setdefault(name, {})[judge.constants] = found.get(name, "")
    pins = {
        f"{name}/{constants}" if len({*of.values()}) > 1 else name: pin
        for name, of in each.items()
        for constants, pin in sorted(of.items())
        if pin
    }
    return "; ".join(f"{name}: {pin}" for name, pin in pins.items())


def page_of_pairs() -> str:
    """The text of the file of runs of two claims, with what the system makes of each today."""
    judge, lines = PairJudge(), []
    for line in PAIRS.read_text(encoding="utf-8").splitlines():
        if not line.startswith(" "):
            lines.append(line)
            pins = {} if line.startswith("#") else judge.pins(line)
            if pins:
                lines.append("  " + "; ".join(f"{name}: {pins[name]}" for name in sorted(pins)))
    return "".join(f"{line}\n" for line in lines)


def _readable(line: str) -> bool:
    try:
        read_run(line)
    except ValueError as problem:
        print(f"left out, since {problem}: {line}")
        return False
    return True


def main() -> None:
    """Write the files; runs that are recorded already stay where they are."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "chains.jsonl"
        path.write_bytes(chains.trace())
        every = dict.fromkeys([*filter(_readable, runs()), *scenarios(path)])
    write_bytes(Path(str(RUNS)), page(every).encode())
    write_bytes(Path(str(PAIRS)), page_of_pairs().encode())
    write_bytes(ROWS, rows_page().encode())


if __name__ == "__main__":
    main()
