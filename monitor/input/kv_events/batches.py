"""Decodes batches of KV events in the framing that vLLM, SGLang and others share.

A batch is `[time, events, rank]`. An event is a map with its name in `type`, or, from engines
before the middle of 2026, an array that begins with it (vllm/distributed/kv_events.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from monitor.input.kv_events import mooncake
from monitor.input.kv_events.facts import (
    MOST_GROUPS,
    Batch,
    Content,
    Malformed,
    RankNumber,
    Seconds,
    adapter_extra,
    is_map,
    keys_of,
    salt_extra,
    shown_name,
    struct_of,
)
from monitor.input.kv_events.runtimes import ATOM, MOONCAKE, SGLANG, UNKNOWN, Runtime, runtime_of
from spec.events.canonical import CacheGroup
from spec.stream.pool import GPU

if TYPE_CHECKING:
    from collections.abc import Set

__all__ = ["KNOWN", "SEQUENCE_BYTES", "Events", "batch_of", "events_of"]

_TIERS: Final = {
    None: GPU,
    "GPU": GPU,
    "CPU": "cpu",
    "CPU_PINNED": "cpu",
    "DISK": "disk",
    "STORAGE": "disk",
    "EXTERNAL": "external",
}
"""The tiers by the media that engines name; before there were several, none was named."""

_KINDS: Final = {
    "full_attention": "full",
    "mla_attention": "full",
    "sliding_window": "window",
    "sliding_window_mla": "window",
    "mamba": "state",
}
"""The groups of caches by `kv_cache_spec_kind`."""

_POSITIONAL: Final[dict[str, tuple[str, ...]]] = {
    "BlockStored": (
        *("block_hashes", "parent_block_hash", "token_ids", "block_size", "lora_id"),
        # SGLang has `metadata` in the place of `lora_name`; neither is read.
        *("medium", "lora_name", "extra_keys", "group_idx"),
    ),
    "BlockRemoved": ("block_hashes", "medium", "group_idx"),
    "AllBlocksCleared": (),
}
"""The fields of events that are arrays, after the name."""

KNOWN: Final = {
    "BlockStored": frozenset(
        {
            *(*_POSITIONAL["BlockStored"], "kv_cache_spec_kind", "kv_cache_spec_sliding_window"),
            *("locality", "ownership", "session_id", "cache_salt", "mm_keys"),
            "lookahead_token_ids",
        }
    ),
    "BlockRemoved": frozenset({*_POSITIONAL["BlockRemoved"], "locality", "ownership"}),
    "AllBlocksCleared": frozenset[str](),
}
"""The events that are understood, with their fields."""

SEQUENCE_BYTES: Final = 8
"""The bytes of the sequence number of a message."""


_Place = tuple[Seconds | None, RankNumber | None]


class _Stored(msgspec.Struct, frozen=True):
    block_hashes: list[Any]
    block_size: int = 0
    medium: str | None = None
    group_idx: int | None = None
    kv_cache_spec_kind: str | None = None
    kv_cache_spec_sliding_window: int | None = None
    locality: str | None = None


class _Filled(_Stored, frozen=True):
    """The same, with what it states of the content."""

    parent_block_hash: Any = None
    token_ids: list[int] = []
    lora_id: int | None = None
    lora_name: str | None = None
    extra_keys: list[Any] | None = None
    cache_salt: str | None = None


class _Removed(msgspec.Struct, frozen=True):
    block_hashes: list[Any]
    medium: str | None = None
    group_idx: int | None = None
    locality: str | None = None


def batch_of(value: object, runtime: Runtime = UNKNOWN, *, contents: bool = False) -> Batch:
    """The batch that a decoded payload states.

    Args:
        runtime: the one that published the batches before it.
        contents: read what is stored in the blocks, too.

    Raises:
        Malformed: it is not a batch.
    """
    if mooncake.recognises(value):  # one event, without a time
        value = None, [value]
    elif isinstance(value, list) and value and mooncake.recognises(value[0]):
        value = None, value
    elif not isinstance(value, list | tuple) or not 2 <= len(value) <= 8 or value[0] is None:
        raise Malformed("a batch is [time, events, rank]")
    time, events, *rest = value
    if not isinstance(events, list | tuple):
        raise Malformed("the events of a batch are a list")
    batch = events_of(events, runtime, contents=contents)
    for each in events:
        batch.read(each)
    for _ in rest[1:]:
        batch.note("batch", "further items")
    try:
        batch.place(*msgspec.convert((time, rest[0] if rest else None), _Place))
    except msgspec.ValidationError:
        raise Malformed("a batch has a time in seconds, and may have a rank") from None
    return batch


def events_of(
    events: list[Any] | tuple[Any, ...], runtime: Runtime, *, contents: bool
) -> Events | mooncake.Maps:
    """A batch to which events like these are added."""
    if runtime.name == MOONCAKE.name or any(map(mooncake.recognises, events)):
        return mooncake.Maps(runtime)
    return Events(runtime, contents=contents)


class Events(Batch):
    """The events of one batch, which may be read one by one.

    Args:
        runtime: the one that published the batches before it.
        contents: read what is stored in the blocks, too.
    """

    def __init__(self, runtime: Runtime, *, contents: bool) -> None:
        super().__init__(KNOWN, runtime)
        self.contents = [] if contents else None

    def read(self, value: object) -> None:
        """One event; raises Malformed."""
        name, fields = self._named(value)
        if not self.count(name, fields.keys()):
            if name == "BlockTransferred" and self.runtime is UNKNOWN:
                self.runtime = ATOM
        elif name == "AllBlocksCleared":
            self._cleared()
        elif name == "BlockStored":
            self._recognise(fields.keys())
            form = _Stored if self.contents is None else _Filled
            self._stored(struct_of(name, fields, form))
        else:
            removed = struct_of(name, fields, _Removed)
            self.removed(removed.block_hashes, _group(removed), self._tier(removed))

    def _recognise(self, fields: Set[str]) -> None:
        """A field that only one runtime has names it; others are a guess, where there is none."""
        if self.form == "maps":
            found = runtime_of(fields)
            if self.runtime is UNKNOWN or not fields.isdisjoint(found.own):
                self.runtime = found

    def _named(self, value: object) -> tuple[Any, dict[str, Any]]:
        """The name and the fields of an event."""
        if is_map(value):
            assert isinstance(value, dict)
            self.form = self.form or "maps"
            return value.get("type"), {k: v for k, v in value.items() if k != "type"}
        if not isinstance(value, list | tuple) or not value:
            raise Malformed("an event is a map or an array")
        self.form = self.form or "arrays"
        name, fields = value[0], {}
        names = _POSITIONAL.get(name, ()) if isinstance(name, str) else ()
        for place, each in enumerate(value[1:]):
            fields[names[place] if place < len(names) else f"item {place + 1}"] = each
        return name, fields

    def _stored(self, event: _Stored) -> None:
        group = _group(event)
        if event.kv_cache_spec_kind is not None:
            self._learn(group, event)
        tier = self._tier(event)
        if isinstance(event, _Filled) and self.contents is not None and tier == GPU:
            self.contents.append(self._content(event, group))
        self.stored(event.block_hashes, group, tier)

    def _content(self, event: _Filled, group: int) -> Content:
        keys, parent = keys_of(event.block_hashes), event.parent_block_hash
        extras = None
        if event.extra_keys is not None and len(event.extra_keys) == len(keys):
            extras = tuple(_extras(each, event.lora_name) for each in event.extra_keys)
        elif event.extra_keys is None and self.runtime is SGLANG:
            extras = _extras_of_sglang(event, len(keys))
        before = None if parent is None else keys_of([parent])[0]
        return Content(keys, before, tuple(event.token_ids), event.block_size, group, extras)

    def _cleared(self) -> None:
        """The engine cleared its cache, in the tiers that its runtime is known to clear."""
        if self.runtime.clears is None:
            name = self.runtime.name
            self.clear(f"the tiers that AllBlocksCleared of {name} empties are not known")
        for tier in sorted(self.runtime.clears or ()):
            self.clear_tier(tier)

    def _tier(self, event: _Stored | _Removed) -> str:
        if event.locality == "REMOTE":
            return "external"
        if event.locality not in (None, "LOCAL"):
            self.misread(f"the locality {shown_name(event.locality)} is not known")
        return self.tier(event.medium, _TIERS, "medium")

    def _learn(self, group: int, event: _Stored) -> None:
        """What kind of caches a group has; a window is stated in tokens."""
        kind = _KINDS.get(event.kv_cache_spec_kind or "")
        tokens = event.kv_cache_spec_sliding_window
        if kind is None or (kind == "window" and not (tokens and event.block_size > 0)):
            shown = shown_name(event.kv_cache_spec_kind or "")
            self.misread(f"group {group} is {shown}, which is not known")
        elif kind == "window":
            blocks = -(-((tokens or 1) - 1) // event.block_size)
            self.groups[group] = CacheGroup(group, "window", max(blocks, 1))
        else:
            self.groups[group] = CacheGroup(group, "full" if kind == "full" else "state")


def _extras_of_sglang(event: _Filled, blocks: int) -> tuple[tuple[str, ...], ...] | None:
    """What the blocks of a store depend on; None if it names an adapter by a number alone."""
    if event.lora_id is not None and event.lora_name is None:
        return None
    every = () if event.lora_name is None else (adapter_extra(event.lora_name),)
    salted = event.cache_salt is not None and event.parent_block_hash is None
    first = (salt_extra(event.cache_salt or ""),) if salted else ()
    return tuple(every + (first if n == 0 else ()) for n in range(blocks))


def _extras(value: object, adapter: str | None) -> tuple[str, ...]:
    """What one of the `extra_keys` has: an adapter, which the event names, before anything else."""
    items = [] if value is None else [*value] if isinstance(value, list | tuple) else [value]
    found = [salt_extra(each) if isinstance(each, str) else repr(each) for each in items]
    if adapter is not None and items and items[0] == adapter:
        found[0] = adapter_extra(adapter)
    return tuple(found)


def _group(event: _Stored | _Removed) -> int:
    number = event.group_idx
    if number is not None and not 0 <= number < MOST_GROUPS:
        raise Malformed(f"group_idx is a number below {MOST_GROUPS}")
    return number or 0
