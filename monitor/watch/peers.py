"""Defines what a second observer states of an engine, and reads one that publishes KV events."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

from monitor.input.dialects import Reader
from monitor.input.dialects.kv_events import KvEventsDialect
from monitor.watch.holdings import GONE, Copies, Holdings
from spec.stream.pool import GPU

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Set

    from monitor.input.kv_events.facts import Batch
    from monitor.input.kv_events.joined import Piece
    from monitor.watch.prefixes import Key
    from spec.events.alphabet import Kind
    from spec.events.canonical import CacheGroup, Event

__all__ = ["LAG_S", "MOST_BLOCKS", "Quiet", "StreamPeer", "View"]

LAG_S: Final = 5.0
"""Seconds for which two observers may differ because one of them is late."""

MOST_BLOCKS: Final = 1 << 20
"""Blocks of one peer that are kept: all that it states, since it may state a block before the
engine does.
"""

_QUIET_S: Final = 10.0  # after half of it the reader of a socket asks the replay for more


class View:
    """What a peer states of one engine: the blocks that it says are held."""

    def __init__(self) -> None:
        self.holdings = Holdings()

    @property
    def now_ns(self) -> float:
        """Up to when the peer stated what it knows; infinite if it is read live and is quiet."""
        return self.holdings.last.time_ns

    @property
    def tiers(self) -> Set[str]:
        """The tiers in which the peer states blocks; the others are unknown."""
        return self.holdings.stated

    def has(self, tier: str, key: Key) -> bool | None:
        """Whether the peer states a block in a tier; None if that is not known."""
        return self.holdings.has(tier, 0, key)

    def changed_ns(self, tier: str, key: Key) -> int:
        """When what the peer states of a block changed last, as far as that was observed."""
        return self.holdings.stamps.of(tier, 0, key).time_ns

    def is_related(self, keys: Iterable[Key]) -> bool:
        """Whether the peer named a block as the engine does, whose keys these are."""
        names = self.holdings.stamps.names
        return any(names(tier, 0, key) for key in keys for tier in self.tiers)


class Quiet:
    """Says up to when a stream is known.

    A socket that was silent for some seconds, also when its replay was asked, is known up to
    now. Any other stream is known up to its last batch.

    Args:
        live: whether the stream is read from a socket that another one replays.
    """

    def __init__(self, holdings: Holdings, *, live: bool) -> None:
        self._holdings, self._live = holdings, live
        self._batches, self._since_s = -1, 0.0

    @property
    def now_ns(self) -> float:
        """Up to when; to be asked again and again."""
        if self._batches != self._holdings.batches:
            self._batches, self._since_s = self._holdings.batches, time.monotonic()
        quiet = self._live and time.monotonic() - self._since_s > _QUIET_S
        return math.inf if quiet else self._holdings.last.time_ns


class _Stream(View):
    """The blocks of one stream of a peer: all of them, also such as belong to no prefix."""

    observes: frozenset[Kind] = frozenset()

    def __init__(self, *, live: bool) -> None:
        super().__init__()
        self._paused, self._quiet = "", Quiet(self.holdings, live=live)

    # What is read.

    def begin(
        self, batch: Batch, groups: Iterable[CacheGroup], unknown: str, *, again: bool
    ) -> None:
        """A run begins; the arguments are those of a join."""
        self.holdings.read(batch.time_ns, None)
        self.holdings.forget(unknown)

    def pause(self, why: str) -> None:
        """Every block is unknown until the next batch."""
        self._paused = why

    def lose(self, batch: Batch, why: str) -> None:
        """Batches are missing, or one was not understood."""
        self.holdings.read(batch.time_ns, None)
        self.holdings.forget(why)

    def learn(self, batch: Batch) -> str:
        """Learn no keys: they are names here, and tokens are not compared."""
        return ""

    def take(self, batch: Batch, number: int) -> Sequence[Piece]:
        """Take the blocks of a batch; there is no claim to judge."""
        self._paused = ""
        self.holdings.read(batch.time_ns, number)
        for event in batch.events:
            self._apply(event)
        if len(self.holdings) > MOST_BLOCKS:
            self.holdings.forget(f"over {MOST_BLOCKS} blocks were stated")
        return ()

    def _apply(self, event: Event) -> None:
        holdings, tier, group = self.holdings, event.tier or GPU, event.group or 0
        if not event.keys:
            holdings.clear(tier)
            return
        holdings.stated.add(tier)
        add = event.kind not in GONE
        for key in event.keys:
            if tier != GPU:
                holdings.copy(tier, group, key, add=add)
                continue
            before = holdings.copies(group, key)
            if before is None:
                before = Copies.PERHAPS if holdings.unknown else Copies.NONE
            after = before.stored() if add else before.removed()
            known = after is not Copies.NONE or holdings.unknown
            holdings.put(group, key, after if known else None)

    # What is known.

    @property
    def now_ns(self) -> float:
        return self._quiet.now_ns

    def has(self, tier: str, key: Key) -> bool | None:
        return None if self._paused else super().has(tier, key)


class StreamPeer:
    """An observer that publishes KV events, such as a store, read as sources are.

    It is compared by the hashes of blocks, so it has to name blocks as the engine does.

    Args:
        live: whether it is a socket that another one replays.
    """

    def __init__(self, name: str, *, live: bool) -> None:
        self.name, self._live = name, live
        self._streams: dict[str, _Stream] = {}

    def reader(self) -> Reader:
        """The reader of its source."""
        dialect = KvEventsDialect(self.name, self._stream)
        return Reader(self.name, ("kv_events",), {"kv_events": dialect})

    def _stream(self, stream: str) -> _Stream:
        return self._streams.setdefault(stream, _Stream(live=self._live))

    def view(self, stream: str, size: int, *, alone: bool) -> View | str:
        """Its only stream, if there is one engine only: KV events do not say of which they are.

        Args:
            alone: whether no other engine is watched.
        """
        if not alone:
            return "KV events do not say of which engine they are: watch one with --compare"
        if not self._streams:
            return "no batch of it was read"
        (found, *others) = self._streams.values()
        return "it has several streams" if others else found

    def close(self) -> None:
        """The follower closes its source."""
