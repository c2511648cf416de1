"""Verdicts while the events come: the same engine, asked now and then what has changed.

A live verdict is one line of JSON of the form `resident-claims/live/1`; `python -m monitor follow`
reads them from the process that judges. The last line is of the form `resident-claims/live-end/1`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from monitor.engine import Monitor
from monitor.records import At, Doubt, Record, Stamp
from spec.alphabet import Kind
from spec.claims import Mode
from spec.events import Event, StreamMark
from spec.states import TERMINAL
from spec.verdicts import Verdict, pool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from monitor.claim import ClaimRun

__all__ = ["Live", "LiveEnd", "LiveLine", "LiveVerdict"]

_EVERY_S: Final = 0.5
_TOO_MANY: Final = Doubt("more claims were registered than are judged here")
_SHARE: Final = 20  # a look at all claims takes at most one part in so many of the time

Text = Annotated[str, Meta(max_length=4096)]


class LiveVerdict(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    tag_field="schema",
    tag="resident-claims/live/1",
):
    """One claim of one stream, judged by the mode that it asked for, as it stands.

    `obligations` are those that were exercised. `heaviest` names the one that decides, and `why`
    and `sequence` are its.
    """

    stream: Text
    claim_id: Text
    mode: Mode
    state: Text
    verdict: Verdict
    obligations: dict[str, Verdict] = {}
    heaviest: Text = ""
    why: Text = ""
    sequence: int | None = None
    final: bool = False


class LiveEnd(msgspec.Struct, frozen=True, tag_field="schema", tag="resident-claims/live-end/1"):
    """The stream has ended, and every claim's last verdict has been told."""

    stream: Text


LiveLine: TypeAlias = LiveVerdict | LiveEnd


class Live:
    """Judges the events of one stream by each of some modes; what counts is a claim's own mode.

    Args:
        most: claims that are judged. Once there are more nothing more is taken in, and those that
            are alive are inconclusive.
    """

    def __init__(self, stream: str, modes: Iterable[Mode], most: int = 10_000) -> None:
        self.stream = stream
        self._left = most
        self._monitors = {mode: Monitor(mode) for mode in modes}
        self._read = 0
        self._told: dict[str, LiveVerdict] = {}
        self._next = 0.0

    def take(self, line: Event | StreamMark) -> None:
        """Judge one event, or hear of the stream."""
        if self._left < 0:
            return
        self._read += 1
        at = At(self.stream, self._read, line.sequence)
        mark = line.kind if isinstance(line, StreamMark) else None
        stamp = Stamp(self.stream, line.sequence, line.time_ns, mark=mark)
        if isinstance(line, StreamMark):
            record = Record(at, stamp)
        elif line.kind is Kind.CLAIM_REGISTERED and not self._left:
            record = Record(at, stamp, doubts=(_TOO_MANY,))
            self._left = -1
        else:
            record = Record(at, stamp, ((line, at),))
            self._left -= line.kind is Kind.CLAIM_REGISTERED
        for monitor in self._monitors.values():
            monitor.take(record)

    def changes(self, *, final: bool = False) -> list[LiveVerdict]:
        """The verdicts that are not what they were; none where it is too early to look again.

        Args:
            final: the stream is over, and every verdict is told.
        """
        began = time.monotonic()
        if began < self._next and not final:
            return []
        found = list(self._changed(final=final))
        ended = time.monotonic()
        self._next = ended + max(_EVERY_S, _SHARE * (ended - began))
        return found

    @property
    def standing(self) -> list[LiveVerdict]:
        """The verdicts as they were last told."""
        return list(self._told.values())

    def _changed(self, *, final: bool) -> Iterator[LiveVerdict]:
        for mode, monitor in self._monitors.items():
            if final:
                monitor.finish()
            for claim in monitor.claims():
                told = self._told.get(claim.claim_id)
                over = told is not None and told.state in TERMINAL and not final
                if claim.declared_mode != mode or over:
                    continue
                verdict = _judge(claim, mode, final=final)
                shown = monitor.entered(claim) or verdict.verdict is Verdict.VIOLATED
                if shown and verdict != told:
                    self._told[claim.claim_id] = verdict
                    yield verdict


def _judge(claim: ClaimRun, mode: Mode, *, final: bool) -> LiveVerdict:
    findings = dict(claim.findings())
    verdict = pool(finding.verdict for finding in findings.values())
    heaviest = next(name for name, found in findings.items() if found.verdict is verdict)
    at = findings[heaviest].at
    return LiveVerdict(
        claim.stream,
        claim.claim_id,
        mode,
        claim.state,
        verdict,
        {n: f.verdict for n, f in findings.items() if f.verdict is not Verdict.UNEXERCISED},
        heaviest,
        findings[heaviest].why,
        None if at is None else at.sequence,
        final,
    )
