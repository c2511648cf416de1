"""Reads and writes the request trace of NVIDIA Dynamo (`dynamo.request.trace.v1`).

A `request_end` states the tokens of a request, when it came, and in `replay` a hash for each block
that its prompt begins (`DYN_REQUEST_TRACE=1`). A request that names a session and came after the
end of the one before it is a turn: it comes again as long after that end. A `tool_end` names the
tool that the turn before it called. Source: ai-dynamo 1.6.1.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from models.simulation.request import Request
from models.simulation.workload.lines import decode, wrong
from models.simulation.workload.mooncake import Name, Tokens, hashes_of, keys_of
from models.simulation.workload.spool import Spool
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from models.simulation.request import Workload

__all__ = ["SCHEMA", "read", "written"]

SCHEMA: Final = "dynamo.request.trace.v1"

_END: Final = "request_end"
_TOOL: Final = "tool_end"
_REPLAY: Final = "record it with DYN_REQUEST_TRACE=1 where the frontend routes by KV events"
_Ms = Annotated[int, Meta(ge=0, le=1 << 53)]
_Size = Annotated[int, Meta(ge=1, le=1 << 20)]


class _Replay(msgspec.Struct):
    trace_block_size: _Size
    input_length: Tokens
    input_sequence_hashes: list[int]


class _Request(msgspec.Struct):
    request_id: Name
    output_tokens: Tokens
    request_received_ms: _Ms
    replay: _Replay | None = None


class _Tool(msgspec.Struct, omit_defaults=True):
    tool_class: Name
    tool_call_id: str = ""


class _Session(msgspec.Struct):
    session_id: Name


class _Record(msgspec.Struct, kw_only=True, omit_defaults=True):
    schema: str = ""
    event_type: str = ""
    event_time_unix_ms: _Ms | None = None
    agent_context: _Session | None = None
    request: _Request | None = None
    tool: _Tool | None = None
    event: _Record | None = None  # the record, in a line of the rotating file


@dataclass(slots=True)
class _Raw:
    """What was read: requests with absolute times, and tools as requests without an id."""

    spool: Spool = field(default_factory=Spool)
    sessions: array[int] = field(default_factory=lambda: array("Q"))
    came: array[int] = field(default_factory=lambda: array("Q"))
    ended: array[int] = field(default_factory=lambda: array("Q"))
    numbers: dict[str | None, int] = field(default_factory=lambda: {None: 0})

    def add(self, request: Request, came: int, ended: int) -> None:
        self.spool.add(request)
        session = self.numbers.setdefault(request.session, len(self.numbers))
        self.sessions.append(session)
        self.came.append(came)
        self.ended.append(ended)


def read(found: Iterable[tuple[int, bytes]], file: str, most: int) -> tuple[Spool, int]:
    """The requests of the records, in the order of their arrival, and the tokens of a block.

    Args:
        found: the lines with their numbers.
        most: the number of requests that are read.

    Raises:
        DocumentError: a line is no record, or states no hashes, or blocks of another size.
        SpecError: no line is the end of a request.
    """
    raw, known, block, start = _Raw(), set[str](), 0, 1 << 53
    for number, line in found:
        record = decode(line, _Record, file, number)
        said = record.event or record
        session = said.agent_context.session_id if said.agent_context else None
        ended = said.event_time_unix_ms
        if said.schema != SCHEMA or ended is None:
            raise wrong(file, number, f"no record of {SCHEMA}", _REPLAY)
        if said.event_type == _TOOL and said.tool is not None and session is not None:
            raw.add(Request("", 0.0, 0, 0, (), None, session, said.tool.tool_class), ended, ended)
        if said.event_type != _END:
            continue
        if len(known) == most:
            break
        request = said.request
        if request is None or request.replay is None:
            raise wrong(file, number, "the request states no hashes of its blocks", _REPLAY)
        replay, name = request.replay, request.request_id
        block = block or replay.trace_block_size
        if replay.trace_block_size != block:
            reason = f"blocks of {replay.trace_block_size} tokens, after blocks of {block}"
            raise wrong(file, number, reason, "give one deployment's trace")
        if name in known:
            raise wrong(file, number, f"the request {name} ended before", "remove one record")
        if ended < request.request_received_ms:
            raise wrong(file, number, "the request ended before it came", "correct the times")
        known.add(name)
        start = min(start, request.request_received_ms)
        hashes, tokens = replay.input_sequence_hashes, replay.input_length
        keys = keys_of(hashes, tokens, block, file, number, "input_sequence_hashes")
        made = Request(name, 0.0, tokens, request.output_tokens, keys, None, session)
        raw.add(made, request.request_received_ms, ended)
    if not known:
        raise SpecError(f"{file} has no end of a request", _REPLAY)
    return _linked(raw, start), block


def _linked(raw: _Raw, start: int) -> Spool:
    """The requests with the turns before them and the tools that they call; times from `start`."""
    raw.spool.sort(raw.sessions, raw.came)
    linked, places = Spool(), array("d")
    last, end = None, 0
    for at, request in zip(raw.spool.order, raw.spool, strict=True):
        goes_on = last is not None and request.session in {last.session} - {None}
        if not request.id:
            if last is not None and goes_on:
                last = replace(last, tool=request.tool)
            continue
        came = raw.came[at]
        if last is not None:
            linked.add(last)
        if last is not None and goes_on and end <= came:
            last = replace(request, after=last.id, arrives=(came - end) / 1000)
        else:
            last = replace(request, arrives=(came - start) / 1000)
        end = raw.ended[at]
        places.append(came)
    if last is not None:
        linked.add(last)
    linked.sort(places)
    return linked


def written(workload: Workload) -> Iterator[bytes]:
    """The workload as records. The form has no owners and no keys of answers.

    The form states when requests ended. As the workload does not, each ends in the millisecond in
    which it comes; what a reader takes from the times are the pauses.
    """
    encode = msgspec.json.Encoder().encode
    ends: dict[str, int] = {}
    for number, request in enumerate(workload, 1):
        came = round(request.arrives * 1000) + (ends[request.after] if request.after else 0)
        session = _Session(request.session) if request.session is not None else None
        if request.session is not None:
            ends[request.id] = came
        if request.after:
            del ends[request.after]
        hashes = hashes_of(request, number, workload.block)
        replay = _Replay(workload.block, request.prompt, hashes)
        ended = _Record(
            schema=SCHEMA,
            event_type=_END,
            event_time_unix_ms=came,
            agent_context=session,
            request=_Request(request.id, request.output, came, replay),
        )
        yield encode(_Record(event=ended)) + b"\n"
        if request.tool is not None and session is not None:
            tool = _Record(
                schema=SCHEMA,
                event_type=_TOOL,
                event_time_unix_ms=came,
                agent_context=session,
                tool=_Tool(request.tool, f"call-{request.id}"),
            )
            yield encode(_Record(event=tool)) + b"\n"
