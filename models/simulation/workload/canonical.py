"""Derives requests from a canonical trace of one engine (`resident-claims/event/2`).

Such a trace states blocks, not tokens. The prompt of a derived request has the blocks that the
request found or computed (`block_cached`), and those of a claim that it asked for (`asked` of
`prefix_lookup`). Blocks that its answer filled are among them, so the answer has no tokens of its
own. A block that is stated by a claim or an object without keys has the key `object@position`, as
in the specification. A request of which the trace states no blocks, as of one that was refused, is
an error: what its prompt contains is not known.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import msgspec

from models.simulation.request import Request
from models.simulation.workload.lines import decode, wrong
from models.simulation.workload.spool import Spool
from spec.events.alphabet import Kind
from spec.events.canonical import Event, Mark, StreamMark
from spec.files.json_text import decode_json
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spec.language.errors import DocumentError

__all__ = ["read"]

_MOST: Final = 1_000_000
_SIZE: Final = "give --block the tokens of a block"


class _Kind(msgspec.Struct):
    kind: str


class _Identity(msgspec.Struct):
    block_size: int


@dataclass(slots=True)
class _Open:
    """A request that has not finished; `keys` by position."""

    came: int
    keys: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Reader:
    file: str
    block: int | None
    line: int = 0
    stream: str | None = None
    spool: Spool = field(default_factory=Spool)
    places: array[float] = field(default_factory=lambda: array("d"))
    identities: set[str] = field(default_factory=set)
    claims: dict[str, tuple[str, tuple[int | str, ...]]] = field(default_factory=dict)
    open: dict[str, _Open] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    start: int | None = None

    def wrong(self, reason: str, remedy: str) -> DocumentError:
        return wrong(self.file, self.line, reason, remedy)

    def take(self, event: Event) -> None:
        if self.stream not in {None, event.stream}:
            raise self.wrong("a second stream", "give the trace of one engine")
        self.stream = event.stream
        if event.group:
            raise self.wrong("a second group of caches", "give a trace with one group")
        self._identify(event)
        if event.claim_id is not None and event.kind in _STATES_CLAIM:
            known = self.claims.get(event.claim_id, ("", ()))
            kept = event.object_id or known[0] or event.claim_id, event.contents or known[1]
            self.claims[event.claim_id] = kept
        name = event.request_id
        if event.restated or name is None:
            return
        if event.kind is Kind.REQUEST_ARRIVED:
            self._arrive(name, event.time_ns)
        elif name in self.open:
            if event.kind is Kind.BLOCK_CACHED:
                self._cached(self.open[name], event)
            elif event.kind is Kind.PREFIX_LOOKUP and event.claim_id in self.claims:
                self._claimed(self.open[name], event, range(event.asked or 0))
            elif event.kind is Kind.REQUEST_FINISHED:
                self._finish(name, self.open.pop(name))
        if max(len(self.open), len(self.claims)) > _MOST:
            raise self.wrong(f"over {_MOST} claims or open requests", "split the trace")

    def _identify(self, event: Event) -> None:
        text = event.cache_identity
        if text is None or text in self.identities:
            return
        if len(self.identities) == _MOST:
            raise self.wrong(f"over {_MOST} cache identities", "split the trace")
        self.identities.add(text)
        try:
            size = decode_json(text.encode(), _Identity).block_size
        except ValueError:
            return  # an identity may be any text
        if size < 1 or self.block not in {None, size}:
            raise self.wrong(f"blocks of {size} tokens", f"expected {self.block or 'some tokens'}")
        self.block = size

    def _arrive(self, name: str, came: int | None) -> None:
        if name in self.open or name in self.done:
            raise self.wrong(f"the request {name[:60]} came before", "give each its own id")
        if came is None:
            raise self.wrong("an arrival without time_ns", "state when the request came")
        self.start = came if self.start is None else self.start
        if came < self.start:
            raise self.wrong("time_ns decreases", "sort the events by their sequence")
        self.open[name] = _Open(came)

    def _cached(self, request: _Open, event: Event) -> None:
        contents, positions = event.contents, event.positions
        if not contents:
            self._claimed(request, event, positions)
        elif len(contents) != len(positions):
            raise self.wrong("blocks of a prompt without positions", "state where they stand")
        for position, key in zip(positions, contents, strict=False):
            request.keys[position] = _number(key)

    def _claimed(self, request: _Open, event: Event, positions: Iterable[int]) -> None:
        """Take blocks at positions of a claim, or of an object of which no claim is known."""
        known = self.claims.get(event.claim_id or "", (event.object_id or event.claim_id or "", ()))
        owner, keys = known
        if not owner:
            raise self.wrong("blocks without keys, claim and object", "state their keys")
        for at in positions:
            if at > _MOST:
                raise self.wrong(f"a position over {_MOST}", "positions count blocks")
            key = keys[at] if at < len(keys) else f"{owner}@{at}"
            request.keys.setdefault(at, _number(key))

    def _finish(self, name: str, request: _Open) -> None:
        keys = request.keys
        gap = next((at for at in range(len(keys)) if at not in keys), None)
        if gap is not None or not keys:
            what = f"block {gap}" if keys else "the blocks"
            raise self.wrong(
                f"request {name[:60]}: the trace does not state {what} of its prompt",
                "leave the request out, or record the trace with the plugin",
            )
        if self.block is None:
            raise self.wrong("no event so far states the tokens of a block", _SIZE)
        arrives = (request.came - (self.start or 0)) / 1e9
        every = tuple(keys[at] for at in range(len(keys)))
        self.done.add(name)
        self.places.append(arrives)
        self.spool.add(Request(name, arrives, len(keys) * self.block, 0, every))


_STATES_CLAIM: Final = {Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED}
_MARKS: Final = frozenset(Mark)


def read(
    found: Iterable[tuple[int, bytes]], file: str, block: int | None, most: int
) -> tuple[Spool, int]:
    """The requests of the events, in the order of their arrival, and the tokens of a block.

    Args:
        found: the lines with their numbers.
        block: tokens of a block, where no cache identity states them.
        most: the number of requests that are read.

    Raises:
        DocumentError: a line is no event, or a request is not wholly stated.
        SpecError: no request finished.
    """
    reader = _Reader(file, block)
    for number, line in found:
        reader.line = number
        if decode(line, _Kind, file, number).kind in _MARKS:
            decode(line, StreamMark, file, number)
            continue
        reader.take(decode(line, Event, file, number))
        if len(reader.done) == most:
            break
    else:
        if reader.open:
            name = next(iter(reader.open))
            raise reader.wrong(f"the trace ends before the request {name[:60]}", "cut it there")
    if not reader.done or reader.block is None:
        raise SpecError(f"{file} has no request that finished", "give a trace with requests")
    reader.spool.sort(reader.places)
    return reader.spool, reader.block


def _number(key: int | str) -> int:
    """The key as a number of 64 bits."""
    kind = "number" if isinstance(key, int) else "text"
    return int.from_bytes(blake2b(f"{kind}:{key}".encode(), digest_size=8).digest())
