"""Verdicts while the events come: the same engine, asked now and then what has changed.

A live verdict is one line of JSON of the form `resident-claims/live/1`; `python -m monitor follow`
reads them from the process that judges. The last line is of the form `resident-claims/live-end/1`.
"""

from __future__ import annotations

import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from monitor.census import Keep
from monitor.engine import Monitor
from monitor.past import REMEMBERED
from monitor.records import At, Doubt, Record, Stamp
from monitor.seen import Seen
from spec.alphabet import Kind
from spec.claims import Mode
from spec.events import Event, StreamMark
from spec.verdicts import Verdict, pool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from monitor.claim import ClaimRun

__all__ = ["Live", "LiveEnd", "LiveLine", "LiveVerdict"]

_EVERY_S: Final = 0.5
_TOO_MANY: Final = Doubt("more claims are live than are judged here")
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
    and `sequence` are its. Of a claim that is `forgotten` no more is told unless more is said of
    it; `final` is the last verdict of all when the stream ends.
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
    forgotten: bool = False
    final: bool = False


class LiveEnd(msgspec.Struct, frozen=True, tag_field="schema", tag="resident-claims/live-end/1"):
    """The stream has ended, and every claim's last verdict has been told."""

    stream: Text


LiveLine: TypeAlias = LiveVerdict | LiveEnd


class Live:
    """Judges the events of one stream by each of some modes; what counts is a claim's own mode.

    Args:
        most: live claims that are judged. Once there are more nothing more is taken in, and those
            that are alive are inconclusive.
        ended: claims that are looked at, and told to those who come late, after they have ended.
    """

    def __init__(
        self, stream: str, modes: Sequence[Mode], most: int = 10_000, ended: int = 1_000
    ) -> None:
        self.stream = stream
        self._most, self._full = most, False
        seen = Seen()
        self._monitors = {
            mode: Monitor(
                mode,
                keep=Keep(
                    ended=ended,
                    elsewhere=partial(self._elsewhere, mode),
                    told=partial(self._forget, mode),
                    records=REMEMBERED // len(modes),
                    seen=seen,
                ),
            )
            for mode in modes
        }
        self._strangers = next(iter(self._monitors))  # who judges claims that asked for no mode
        self._read = 0
        self._told: dict[str, LiveVerdict] = {}
        self._last: deque[LiveVerdict] = deque(maxlen=ended)  # of claims that were forgotten
        self._new: list[LiveVerdict] = []
        self._next = 0.0

    def take(self, line: Event | StreamMark) -> None:
        """Judge one event, or hear of the stream."""
        if self._full:
            return
        self._read += 1
        at = At(self.stream, self._read, line.sequence)
        mark = line.kind if isinstance(line, StreamMark) else None
        stamp = Stamp(self.stream, line.sequence, line.time_ns, mark=mark)
        if isinstance(line, StreamMark):
            record = Record(at, stamp)
        elif line.kind is Kind.CLAIM_REGISTERED and self._live >= self._most:
            record = Record(at, stamp, doubts=(_TOO_MANY,))
            self._full = True
        else:
            record = Record(at, stamp, ((line, at),))
        for monitor in self._monitors.values():
            monitor.take(record)

    def changes(self, *, final: bool = False) -> list[LiveVerdict]:
        """The verdicts that are not what they were; none where it is too early to look again.

        Args:
            final: the stream is over, and every verdict is told.
        """
        began = time.monotonic()
        found, self._new = self._new, []
        if began < self._next and not final:
            return found
        found += self._changed(final=final)
        ended = time.monotonic()
        self._next = ended + max(_EVERY_S, _SHARE * (ended - began))
        return found

    @property
    def _live(self) -> int:
        return max(monitor.live for monitor in self._monitors.values())

    @property
    def standing(self) -> list[LiveVerdict]:
        """The verdicts as they were last told."""
        return [*self._last, *self._told.values()]

    def _changed(self, *, final: bool) -> Iterator[LiveVerdict]:
        for mode, monitor in self._monitors.items():
            if final:
                monitor.finish()
            for claim in (*monitor.claims(), *monitor.altered()):
                if not self._counts(mode, claim):
                    continue
                verdict = _judge(claim, mode, final=final)
                if final or _is_news(verdict, claim, self._told.get(claim.claim_id)):
                    self._told[claim.claim_id] = verdict
                    yield verdict

    def _counts(self, mode: Mode, claim: ClaimRun) -> bool:
        """Whether a claim is told of as judged by a mode."""
        if claim.guest:
            return False
        if claim.declared_mode is None:
            return claim.lost and mode is self._strangers
        entered = self._monitors[mode].entered(claim)
        return claim.declared_mode == mode and (entered or claim.lost or bool(claim.broken))

    def _elsewhere(self, mode: Mode, claim_id: str) -> bool:
        """Whether a claim of this id is known as one of another mode."""
        others = (monitor for other, monitor in self._monitors.items() if other is not mode)
        return any(monitor.knows(claim_id) for monitor in others)

    def _forget(self, mode: Mode, claim: ClaimRun) -> None:
        """A claim is forgotten: what it came to is told for the last time."""
        told, verdict = self._told.pop(claim.claim_id, None), _judge(claim, mode, forgotten=True)
        if self._counts(mode, claim) and _is_news(verdict, claim, told):
            self._last.append(verdict)
            self._new.append(verdict)


def _is_news(verdict: LiveVerdict, claim: ClaimRun, told: LiveVerdict | None) -> bool:
    """Whether a verdict is not what was told; one was, of a claim that was forgotten."""
    if told is None and claim.past is not None:
        before = _judge(claim.past, verdict.mode)
        return (verdict.state, verdict.obligations) != (before.state, before.obligations)
    return verdict != told


def _judge(
    claim: ClaimRun, mode: Mode, *, forgotten: bool = False, final: bool = False
) -> LiveVerdict:
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
        forgotten,
        final,
    )
