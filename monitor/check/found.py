"""Holds what the judging of some files found, as far as a report needs it.

Files may be judged in several processes: what they found is joined, in the order of the files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from monitor.core import Ended
from monitor.input.records import CANONICAL
from spec.contract.modes import MODES
from spec.stream.codes import Code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.core import Occurred, Stream, Streams
    from monitor.input.records import Form
    from monitor.input.sources import Account
    from spec.claims.states import Mode
    from spec.stream.codes import Reason
    from spec.stream.outcome import ClaimOutcome

__all__ = ["Found", "StreamFound", "found_in", "torn"]


class StreamFound(NamedTuple):
    """What one stream of one file came to.

    Attributes:
        first: its first sequence number, and `last` its last.
        open: the modes of claims that were owed anything where it ended, without the end that it
            promised.
        periods: how many runs it had.
        breaks: the reasons for which a period ended.
        left: where it leaves what the theorem assumes.
    """

    file: str
    name: str
    form: Form
    first: int | None
    last: int | None
    open: frozenset[Mode | None]
    periods: int
    breaks: tuple[Reason, ...]
    left: Reason | None
    claims: tuple[ClaimOutcome, ...]
    ended: Ended

    @property
    def gaps(self) -> list[Reason]:
        """The breaks by which events are missing or contradict each other."""
        return [each for each in self.breaks if each.code is not Code.NEW_RUN]

    def entered(self, mode: Mode) -> bool:
        """Whether anything was owed to a claim of a mode."""
        listed = any(claim.entered and claim.mode is mode for claim in self.claims)
        return listed or self.ended.entered[mode] > 0

    def may_go_on_in(self, other: StreamFound) -> bool:
        """Whether another file of this stream may hold the lines that follow. Recorded lines carry
        the name of their run, and a run may have several engines with numbers of their own: lines
        of another form, or numbers that begin before these end, are of another engine.
        """
        if self.form.name == CANONICAL.name:
            return True
        same = other.form.name == self.form.name
        return same and (self.last is None or other.first is None or other.first > self.last)


@dataclass
class Found:
    """What was found in some files."""

    accounts: list[Account]
    occurred: Occurred
    streams: list[StreamFound]

    def join(self, later: Found) -> None:
        """Add what was found in files that come after these."""
        self.accounts += later.accounts
        self.occurred.join(later.occurred)
        self.streams += later.streams


def found_in(streams: Streams, accounts: Sequence[Account]) -> Found:
    """What was found in streams that are finished."""
    return Found([*accounts], streams.occurred, [*map(_found, streams)])


def _found(stream: Stream) -> StreamFound:
    judge = stream.judge
    return StreamFound(
        stream.file,
        stream.name,
        stream.form,
        stream.first,
        judge.order.sequence,
        stream.open,
        judge.period + 1,
        tuple(judge.breaks),
        stream.left,
        tuple(stream.outcomes()),
        stream.ended,
    )


def torn(streams: Sequence[StreamFound], mode: Mode) -> str:
    """Why the claims of a mode cannot be judged in a stream of which several files have a part;
    empty if they can.

    Each file is judged by itself, so a claim that lives on in the next file cannot be.
    """
    parts: dict[str, list[StreamFound]] = {}
    for stream in streams:
        parts.setdefault(stream.name, []).append(stream)
    for name, several in parts.items():
        if len(several) == 1 or not any(part.entered(mode) for part in several):
            continue
        if _is_divided(several, mode):
            entry = "registered" if MODES[mode].constants["watched"] else "accepted"
            return f"run {name} continues in a file in which its claims are not {entry}"
        for part in several:
            if mode in part.open and any(part.may_go_on_in(e) for e in several if e is not part):
                what = "continues in another file, and claims are alive where one file ends"
                return f"stream {name} {what}"
    return ""


def _is_divided(parts: Sequence[StreamFound], mode: Mode) -> bool:
    """Whether one part has claims that entered in another."""
    if not all(part.entered(mode) for part in parts):
        return True
    claims = [claim for part in parts for claim in part.claims if claim.mode in (mode, None)]
    inside = {claim.claim_id for claim in claims if claim.entered}
    return any(claim.claim_id in inside for claim in claims if not claim.entered)
