"""Defines how KV events are joined with claims that the engine does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec.structs import replace

from monitor.input.records import Record
from spec.events.canonical import Mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from monitor.input.kv_events.facts import Batch
    from monitor.input.records import Doubt
    from spec.events.alphabet import Kind
    from spec.events.canonical import CacheGroup, Event

__all__ = ["Join", "Piece", "joined"]


class Piece(NamedTuple):
    """Events of one batch, in order, and the claims that are inconclusive after them."""

    events: tuple[Event, ...]
    doubts: tuple[Doubt, ...] = ()


class Join(Protocol):
    """Adds claims to one stream of KV events: what is registered and reported of them."""

    observes: frozenset[Kind]
    """The kinds of facts of which the stream and the join together state each one."""

    def begin(
        self, batch: Batch, groups: Iterable[CacheGroup], unknown: str, *, again: bool
    ) -> None:
        """Begin a run of the stream.

        Args:
            batch: the first one of the run.
            groups: the groups of caches of the engine.
            unknown: why the contents of the cache are not known; empty if the cache is empty.
            again: the engine was restarted.
        """

    def pause(self, why: str) -> None:
        """Batches may be missing after the last one; the number of the next one decides it."""

    def lose(self, batch: Batch, why: str) -> None:
        """Forget the contents of the cache: batches are missing, or one was not understood."""

    def learn(self, batch: Batch) -> str:
        """Learn the keys of prefixes from a batch.

        Returns:
            Why keys contradict each other, or why the batch cannot be compared with the prefixes;
            otherwise an empty text.
        """

    def take(self, batch: Batch, number: int) -> Sequence[Piece]:
        """Return the events of a batch about registered prefixes, with the reports on claims.

        The keys of the batch are learnt already.
        """


def joined(join: Join, batch: Batch, record: Record, missing: str) -> Iterator[Record]:
    """Yield the records of a batch whose run has begun.

    After a break another run begins at once. A claim is registered in it once every key that it
    needs was stated again.

    Args:
        record: as it is without claims.
        missing: why batches are missing before this one; empty where none is.
    """
    number = record.stamp.sequence
    unread = join.learn(batch) or record.unread
    if number is None:
        missing = "batches have no numbers"
    if missing or unread:
        join.lose(batch, unread or missing)
    pieces = () if unread or number is None else join.take(batch, number)
    stamp = replace(record.stamp, observes=join.observes)
    rest = replace(stamp, sequence=None, mark=None, groups=())
    head = Record(record.at, stamp, unknown=record.unknown)
    if missing or unread:
        if stamp.mark is not None:
            yield head
            head = replace(head, stamp=rest)
        yield replace(head, lost=missing, unread=unread)
        if number is None:  # nor will any further batch have a place
            return
        head = Record(record.at, replace(rest, mark=Mark.STREAM_RESTATED))
    for events, doubts in pieces:
        placed = tuple([(event, record.at) for event in events])
        yield replace(head, events=placed, doubts=doubts)
        head = Record(record.at, rest)
    if not pieces:
        yield head
