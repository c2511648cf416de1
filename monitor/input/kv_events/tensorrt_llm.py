"""Decodes the events that `get_kv_cache_events` of TensorRT-LLM returns, as JSON.

Each event is a batch of its own: its number is `event_id`, which each rank counts by itself. No
capture confirms this reader.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta

from monitor.input.kv_events.facts import (
    MOST_GROUPS,
    MOST_NUMBER,
    Batch,
    Malformed,
    Message,
    RankNumber,
    Removed,
    Stored,
    struct_of,
)
from monitor.input.kv_events.runtimes import TENSORRT_LLM
from spec.stream.pool import GPU

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["KNOWN", "Reader", "recognises"]

_LEVELS: Final = {0: GPU, 1: "cpu"}
KNOWN: Final = {
    "created": frozenset({"type", "num_blocks_per_cache_level"}),
    "stored": frozenset({"type", "parent_hash", "blocks"}),
    "removed": frozenset({"type", "block_hashes"}),
    "updated": frozenset({"type", "block_hash", "cache_level", "priority"}),
}
"""The events that are understood, with their fields."""


def recognises(obj: dict[str, object]) -> bool:
    """Whether an object is one of these events."""
    return "event_id" in obj and isinstance(data := obj.get("data"), dict) and "type" in data


_Number = Annotated[int, Meta(ge=0, le=MOST_NUMBER)]


class _Event(msgspec.Struct, frozen=True):
    event_id: _Number
    data: dict[str, Any]
    window_size: _Number | None = None
    attention_dp_rank: RankNumber | None = None


class _Block(msgspec.Struct, frozen=True):
    block_hash: Any
    cache_level: int
    type: Any = None
    tokens: Any = None
    priority: Any = None


class _Diff(msgspec.Struct, frozen=True):
    new_value: int
    old_value: int


class _Updated(msgspec.Struct, frozen=True):
    block_hash: Any
    cache_level: _Diff | None = None


class _Rank(NamedTuple):
    """What is known of one rank: its windows, and whether blocks left the GPU for other levels."""

    windows: tuple[int | None, ...] = ()
    moved: bool = False


class Reader:
    """The events of one file."""

    def __init__(self) -> None:
        self._ranks: dict[int, _Rank] = {}

    def read(self, items: Sequence[dict[str, Any]]) -> list[Message]:
        """The events of one line; raises Malformed, and then changes no state."""
        found: list[Message] = []
        ranks: dict[int, _Rank] = {}
        for item in items:
            event = struct_of("event", item, _Event)
            number = event.attention_dp_rank or 0
            before = ranks.get(number) or self._ranks.get(number)
            batch = _Pulled(_Rank() if event.event_id == 0 or before is None else before)
            batch.check_fields("event", item.keys(), frozenset(_Event.__struct_fields__))
            batch.read(event)
            batch.place(None, event.attention_dp_rank)
            found.append(Message("", event.event_id, batch))
            ranks[number] = batch.of_rank
        self._ranks |= ranks
        return found


class _Pulled(Batch):
    """One event.

    Attributes:
        of_rank: what is known of its rank.
    """

    def __init__(self, of_rank: _Rank) -> None:
        super().__init__(KNOWN, TENSORRT_LLM, "pulled")
        self.of_rank = of_rank

    def read(self, event: _Event) -> None:
        """The event; raises Malformed."""
        name, fields, windows = event.data.get("type"), event.data, self.of_rank.windows
        if not self.count(name, fields.keys()):
            return
        if name == "created" and event.window_size in windows:
            self.misread(f"the blocks of window {event.window_size} are created a second time")
        group = self._group(event.window_size)
        if name == "stored":
            self._stored(struct_of("stored", fields, Stored), group)
        elif name == "removed":
            self._removed(struct_of("removed", fields, Removed), group)
        elif name == "updated":
            self._updated(struct_of("updated", fields, _Updated), group)

    def _group(self, window: int | None) -> int:
        """The group of a window. No event states which window is that of full attention."""
        windows = self.of_rank.windows
        if window not in windows:
            if len(windows) == MOST_GROUPS:
                raise Malformed(f"over {MOST_GROUPS} sizes of windows")
            windows = (*windows, window)
            self.of_rank = self.of_rank._replace(windows=windows)
        if len(windows) > 1:
            self.misread("there are several windows, and none is stated to be of full attention")
        return windows.index(window)

    def _stored(self, event: Stored, group: int) -> None:
        blocks = [self.part("block", each, _Block) for each in event.blocks]
        for level, some in groupby(blocks, key=lambda block: block.cache_level):
            self.stored([block.block_hash for block in some], group, self._level(level))

    def _removed(self, event: Removed, group: int) -> None:
        if self.of_rank.moved:
            self.misread("blocks are removed from a cache level that is not stated")
        self.removed(event.block_hashes, group, GPU)

    def _updated(self, event: _Updated, group: int) -> None:
        """A block moves to another level. A change of its priority moves no block."""
        moved = event.cache_level
        if moved is not None and moved.new_value == moved.old_value:
            self.misread("an update names one cache level twice")
        elif moved is not None:
            self.stored([event.block_hash], group, self._level(moved.new_value))
            self.removed([event.block_hash], group, self._level(moved.old_value))

    def _level(self, level: int) -> str:
        self.of_rank = self.of_rank._replace(moved=self.of_rank.moved or level != 0)
        return self.tier(level, _LEVELS, "cache level")
