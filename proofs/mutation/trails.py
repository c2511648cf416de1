"""What an observer makes of a stream, event by event, and what is pinned of it.

A trail is written as the changes of a verdict, each by its initial: `a 3p 5v` is unexercised about
claim:a up to the second event, pending from the third and violated from the fifth on. A request is
told apart as `a/1` where it is judged otherwise than the claim itself.

`python -m proofs.mutation.trails` writes the pinned trails anew; what it changes is to be read.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from monitor.compile import compile_mode, compile_observer
from monitor.records import At, Stamp
from monitor.stream import Stream
from proofs.mutation.corpus import corpus
from spec.alphabet import Kind
from spec.claims import Mode
from spec.files import write_bytes
from spec.modes import MODES, Bundle
from spec.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.claim import ClaimRun
    from monitor.view import View
    from proofs.mutation.corpus import Told
    from spec.events import Event
    from spec.machine import Observer

__all__ = ["PINNED", "Judge", "constants", "made", "pinned"]

Trails = dict[str, dict[str, dict[str, str]]]  # constants, obligation, line: trail

PINNED = Path(__file__).with_name("pinned.json")


class _Overheard(Stream):
    """A stream in which every claim sees all that the specification lets it see.

    The monitor leaves out what no observer may care for: what concerns another claim (but for
    evictions in a ranked mode), requests that ended, and acceptance of an object that is known
    under another name.
    """

    def take(self, event: Event, at: At) -> None:
        super().take(event, at)
        if event.kind is Kind.CLAIM_ACCEPTED and event.claim_id is not None:
            self._misnamed(event, event.claim_id, at)

    def _deliver(self, claim: ClaimRun, view: View) -> None:
        self._hear(claim, view)
        shown = self._mode["ranked"] and view.kind is Kind.BLOCK_EVICTED
        if view.mine and not shown:
            for other in self.claims.values():
                if other is not claim:
                    self._hear(other, replace(view, mine=False, named=False))

    def _hear(self, claim: ClaimRun, view: View) -> None:
        if view.request_id is not None and view.request_id in claim.requests:
            claim.touch(view.request_id)
        super()._deliver(claim, view)


class Judge:
    """The monitor with a single obligation in it."""

    def __init__(self, mode: Mode, observer: Observer) -> None:
        whole = compile_mode(mode, Bundle.CONTRACT)
        self._observer = observer
        self._one = replace(whole, observers=(observer,), steps=(compile_observer(observer),))

    def trail(self, told: Told) -> str:
        """How the verdicts change over a stream."""
        stream = _Overheard(self._one, "run")
        last: dict[str, Verdict] = {}
        changes: dict[str, str] = {}
        for number, event in enumerate(told.events):
            at = At("corpus", number + 1, number)
            stream.stamp(Stamp("run", event.sequence or number, None), at)
            stream.take(event, at)
            for scope, verdict in self._verdicts(stream):
                if verdict is not last.get(scope, Verdict.UNEXERCISED):
                    changes[scope] = f"{changes.get(scope, scope)} {number + 1}{verdict[0]}"
                    last[scope] = verdict
        own = {scope: text.partition(" ")[2] for scope, text in changes.items()}
        told_apart = (s for s in own if "/" not in s or own[s] != own.get(s.partition("/")[0]))
        return ", ".join(changes[scope] for scope in sorted(told_apart))

    def _verdicts(self, stream: Stream) -> Iterator[tuple[str, Verdict]]:
        for name, claim in stream.claims.items():
            scope = name.removeprefix("claim:")
            yield scope, self._observer.states[claim.base[0].state].verdict
            if self._observer.per_request:
                for request, inside in claim.requests.items():
                    verdict = self._observer.states[inside.watches[0].state].verdict
                    yield f"{scope}/{request.removeprefix('request:')}", verdict


def constants(mode: Mode) -> str:
    """What an observer can tell modes apart by; modes that are alike in this judge alike."""
    return " ".join(name for name, value in MODES[mode].constants.items() if value) or "plain"


def made() -> Trails:
    """The trails as the specification makes them, without those that stay unexercised."""
    trails: Trails = {}
    for mode in Mode:
        alike = trails.setdefault(constants(mode), {})
        for observer in MODES[mode].bundle():
            judge = Judge(mode, observer)
            found = ((told.line, judge.trail(told)) for told in corpus())
            alike[observer.name] = {line: trail for line, trail in found if trail}
    return trails


@cache
def pinned() -> Trails:
    """The trails that were read and kept."""
    return msgspec.json.decode(PINNED.read_bytes(), type=Trails)


if __name__ == "__main__":
    write_bytes(PINNED, msgspec.json.format(msgspec.json.encode(made()), indent=1) + b"\n")
