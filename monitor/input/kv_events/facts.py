"""Collects what one batch of KV events states, in any form, as canonical events."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from spec.events.alphabet import Kind
from spec.events.canonical import CacheGroup, Event
from spec.stream.pool import GPU

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Set

    from monitor.input.kv_events.runtimes import Runtime

__all__ = [
    "MOST_GROUPS",
    "MOST_NUMBER",
    "MOST_STREAMS",
    "NAME",
    "UNKNOWN_TIER",
    "Batch",
    "Content",
    "Gap",
    "Malformed",
    "Message",
    "RankNumber",
    "Removed",
    "Seconds",
    "Stored",
    "adapter_extra",
    "is_map",
    "keys_of",
    "salt_extra",
    "shown_name",
    "struct_of",
    "unpacked",
]

UNKNOWN_TIER: Final = "unknown"
"""The tier of blocks whose medium is not known; the batch is `unread`."""

MOST_GROUPS: Final = 64
MOST_NUMBER: Final = 2**63 - 1
MOST_STREAMS: Final = 4096
NAME: Final = re.compile(r"[A-Za-z0-9_.]{1,64}")
_MOST_TEXT: Final = 256
_WORD: Final = 1 << 64
_DECODE: Final = msgspec.msgpack.Decoder().decode

RankNumber = Annotated[int, Meta(ge=0, lt=1 << 16)]
Seconds = Annotated[float, Meta(ge=0, lt=1 << 33)]
S = TypeVar("S", bound=msgspec.Struct)


class Malformed(ValueError):
    """A batch is not in the form that it seems to have; says where, and why."""


class Content(NamedTuple):
    """What a store states of the content of its blocks.

    Attributes:
        keys: of the blocks.
        parent: the key of the block before the first; None if that begins a prompt.
        tokens: the ids of the tokens of all blocks, `size` a block.
        extras: for each block what its content depends on beside tokens: adapter, salt and other
            inputs. None if the event does not state them.
    """

    keys: tuple[int | str, ...]
    parent: int | str | None
    tokens: tuple[int, ...]
    size: int
    group: int
    extras: tuple[tuple[str, ...], ...] | None


class Stored(msgspec.Struct, frozen=True):
    """The blocks of a store, in forms that state each by itself."""

    blocks: list[dict[str, Any]]


class Removed(msgspec.Struct, frozen=True):
    """The blocks of a removal, in the same forms."""

    block_hashes: list[Any]


class Message(NamedTuple):
    """A batch with its publisher, which names the stream, and its number."""

    endpoint: str
    sequence: int | None
    batch: Batch


class Gap(NamedTuple):
    """Batches of a publisher and a rank may be missing here, and why."""

    endpoint: str
    rank: int
    why: str


class Batch:
    """What one batch states, collected fact by fact. Each form of events has a subclass that reads
    them.

    Args:
        known: the events that are understood, with their fields.
        runtime: the one that published the batches before it.

    Attributes:
        form: of its events, such as maps or arrays.
        runtime: by the fields of its events.
        time_ns: of the engine's wall clock; None where the form has no time.
        rank: of the data-parallel rank.
        events: the canonical ones, in order.
        counts: the number of events by name, unknown ones among them.
        groups: the groups of caches whose kind is stated.
        others: fields that are not known, as `BlockStored.field`.
        unknown: the first name of an event that is not known, if there is one.
        stores: whether blocks are stored.
        unread: what was not understood, so that it is not known what is held after the batch.
        unclear: the same, where anything was held before the batch.
        contents: of the blocks that are stored on the GPU; None if they were not asked for, or if
            the form does not state them.
    """

    def __init__(
        self, known: Mapping[str, frozenset[str]], runtime: Runtime, form: str = ""
    ) -> None:
        self._known, self.runtime, self.form = known, runtime, form
        self.time_ns: int | None = None
        self.rank = 0
        self.events: list[Event] = []
        self.counts: dict[str, int] = {}
        self.groups: dict[int, CacheGroup] = {}
        self.others: dict[str, int] = {}
        self.unknown: str | None = None
        self.stores = False
        self.unread = self.unclear = ""
        self.contents: list[Content] | None = None

    def place(self, time: float | None, rank: int | None) -> None:
        """State the time in seconds, if the form has one, and the rank."""
        self.time_ns = None if time is None else int(time * 1e9)
        self.rank = rank or 0

    def count(self, name: object, fields: Set[str]) -> bool:
        """Count an event and its unknown fields. Return True if the event is known.

        Raises:
            Malformed: the name is none.
        """
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise Malformed("an event has a name of letters, digits and _")
        self.counts[name] = self.counts.get(name, 0) + 1
        if name not in self._known:
            self.unknown = self.unknown or name
            self.misread(f"the event {name} is not known")
            return False
        self.check_fields(name, fields, self._known[name])
        return True

    def check_fields(self, name: str, fields: Set[str], known: frozenset[str]) -> None:
        """Count the fields that are not known."""
        for field in fields - known:
            self.note(name, field)

    def part(self, name: str, fields: Mapping[str, Any], form: type[S]) -> S:
        """A part of an event as a struct, of which the fields that are not known are counted.

        Raises:
            Malformed: a field is missing, or of a wrong type.
        """
        self.check_fields(name, fields.keys(), frozenset(form.__struct_fields__))
        return struct_of(name, fields, form)

    def note(self, name: str, field: str) -> None:
        """A field is not known."""
        what = f"{name}.{shown_name(field)}"
        self.others[what] = self.others.get(what, 0) + 1

    def misread(self, why: str) -> None:
        """An event is not understood, so it is not known what is held after it."""
        self.unread = self.unread or why

    def clear(self, why: str) -> None:
        """Everything is cleared in tiers that are not known: a loss, if anything was held."""
        if self.stores:
            self.misread(why)
        self.unclear = self.unclear or why

    def clear_tier(self, tier: str) -> None:
        """A tier is cleared."""
        self.events.append(Event(kind=Kind.BLOCK_LOST, tier=tier))

    def tier(self, name: object, tiers: Mapping[Any, str], what: str) -> str:
        """The tier that a name means; an unknown name is a loss."""
        text = name if isinstance(name, str | int) and not isinstance(name, bool) else None
        found = tiers.get(text) if name is text else None
        if found is None:
            self.misread(f"the {what} {shown_name(str(name))} is not known")
        return found or UNKNOWN_TIER

    def stored(self, hashes: Iterable[object], group: int, tier: str) -> None:
        """Blocks are stored. Engines may state one copy several times."""
        self.stores = True
        self._state(hashes, group, tier, Kind.BLOCK_CACHED, Kind.HOST_COPY_FOUND)

    def removed(self, hashes: Iterable[object], group: int, tier: str) -> None:
        """Blocks are removed."""
        self._state(hashes, group, tier, Kind.BLOCK_EVICTED, Kind.HOST_COPY_LOST)

    def _state(
        self, hashes: Iterable[object], group: int, tier: str, on_gpu: Kind, elsewhere: Kind
    ) -> None:
        """State the keys of an event, if it has any: a fact without keys would be about all."""
        keys = keys_of(hashes)
        if keys and tier == GPU:
            self.events.append(Event(kind=on_gpu, keys=keys, group=group))
        elif keys:
            self.events.append(Event(kind=elsewhere, keys=keys, group=group, tier=tier))


def shown_name(name: str) -> str:
    """A name that a message states, if it is one: a message may state any text."""
    return name if NAME.fullmatch(name) else "(no name)"


def struct_of(name: str, fields: object, form: type[S]) -> S:
    """The fields of an event as a struct; raises Malformed."""
    try:
        return msgspec.convert(fields, form)
    except msgspec.ValidationError as error:
        raise Malformed(f"{name}: {error}") from None


def unpacked(payload: bytes) -> Any:
    """The value of a frame of msgpack; raises Malformed."""
    try:
        return _DECODE(payload)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Malformed(f"the payload is not msgpack: {str(error)[:100]}") from None


def adapter_extra(name: str) -> str:
    """An adapter as one of the `extras` of a block."""
    return f"adapter {name}"


def salt_extra(salt: str) -> str:
    """A cache salt, or another text, as one of the `extras` of a block."""
    return f"salt {salt}"


def keys_of(hashes: Iterable[object]) -> tuple[int | str, ...]:
    """The content keys of block hashes; raises Malformed."""
    return tuple(map(_key, hashes))


def _key(value: object) -> int | str:
    """The content key of a block hash; bytes are hexadecimal texts."""
    if isinstance(value, int) and not isinstance(value, bool) and -_WORD // 2 <= value < _WORD:
        return value % _WORD  # some engines write 64 bits with a sign
    if isinstance(value, bytes) and 0 < len(value) <= _MOST_TEXT:
        return value.hex()
    if isinstance(value, str) and 0 < len(value) <= _MOST_TEXT:
        return value
    raise Malformed("a block hash is a number of 64 bits, a text or bytes")


def is_map(value: object) -> bool:
    """Whether a value is a map with texts as keys."""
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)
