"""Reads what NVIDIA Dynamo's frontend records of a request: where it went, and what was cached.

Three forms, one JSON object on each line, in any order and in any number of files:

* the request trace (`DYN_REQUEST_TRACE=1`), a `request_end` for each request: its worker, what the
  router took for cached there, and a hash for each block of its prompt;
* the log of the frontend (`DYN_LOGGING_JSONL=1`), a "Selected worker" for each choice of the
  router: the worker and its cost, which the router calls `logit`;
* answers to clients, with `usage`: what the engine says was cached.

`cached_tokens` of the trace is not what the engine served: it is what the router's index held when
it chose. The hashes do not depend on the cache salt. Source: ai-dynamo 1.6.1, as it runs.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from monitor.input.dialects import look
from monitor.input.dialects._json import parse
from monitor.input.dialects._json import struct as struct_of
from monitor.input.errors import InputError
from monitor.input.lines import Lines
from monitor.input.looks import request_trace_of
from monitor.watch.tokens import package

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["COST_UNITS", "End", "Prefixes", "Records", "prefix_hashes", "read_records"]

COST_UNITS: Final = 1_000_000
"""Units of cost in one unit of the router's `logit`, which is in blocks."""

_MOST_REQUESTS: Final = 1_000_000
_END: Final = "request_end"
_SELECTOR: Final = "dynamo_kv_router::scheduling::selector"
_SELECTED: Final = "Selected worker"
_LOG: Final = frozenset({"time", "level", "target", "message"})
_IDS: Final = ("chatcmpl-", "cmpl-")  # before the request's id, in the id of an answer
_SEED: Final = 1337
_MOST_COST: Final = 1 << 40
_EXPECTED: Final = (
    "expected: a request trace of NVIDIA Dynamo, its frontend's log in JSON, or answers with usage"
)

Prefixes: TypeAlias = "Mapping[tuple[int, int], Sequence[str]]"
"""Claims by the blocks of their prefixes and the hash of the last one."""

_Text = Annotated[str, Meta(min_length=1, max_length=256)]
_Count = Annotated[int, Meta(ge=0, le=1 << 53)]


class _Worker(msgspec.Struct, frozen=True):
    prefill_worker_id: int | None = None
    prefill_dp_rank: int | None = None
    decode_worker_id: int | None = None
    decode_dp_rank: int | None = None


class _Replay(msgspec.Struct, frozen=True):
    trace_block_size: _Count
    input_sequence_hashes: list[int]


class _Request(msgspec.Struct, frozen=True):
    request_id: _Text
    request_received_ms: _Count
    input_tokens: _Count | None = None
    cached_tokens: _Count | None = None
    worker: _Worker | None = None
    replay: _Replay | None = None


class _RequestEnd(msgspec.Struct, frozen=True):
    event_time_unix_ms: _Count
    request: _Request


class _Selected(msgspec.Struct, frozen=True):
    request_id: _Text
    worker_id: int
    logit: float
    dp_rank: int | _Text = 0


class _Details(msgspec.Struct, frozen=True):
    cached_tokens: _Count | None = None


class _Usage(msgspec.Struct, frozen=True):
    prompt_tokens_details: _Details | None = None


class _Answer(msgspec.Struct, frozen=True):
    id: _Text
    usage: _Usage | None = None


class End(NamedTuple):
    """The end of a request whose prompt begins with the prefix of a claim.

    Attributes:
        claims: the claims.
        worker: None if the record names none, or several.
        tokens: of the prompt.
        believed: tokens that the router took for cached at the worker.
    """

    request_id: str
    claims: tuple[str, ...]
    worker: str | None
    tokens: int | None
    believed: int | None
    received_ms: int
    ended_ms: int


