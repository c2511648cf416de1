"""Streams as each claim and request in them hears them: `python -m tests.proofs.recorded` records
the chains of stories and the hand-written traces for the package `proofs.mutation`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from monitor.evaluate.compile import Compiled, compile_mode
from monitor.evaluate.event_view import Constants, EventView
from monitor.input.records import At, Record, Stamp
from monitor.input.sources import read
from monitor.stream.projection import Stream
from proofs.mutation import pins, runs
from proofs.mutation.judge import alike, is_faithful
from proofs.mutation.runs import write_run
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.contract.vocabulary import EVENT_FIELDS
from spec.events.alphabet import Kind
from spec.events.fields import REQUEST_KINDS
from tests.obligations.test_handwritten import PAIRS
from tests.streams.chains import CHAINS

TRACES_HEAD: Final = """\
# The hand-written traces of tests/obligations/traces: name, mode, and what a claim and a request
# in it hear. `python -m tests.proofs.recorded` writes this.
"""

RANKED: Final = "priority_influence"
"""Judged by the losses of two claims at a time, beside what either hears of the stream."""


@dataclass
class Received:
    """What one claim hears: its events, and of each the request to which it belongs, if any.

    Workers are numbered as they come; the monitor's own numbers are digests.
    """

    constants: Constants
    events: list[tuple[Kind, dict[str, Any]]] = field(default_factory=list)
    requests: list[str | None] = field(default_factory=list)
    _last: EventView | None = None
    _workers: dict[int, int] = field(default_factory=lambda: {0: 0})

    def hear(self, e: EventView, request: str | None = None) -> None:
        """An event, or the request to which the event just heard belongs."""
        if e is not self._last:
            told = {name: getattr(e, name) for name in EVENT_FIELDS}
            told["worker"] = self._workers.setdefault(e.worker, len(self._workers))
            self.events.append((e.kind, told))
            self.requests.append(None)
        self._last, self.requests[-1] = e, request

    def lines(self) -> Iterator[str]:
        """The run of each request, or that of the claim alone."""
        for request in dict.fromkeys(filter(None, self.requests)) or [None]:
            yield write_run(
                self.constants.threshold,
                (
                    (
                        kind,
                        {
                            **told,
                            "here": of is not None and of == request and kind in REQUEST_KINDS,
                        },
                    )
                    for (kind, told), of in zip(self.events, self.requests, strict=True)
                ),
            )


def listening(compiled: Compiled) -> tuple[Compiled, dict[int, Received]]:
    """A bundle that steps as before, and what each claim hears meanwhile."""
    found: dict[int, Received] = {}

    def claim(e: EventView, c: Constants, was: Any) -> Any:
        found.setdefault(id(c), Received(c)).hear(e)
        return compiled.claim(e, c, was)

    def request(e: EventView, c: Constants, *ledgers: Any) -> Any:
        if e.here:
            found.setdefault(id(c), Received(c)).hear(e, e.request_id)
        return compiled.request(e, c, *ledgers)

    return replace(compiled, claim=claim, request=request), found


def record(mode: Mode, stream: Iterable[Record]) -> list[str]:
    """The runs of a stream, in the order in which claims begin."""
    compiled, found = listening(compile_mode(mode, Bundle.CONTRACT))
    streams: dict[tuple[str, str], Stream] = {}
    for line in stream:
        key = (line.at.file, line.stamp.stream)
        listener = streams.setdefault(key, Stream(compiled, line.stamp.stream))
        listener.stamp(line.stamp, line.at)
        for event, at in line.events:
            listener.take(event, at)
    return list(dict.fromkeys(line for received in found.values() for line in received.lines()))


def chains() -> list[str]:
    """What the first claim hears of each chain of stories, where a faithful stream may tell it."""
    lines: dict[str, None] = {}
    for chain in CHAINS:
        events = [event for story in chain for event in story("claim:a", "request:1")]
        for mode in Mode:
            told = (
                Record(At("f", n), Stamp("run", n, None), ((event, At("f", n)),))
                for n, event in enumerate(events, 1)
            )
            lines |= dict.fromkeys(record(mode, told)[:1])
    return [line for line in lines if any(is_faithful(alike(mode), line) for mode in Mode)]


def handwritten() -> str:
    """The traces as `proofs.mutation` keeps them."""
    lines = [
        f"{pair.path(ending).stem} {pair.mode} {line}"
        for pair in PAIRS
        if pair.dialect == "canonical" and pair.obligation != RANKED
        for ending in ("kept", "broken")
        for line in record(pair.mode, read([str(pair.path(ending))]))
    ]
    return TRACES_HEAD + "".join(f"{line}\n" for line in lines)


def main() -> None:
    """Write both files; runs that are no chains stay."""
    Path(str(runs.HAND)).write_text(handwritten(), encoding="utf-8")
    known = runs.runs() if Path(str(runs.RUNS)).exists() else {}
    Path(str(runs.RUNS)).write_text(pins.page(dict.fromkeys([*chains(), *known])), encoding="utf-8")


if __name__ == "__main__":
    main()
