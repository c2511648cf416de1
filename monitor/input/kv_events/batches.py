"""Decodes batches of KV events in the framing that vLLM, SGLang and others share.

A batch is `[time, events, rank]`. An event is a map with its name in `type`, or, from engines
before the middle of 2026, an array that begins with it (vllm/distributed/kv_events.py).
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Any, Final, NamedTuple

import msgspec

from monitor.input.kv_events.runtimes import ATOM, SGLANG, UNKNOWN, Runtime, runtime_of
from spec.events.alphabet import Kind
from spec.events.canonical import CacheGroup, Event

__all__ = [
    "KNOWN",
    "SEQUENCE_BYTES",
    "Batch",
    "Content",
    "Events",
    "Malformed",
    "batch_of",
    "check_place",
    "packed_batch",
]

_GPU: Final = "gpu"
_TIERS: Final = {
    None: _GPU,
    "GPU": _GPU,
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

_MOST_TEXT: Final = 256
_MOST_GROUPS: Final = 64
_NAME: Final = re.compile(r"[A-Za-z0-9_.]{1,64}")
_WORD: Final = 1 << 64


class Malformed(ValueError):
    """A batch is not in the form that it seems to have; says where, and why."""


class Content(NamedTuple):
    """What a `BlockStored` states of the content of its blocks.

    Attributes:
        keys: of the blocks.
        parent: the key of the block before the first; None where that begins a prompt.
        tokens: the ids of the tokens of all blocks, `size` a block.
        extras: for each block what its content depends on beside tokens: adapter, salt and other
            inputs. None where the event does not state them.
    """

    keys: tuple[int | str, ...]
    parent: int | str | None
    tokens: tuple[int, ...]
    size: int
    group: int
    extras: tuple[tuple[str, ...], ...] | None


class Batch(NamedTuple):
    """What one batch states.

    Attributes:
        time_ns: of the engine's wall clock.
        rank: of the data-parallel rank.
        events: the canonical ones, in order.
        counts: the number of events by name, unknown ones among them.
        groups: the groups of caches whose kind is stated.
        others: fields that are not known, as `BlockStored.field`.
        runtime: by the fields of its events.
        unread: what was not understood, so that it is not known what is held after the batch.
        unclear: the same, where anything was held before the batch.
        form: of its events, maps or arrays.
        contents: of the blocks that were stored on the GPU, where that was asked for.
    """

    time_ns: int
    rank: int
    events: tuple[Event, ...]
    counts: dict[str, int]
    groups: dict[int, CacheGroup]
    others: dict[str, int]
    runtime: Runtime
    unread: str
    unclear: str
    form: str
    contents: tuple[Content, ...] = ()

    @property
    def unknown(self) -> str | None:
        """The first name of an event that is not known, if there is one."""
        return next((name for name in self.counts if name not in KNOWN), None)


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


_DECODE: Final = msgspec.msgpack.Decoder().decode


def packed_batch(payload: bytes) -> Any:
    """The batch in a frame of msgpack; raises Malformed."""
    try:
        return _DECODE(payload)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Malformed(f"the payload is not msgpack: {str(error)[:100]}") from None


def check_place(time: object, rank: object) -> None:
    """Check the time of a batch, in seconds, and its rank; raises Malformed."""
    if isinstance(time, bool) or not isinstance(time, int | float) or not 0 <= time < 1 << 33:
        raise Malformed("the time of a batch is in seconds")
    whole = rank is None or (isinstance(rank, int) and not isinstance(rank, bool))
    if not whole or not 0 <= (rank or 0) < 1 << 16:  # type: ignore[operator]
        raise Malformed("the rank of a batch is a number")


def batch_of(value: object, runtime: Runtime = UNKNOWN, *, contents: bool = False) -> Batch:
    """The batch that a decoded payload states.

    Args:
        runtime: the one that published the batches before it.
        contents: read what is stored in the blocks, too.

    Raises:
        Malformed: it is not a batch.
    """
    if not isinstance(value, list | tuple) or not 2 <= len(value) <= 8:
        raise Malformed("a batch is [time, events, rank]")
    time, events, *rest = value
    if not isinstance(events, list | tuple):
        raise Malformed("the events of a batch are a list")
    reader = Events(runtime, contents=contents)
    for each in events:
        reader.read(each)
    for _ in rest[1:]:
        reader.note("batch", "further items")
    return reader.batch(time, rest[0] if rest else None)


class Events:
    """The events of one batch, which may be read one by one.

    Args:
        runtime: the one that published the batches before it.
        contents: read what is stored in the blocks, too.
    """

    def __init__(self, runtime: Runtime, *, contents: bool = False) -> None:
        self._runtime, self._form = runtime, ""
        self._contents: list[Content] | None = [] if contents else None
        self._unread = self._unclear = ""
        self._events: list[Event] = []
        self._counts: dict[str, int] = {}
        self._groups: dict[int, CacheGroup] = {}
        self._others: dict[str, int] = {}

    def batch(self, time: object, rank: object) -> Batch:
        """All that was read.

        Args:
            time: in seconds.

        Raises:
            Malformed: the time or the rank is none.
        """
        check_place(time, rank)
        return Batch(
            int(time * 1e9),  # type: ignore[operator]
            rank or 0,  # type: ignore[arg-type]
            tuple(self._events),
            self._counts,
            self._groups,
            self._others,
            self._runtime,
            self._unread,
            self._unclear,
            self._form,
            tuple(self._contents or ()),
        )

    def read(self, value: object) -> None:
        """One event; raises Malformed."""
        name, fields = self._named(value)
        self._counts[name] = self._counts.get(name, 0) + 1
        if name not in KNOWN:
            self._misread(f"the event {name} is not known")
            if name == "BlockTransferred" and self._runtime is UNKNOWN:
                self._runtime = ATOM
            return
        for field in fields.keys() - KNOWN[name]:
            self.note(name, field)
        if name == "AllBlocksCleared":
            self._cleared()
        elif name == "BlockStored":
            self._recognise(fields.keys())
            self._stored(_struct(name, fields, _Stored if self._contents is None else _Filled))
        else:
            self._removed(_struct(name, fields, _Removed))

    def note(self, name: str, field: str) -> None:
        """A field is not known."""
        what = f"{name}.{_shown(field)}"
        self._others[what] = self._others.get(what, 0) + 1

    def _recognise(self, fields: Set[str]) -> None:
        """A field that only one runtime has names it; others are a guess, where there is none."""
        if self._form == "maps":
            found = runtime_of(fields)
            if self._runtime is UNKNOWN or not fields.isdisjoint(found.own):
                self._runtime = found

    def _misread(self, why: str) -> None:
        self._unread = self._unread or why

    def _named(self, value: object) -> tuple[str, dict[str, Any]]:
        """The name and the fields of an event."""
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            self._form = self._form or "maps"
            name, fields = value.get("type"), {k: v for k, v in value.items() if k != "type"}
        elif isinstance(value, list | tuple) and value:
            self._form = self._form or "arrays"
            name, fields = value[0], {}
            names = _POSITIONAL.get(name, ()) if isinstance(name, str) else ()
            for place, each in enumerate(value[1:]):
                fields[names[place] if place < len(names) else f"item {place + 1}"] = each
        else:
            raise Malformed("an event is a map or an array")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise Malformed("an event has a name of letters, digits and _")
        return name, fields

    def _stored(self, event: _Stored) -> None:
        if event.kv_cache_spec_kind is not None:
            self._learn(self._group(event.group_idx), event)
        on_gpu = self._tier(event.medium, event.locality) == _GPU
        if isinstance(event, _Filled) and self._contents is not None and on_gpu:
            self._contents.append(self._content(event))
        # Engines may state one copy several times.
        self._state(event, Kind.BLOCK_CACHED, Kind.HOST_COPY_FOUND)

    def _content(self, event: _Filled) -> Content:
        keys, parent = _keys(event.block_hashes), event.parent_block_hash
        extras = None
        if event.extra_keys is not None:
            extras = tuple(map(_texts, event.extra_keys))
        elif self._runtime is SGLANG:
            every = () if event.lora_name is None else (event.lora_name,)
            first = () if event.cache_salt is None or parent is not None else (event.cache_salt,)
            extras = tuple(every + (first if n == 0 else ()) for n in range(len(keys)))
        return Content(
            keys,
            None if parent is None else _key(parent),
            tuple(event.token_ids),
            event.block_size,
            self._group(event.group_idx),
            extras,
        )

    def _removed(self, event: _Removed) -> None:
        self._state(event, Kind.BLOCK_EVICTED, Kind.HOST_COPY_LOST)

    def _state(self, event: _Stored | _Removed, on_gpu: Kind, elsewhere: Kind) -> None:
        """State the keys of an event, if it has any: a fact without keys would be about all."""
        keys, group = _keys(event.block_hashes), self._group(event.group_idx)
        tier = self._tier(event.medium, event.locality)
        if keys and tier == _GPU:
            self._events.append(Event(kind=on_gpu, keys=keys, group=group))
        elif keys:
            self._events.append(Event(kind=elsewhere, keys=keys, group=group, tier=tier))

    def _cleared(self) -> None:
        """The engine cleared its cache, in the tiers that its runtime is known to clear."""
        if self._runtime.clears is None:
            name = self._runtime.name
            why = f"the tiers that AllBlocksCleared of {name} empties are not known"
            if "BlockStored" in self._counts:
                self._misread(why)
            self._unclear = self._unclear or why
        for tier in sorted(self._runtime.clears or ()):
            self._events.append(Event(kind=Kind.BLOCK_LOST, tier=tier))

    def _tier(self, medium: str | None, locality: str | None) -> str:
        if locality == "REMOTE":
            return "external"
        found = _TIERS.get(medium)
        if found is None:
            self._misread(f"the medium {_shown(medium or '')} is not known")
        return found or "unknown"

    def _group(self, number: int | None) -> int:
        if number is not None and not 0 <= number < _MOST_GROUPS:
            raise Malformed(f"group_idx is a number below {_MOST_GROUPS}")
        return number or 0

    def _learn(self, group: int, event: _Stored) -> None:
        """What kind of caches a group has; a window is stated in tokens."""
        kind = _KINDS.get(event.kv_cache_spec_kind or "")
        tokens = event.kv_cache_spec_sliding_window
        if kind is None or (kind == "window" and not (tokens and event.block_size > 0)):
            shown = _shown(event.kv_cache_spec_kind or "")
            self._misread(f"group {group} is {shown}, which is not known")
        elif kind == "window":
            blocks = -(-((tokens or 1) - 1) // event.block_size)
            self._groups[group] = CacheGroup(group, "window", max(blocks, 1))
        else:
            self._groups[group] = CacheGroup(group, "full" if kind == "full" else "state")


def _shown(name: str) -> str:
    """A name that a message states, if it is one: a message may state any text."""
    return name if _NAME.fullmatch(name) else "(no name)"


def _texts(value: object) -> tuple[str, ...]:
    """What one of the `extra_keys` has: none, one, or several values."""
    if value is None:
        return ()
    return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)


def _struct(name: str, fields: dict[str, Any], form: type[Any]) -> Any:
    try:
        return msgspec.convert(fields, form)
    except msgspec.ValidationError as error:
        raise Malformed(f"{name}: {error}") from None


def _keys(hashes: list[Any]) -> tuple[int | str, ...]:
    """The content keys of block hashes: whole numbers, texts, or bytes as hexadecimal texts."""
    return tuple(map(_key, hashes))


def _key(value: object) -> int | str:
    if isinstance(value, int) and not isinstance(value, bool) and -_WORD // 2 <= value < _WORD:
        return value % _WORD  # some engines write 64 bits with a sign
    if isinstance(value, bytes) and 0 < len(value) <= _MOST_TEXT:
        return value.hex()
    if isinstance(value, str) and 0 < len(value) <= _MOST_TEXT:
        return value
    raise Malformed("a block hash is a number of 64 bits, a text or bytes")