@dataclass(slots=True)
class Records:
    """What was read.

    Args:
        block_size: the tokens of a block of the prefixes.
        claims: by the blocks of their prefixes and the hash of the last one.

    Attributes:
        ends: those of requests with the prefix of a claim, by the request.
        known: the requests that ended, of all.
        again: requests that ended twice.
        selected: the choices of the router, each a worker and its cost, None if that is no amount.
        served: tokens that the engine says were cached, by the request.
        unhashed: how many ends state no hashes of blocks of this size.
        others: how many records were passed over: other events, and other messages of the log.
    """

    block_size: int
    claims: Prefixes
    ends: dict[str, End] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    again: set[str] = field(default_factory=set)
    selected: dict[str, list[tuple[str, int | None]]] = field(default_factory=dict)
    served: dict[str, int] = field(default_factory=dict)
    unhashed: int = 0
    others: int = 0
    _lengths: set[int] = field(init=False)

    def __post_init__(self) -> None:
        self._lengths = {blocks for blocks, _ in self.claims}

    @property
    def ended(self) -> int:
        """How many requests ended."""
        return len(self.known)

    def take(self, obj: dict[str, object], file: str, line: int) -> bool:
        """Take a record. Return False if it has none of the three forms.

        Raises:
            InputError: a field is missing or of a wrong value, or there are too many requests.
        """
        if (event := request_trace_of(obj)) is not None:
            if event.get("event_type") == _END:
                self._end(struct_of(event, _RequestEnd, file, line))
            else:
                self.others += 1
        elif obj.keys() >= _LOG:
            if (obj["target"], obj["message"]) == (_SELECTOR, _SELECTED):
                self._select(struct_of(obj, _Selected, file, line))
            else:
                self.others += 1
        elif isinstance(obj.get("id"), str) and "usage" in obj:
            self._answer(struct_of(obj, _Answer, file, line))
        else:
            return False
        if max(len(self.known), len(self.selected), len(self.served)) > _MOST_REQUESTS:
            hint = "split the files by time"
            raise InputError(file, f"over {_MOST_REQUESTS} requests", line=line, hint=hint)
        return True

    def _end(self, said: _RequestEnd) -> None:
        request, replay = said.request, said.request.replay
        self.known.add(request.request_id)
        if replay is None or replay.trace_block_size != self.block_size:
            self.unhashed += 1
            return
        hashes = replay.input_sequence_hashes
        claims = [
            name
            for blocks in self._lengths
            if blocks <= len(hashes)
            for name in self.claims.get((blocks, hashes[blocks - 1]), ())
        ]
        if not claims:
            return
        if request.request_id in self.ends:
            self.again.add(request.request_id)
        self.ends[request.request_id] = End(
            request.request_id,
            tuple(claims),
            _worker(request.worker),
            request.input_tokens,
            request.cached_tokens,
            request.request_received_ms,
            said.event_time_unix_ms,
        )

    def _select(self, said: _Selected) -> None:
        cost = round(said.logit * COST_UNITS) if 0 <= said.logit <= _MOST_COST else None
        choices = self.selected.setdefault(said.request_id, [])
        if len(choices) < 2:  # of more than one none is the choice
            choices.append((_name(said.worker_id, said.dp_rank), cost))

    def _answer(self, said: _Answer) -> None:
        details = None if said.usage is None else said.usage.prompt_tokens_details
        request = next((said.id.removeprefix(p) for p in _IDS if said.id.startswith(p)), said.id)
        if details is None or details.cached_tokens is None:
            self.others += 1  # a piece of an answer that is streamed
        else:
            self.served[request] = details.cached_tokens


def prefix_hashes(blocks: Sequence[Sequence[int]]) -> list[int]:
    """The hash of each block of a prompt, as the request trace states it.

    The hash of a block is XXH3 (64 bits, seed 1337) of its tokens, each as 32 bits, little-endian;
    from the second block on, that of the hash before it and of the block's own.

    Raises:
        SpecError: xxhash is not installed.
    """
    xxh3 = package("xxhash", "xxhash").xxh3_64_intdigest
    found: list[int] = []
    for block in blocks:
        own = xxh3(struct.pack(f"<{len(block)}I", *block), seed=_SEED)
        found.append(xxh3(struct.pack("<2Q", found[-1], own), seed=_SEED) if found else own)
    return found


def read_records(files: Sequence[str], block_size: int, claims: Prefixes) -> Records:
    """The records in some files, each read once.

    Args:
        block_size: the tokens of a block of the prefixes.
        claims: by the blocks of their prefixes and the hash of the last one.

    Raises:
        InputError: a file cannot be read, or a line is none of the three forms.
    """
    found = Records(block_size, claims)
    for file in dict.fromkeys(files):
        for line, content in Lines(file):
            if isinstance(content, InputError):
                raise content
            try:
                obj = parse(content, file, line)
            except InputError as problem:
                hint = _EXPECTED if line == 1 else problem.hint
                raise InputError(file, problem.reason, line, problem.field, hint) from None
            if not found.take(obj, file, line):
                what = look(content)
                reason = f"it looks like {what}" if what else "no record of a request"
                raise InputError(file, reason, line=line, hint=_EXPECTED)
    return found


def _name(worker: int, rank: int | str | None) -> str:
    """The name of a rank of a worker; the log has ranks as texts."""
    return f"{worker}.{rank or 0}"


def _worker(said: _Worker | None) -> str | None:
    """The worker that computed the prompt and the output; None where they are two, or unknown."""
    if said is None or said.prefill_worker_id is None or said.decode_worker_id is None:
        return None
    prefill = _name(said.prefill_worker_id, said.prefill_dp_rank)
    return prefill if prefill == _name(said.decode_worker_id, said.decode_dp_rank) else None
