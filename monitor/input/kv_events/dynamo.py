"""Decodes the KV events that NVIDIA Dynamo passes to its router.

A line is a RouterEvent, a list of them, or an EventEnvelope of the event plane, which has a list of
them in `payload`. Each event is a batch of its own: its number is `event_id`, which each worker and
each rank counts by itself. No capture confirms this reader.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta

from monitor.input.kv_events.facts import (
    MOST_NUMBER,
    MOST_STREAMS,
    Batch,
    Gap,
    Malformed,
    Message,
    RankNumber,
    Removed,
    Stored,
    is_map,
    struct_of,
    unpacked,
)
from monitor.input.kv_events.runtimes import DYNAMO
from spec.stream.pool import GPU

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["KNOWN", "TIERS", "Reader", "recognises"]

TIERS: Final = {"device": GPU, "host_pinned": "cpu", "disk": "disk", "external": "external"}
"""The tiers by the storage tiers that Dynamo names."""

KNOWN: Final = {
    "stored": frozenset({"parent_hash", "blocks"}),
    "removed": frozenset({"block_hashes"}),
    "cleared": frozenset[str](),
}
"""The events that are understood, with their fields."""

_WORD: Final = 1 << 64

_Number = Annotated[int, Meta(ge=0, le=MOST_NUMBER)]
_Id = Annotated[int, Meta(ge=0)] | Annotated[str, Meta(min_length=1, max_length=256)]


def recognises(obj: dict[str, object]) -> bool:
    """Whether an object is one of these events, or an envelope of them."""
    event = obj.get("event")
    routed = "worker_id" in obj and isinstance(event, dict) and "data" in event
    return routed or ("publisher_id" in obj and "payload" in obj)


class _Inner(msgspec.Struct, frozen=True):
    event_id: _Number
    data: dict[str, Any] | str
    dp_rank: RankNumber | None = None


class _Routed(msgspec.Struct, frozen=True):
    worker_id: _Id
    event: dict[str, Any]
    storage_tier: str | None = None


class _Envelope(msgspec.Struct, frozen=True):
    publisher_id: _Id
    sequence: _Number
    payload: Any
    published_at: Any = None
    topic: Any = None


class _Block(msgspec.Struct, frozen=True):
    block_hash: Any
    tokens_hash: Any = None


class _Publisher(msgspec.Struct):
    """What is known of a publisher of envelopes: the last number, and the streams in them."""

    last: int
    streams: set[tuple[str, int]]


class Reader:
    """The events of one file."""

    def __init__(self) -> None:
        self._publishers: dict[int | str, _Publisher] = {}

    def read(self, items: Sequence[dict[str, Any]]) -> list[Message | Gap]:
        """The events of one line; raises Malformed, and then changes no state."""
        if len(items) == 1 and "payload" in items[0]:
            return self._enveloped(items[0])
        return [_message(item, "router events") for item in items]

    def _enveloped(self, item: dict[str, Any]) -> list[Message | Gap]:
        envelope = struct_of("envelope", item, _Envelope)
        events = _payload(envelope.payload)
        others = item.keys() - set(_Envelope.__struct_fields__)
        found = [_message(each, "envelopes", others) for each in events]
        streams = {(each.endpoint, each.batch.rank) for each in found}
        known = self._publishers.get(envelope.publisher_id)
        publisher = known or _Publisher(envelope.sequence - 1, set())
        if len(publisher.streams | streams) > MOST_STREAMS:
            raise Malformed(f"over {MOST_STREAMS} streams of one publisher")
        if known is None:
            if len(self._publishers) >= MOST_STREAMS:
                raise Malformed(f"over {MOST_STREAMS} publishers of envelopes")
            self._publishers[envelope.publisher_id] = publisher
        gaps: list[Message | Gap] = []
        if envelope.sequence != publisher.last + 1:
            why = f"envelope {envelope.sequence} of a publisher follows envelope {publisher.last}"
            gaps = [Gap(*stream, why) for stream in sorted(publisher.streams)]
        publisher.last = envelope.sequence
        publisher.streams |= streams
        return [*gaps, *found]


def _payload(payload: Any) -> list[Any]:
    """The events in an envelope: decoded, or msgpack in base64."""
    if isinstance(payload, str):
        try:
            payload = unpacked(b64decode(payload, validate=True))
        except (binascii.Error, ValueError):
            raise Malformed("the payload of an envelope is msgpack in base64") from None
    events = [payload] if is_map(payload) else payload
    if not isinstance(events, list):
        raise Malformed("the payload of an envelope is a list of RouterEvents")
    return events


def _message(item: Any, form: str, others: set[str] | frozenset[str] = frozenset()) -> Message:
    """The batch of one RouterEvent.

    Args:
        others: fields of its envelope that are not known.
    """
    if not is_map(item):
        raise Malformed("a RouterEvent is a map")
    batch = _Routes(form)
    batch.check_fields("envelope", others, frozenset())
    routed = batch.part("RouterEvent", item, _Routed)
    event = batch.part("event", routed.event, _Inner)
    batch.read(event.data, routed.storage_tier)
    batch.place(None, event.dp_rank)
    if isinstance(routed.worker_id, int) and routed.worker_id >= _WORD:
        raise Malformed("worker_id is a number of 64 bits or a text")
    return Message(f"worker {routed.worker_id}", event.event_id, batch)


class _Routes(Batch):
    """One event."""

    def __init__(self, form: str) -> None:
        super().__init__(KNOWN, DYNAMO, form)

    def read(self, data: dict[str, Any] | str, storage: str | None) -> None:
        """The event; raises Malformed."""
        if isinstance(data, str):
            data = {data: None}
        if len(data) != 1:
            raise Malformed("the data of an event is stored, removed or cleared")
        ((name, fields),) = data.items()
        fields = {} if fields is None else fields
        if not is_map(fields):
            raise Malformed("the data of an event is a map")
        if not self.count(name, fields.keys()):
            return
        if name == "cleared":
            self.clear("the tiers that cleared of NVIDIA Dynamo empties are not known")
        elif name == "stored":
            blocks = [self.part("block", e, _Block) for e in struct_of(name, fields, Stored).blocks]
            self.stored([block.block_hash for block in blocks], 0, self._tier(storage))
        else:
            removed = struct_of(name, fields, Removed)
            self.removed(removed.block_hashes, 0, self._tier(storage))

    def _tier(self, storage: str | None) -> str:
        return self.tier(storage, TIERS, "storage tier")
