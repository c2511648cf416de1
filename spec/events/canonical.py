"""Defines the canonical form of an event: one JSON object on one line.

`Event` is decoded by msgspec and written by `EVENT_ENCODER`; unknown fields are refused, so that a
misspelt field is an error and not a silent default. Counts are in blocks, times in monotonic
nanoseconds, durations are texts that carry their unit.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from spec.events.alphabet import Kind

__all__ = [
    "EVENT_ENCODER",
    "MARKS",
    "MOST_GROUPS",
    "SCHEMA",
    "CacheGroup",
    "CapacityProof",
    "Event",
    "Mark",
    "StreamMark",
    "as_jsonl",
]

SCHEMA = "resident-claims/event/2"

Blocks = Annotated[int, Meta(ge=0, le=2**53)]
Span = Annotated[int, Meta(ge=1, le=1024)]
Name = Annotated[str, Meta(min_length=1, max_length=1024)]
Stream = Annotated[str, Meta(max_length=1024)]
Count = Annotated[int, Meta(ge=0)]
Id = Count | Name
"""A block id or a content key: a text, or a whole number of any size."""


class CapacityProof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a request does not fit, in blocks: `resident + active = total`, over `usable`."""

    resident: Blocks
    active: Blocks
    total: Blocks
    usable: Blocks
    shortfall: Blocks


class Event(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One fact or report. Which fields a kind reads is listed in docs/events.md."""

    kind: Kind
    stream: Stream = ""
    sequence: Count | None = None
    time_ns: Count | None = None
    # Whom and what it is about.
    claim_id: Name | None = None
    request_id: Name | None = None
    cache_identity: Name | None = None
    object_id: Name | None = None
    predicate: Name | None = None
    predicate_id: Name | None = None
    token_map: Name | None = None
    # What the claim asks for (claim_registered, claim_accepted) and who acts on it.
    mode: Name | None = None
    owner_scope: Name | None = None
    by: Name | None = None
    duration: Name | None = None
    priority: int | None = None
    footprint: Blocks | None = None
    # Blocks: physical ids, and for block_cached their logical positions, pairwise.
    block_ids: tuple[Id, ...] = ()
    positions: tuple[Blocks, ...] = ()
    lowest_priority: int | None = None
    found: bool = False
    # Content keys, of the positions of a claim from 0 on or of the blocks of a fact: equal keys of
    # one cache identity and group are equal content. `content_keys` is the old name of `keys`.
    keys: tuple[Id, ...] = ()
    content_keys: tuple[Name, ...] = ()
    tier: Name | None = None
    group: Blocks | None = None
    # Blocks found by a look-up, or brought back by a load, from the predicate's start on; and those
    # of the claim that the prompt could use, from position 0 on.
    held: Blocks | None = None
    asked: Blocks | None = None
    # Requests and what is stated about them.
    needed: Blocks | None = None
    usable: Blocks | None = None
    blocking_claim_ids: tuple[Name, ...] | None = None
    proof: CapacityProof | None = None
    # Why, and the pool at that moment: shown, and not judged.
    reason: Name | None = None
    capacity: CapacityProof | None = None
    restore: bool = False
    # Failed restores: refusal, demotion, expiry, harm, or anything else that is no outcome.
    outcome: Name | None = None
    outcome_claim_id: Name | None = None
    duplicate: bool = False
    echo: bool = False  # the old name of `duplicate`
    from_tier: bool = False
    # The event states what stands, for readers that missed it.
    restated: bool = False
    # Routes.
    cost: Blocks | None = None
    worker: Name | None = None
    hit: bool | None = None

    @property
    def contents(self) -> tuple[Id, ...]:
        """The content keys, under whichever name they are stated."""
        return self.keys or self.content_keys

    @property
    def repeats(self) -> bool:
        """Whether a component below the scheduler repeats a failure that was reported."""
        return self.duplicate or self.echo

    @property
    def demotes(self) -> bool:
        """Whether it reports a demotion: an offload with a caller ends responsibility as well."""
        offloads = self.kind is Kind.CLAIM_OFFLOADED and self.by is not None
        return offloads or self.kind is Kind.CLAIM_DEMOTED

    @property
    def accused(self) -> tuple[str, ...]:
        """The claims that an action names as its cause.

        A refusal for a failed restore names the claim of its outcome, too.
        """
        listed = self.blocking_claim_ids or ()
        outcome = self.outcome_claim_id if self.restore else None
        return listed if outcome is None or outcome in listed else (*listed, outcome)


class Mark(StrEnum):
    """What the writer of a stream says of the stream: it is no event and is delivered to no
    claim.
    """

    STREAM_OPENED = "stream_opened"
    STREAM_CLOSED = "stream_closed"
    STREAM_RESTATED = "stream_restated"


MARKS = {
    Mark.STREAM_OPENED: "the stream begins; its last line will be `stream_closed`",
    Mark.STREAM_CLOSED: "the stream is complete; no line before this one is missing",
    Mark.STREAM_RESTATED: "what stands is stated again: the next lines with `restated`",
}
"""What each mark says."""


MOST_GROUPS: Final = 64
"""The most groups that a stream may state."""


class CacheGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A group of KV caches: its number, its kind, and of a `window` the blocks that a hit needs.

    A block of it covers `span` positions, by default one.
    """

    group: Blocks
    kind: Literal["full", "window", "state"]
    window: Blocks | None = None
    span: Span | None = None


class StreamMark(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A line of a stream that is a mark and no event.

    `observes` are the kinds of facts of which the hooks of the stream state each one. `unobserved`
    is what else they do not observe, in words: it is shown, and not judged. `rank` of
    `ranks` says that the stream has what one process of the engine observed; `engine` names the
    engine, where the stream has another name. Only `stream_opened` has these.
    """

    kind: Mark
    stream: Stream = ""
    sequence: Count | None = None
    time_ns: Count | None = None
    observes: tuple[Name, ...] | None = None
    rank: Count | None = None
    ranks: Count | None = None
    engine: Name | None = None
    groups: tuple[CacheGroup, ...] = ()
    unobserved: tuple[Name, ...] = ()


EVENT_ENCODER = msgspec.json.Encoder()


def as_jsonl(lines: Iterable[Event | StreamMark]) -> bytes:
    """Lines of a stream in the canonical form, one JSON object on each."""
    return b"".join(EVENT_ENCODER.encode(line) + b"\n" for line in lines)
