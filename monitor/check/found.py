"""Holds what the judging of some files found, as far as a report needs it.

Files may be judged in several processes: what they found is joined, in the order of the files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from monitor.core import Ended, owes_nothing
from spec.stream.codes import Code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.core import Occurred, Stream, Streams
    from monitor.input.records import Form
    from monitor.input.sources import Account
    from spec.stream.codes import Reason
    from spec.stream.outcome import ClaimOutcome

__all__ = ["Found", "StreamFound", "found_in", "torn"]


class StreamFound(NamedTuple):
    """What one stream of one file came to.

    Attributes:
        begins: whether its first line can be the first of a run.
        is_open: whether a claim was owed anything where it ended, without the end that it promised.
        periods: how many runs it had.
        breaks: the reasons for which a period ended.
        left: where it leaves what the theorem assumes.
    """

    file: str
    name: str
    form: Form
    begins: bool
    is_open: bool
    periods: int
    breaks: tuple[Reason, ...]
    left: Reason | None
    claims: tuple[ClaimOutcome, ...]
    ended: Ended

    @property
    def gaps(self) -> list[Reason]:
        """The breaks by which events are missing or contradict each other."""
        return [each for each in self.breaks if each.code is not Code.NEW_RUN]


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
        stream.begins,
        stream.is_open,
        judge.period + 1,
        tuple(judge.breaks),
        stream.left,
        tuple(stream.outcomes()),
        stream.ended,
    )


def torn(streams: Sequence[StreamFound]) -> str:
    """Why a stream cannot be judged of which several files have a part; empty if each can.

    Each file is judged by itself, so a claim that lives on in the next file cannot be.
    """
    parts: dict[str, list[StreamFound]] = {}
    for stream in streams:
        parts.setdefault(stream.name, []).append(stream)
    for name, several in parts.items():
        if len(several) == 1:
            continue
        entered = {each.claim_id for part in several for each in part.claims if each.entered}
        outside = (each for part in several for each in part.claims if not each.entered)
        if any(each.claim_id in entered and not owes_nothing(each) for each in outside):
            return f"run {name} continues in a file in which its claims are not accepted"
        goes_on = [not part.begins for part in several]
        if any(
            part.is_open and any(goes_on[:place] + goes_on[place + 1 :])
            for place, part in enumerate(several)
        ):
            return (
                f"stream {name} continues in another file, and claims are alive where one file ends"
            )
    return ""
