"""Describes what a file has of a stream, and whether another file goes on with it.

The lines of a run may be in several files. Each is judged by itself, so a claim that lives on in
the next file cannot be judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from monitor.evaluate.claim import ClaimRun
    from monitor.stream.projection import Stream
    from monitor.stream.retired_record import LostIds
    from monitor.stream.span import Span

__all__ = ["StreamPart", "part_of", "torn"]


class StreamPart(NamedTuple):
    """What one file has of a stream, by one mode; claims of other modes are left out.

    Attributes:
        inside: the ids of the claims that entered, as far as they are known.
        outside: the ids of those that did not.
        entered: whether any entered, those that were forgotten among them.
        open: whether a claim that entered is alive where the lines end, and the stream has not the
            end that it promised.
        lost: the ids of claims of which there is no record; None where each has one.
    """

    name: str
    inside: frozenset[str]
    outside: frozenset[str]
    entered: bool
    open: bool
    span: Span
    lost: LostIds | None

    def may_have_lost(self, claim_id: str) -> bool:
        """Whether a claim of this id may have been here of which there is no record."""
        return self.lost is not None and self.lost.may_have(claim_id)


def part_of(stream: Stream, enters: Callable[[ClaimRun], bool | None]) -> StreamPart:
    """What is said of a stream of one file.

    Args:
        enters: whether a claim entered; None where it is of another mode.
    """
    past = stream.past
    sides: dict[bool | None, list[str]] = {True: [], False: [], None: []}
    for claim_id, run in stream.claims.items():
        sides[enters(run)].append(claim_id)
    known: dict[int, list[str]] = {}  # the side of the claims that ended alike
    for claim_id, run in past.records():
        if (side := known.get(id(run))) is None:
            side = known[id(run)] = sides[enters(run)]
        side.append(claim_id)
    inside, outside = frozenset(sides[True]), frozenset(sides[False])
    entered = bool(inside) or any(each.count and enters(each.run) for each in past)
    is_open = not stream.order.whole and any(
        claim.alive and enters(claim) for claim in stream.claims.values()
    )
    return StreamPart(
        stream.name, inside, outside, entered, is_open, stream.order.span, past.lost_ids
    )


def torn(parts: Iterable[StreamPart], entry: str) -> str:
    """Why a stream cannot be judged of which several files have a part; empty if each can.

    Args:
        entry: what a claim is once it entered, in a word.
    """
    runs: dict[str, list[StreamPart]] = {}
    for part in parts:
        runs.setdefault(part.name, []).append(part)
    for name, several in runs.items():
        if len(several) < 2:
            continue
        if any(part.entered for part in several) and _is_divided(several):
            return f"run {name} continues in a file in which its claims are not {entry}"
        if any(part.open and _goes_on(part, several) for part in several):
            return (
                f"stream {name} continues in another file, and claims are alive where one file ends"
            )
    return ""


def _is_divided(parts: Sequence[StreamPart]) -> bool:
    """Whether one part has claims that entered in another."""
    known = frozenset[str]().union(*(part.inside for part in parts))
    for part in parts:
        if not part.entered or not known.isdisjoint(part.outside):
            return True
        others = [each for each in parts if each is not part and each.lost is not None]
        if any(each.may_have_lost(claim_id) for each in others for claim_id in part.outside):
            return True
    return False


def _goes_on(part: StreamPart, parts: Iterable[StreamPart]) -> bool:
    return any(part.span.may_go_on_in(each.span) for each in parts if each is not part)
