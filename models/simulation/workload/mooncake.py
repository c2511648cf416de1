"""Reads and writes the form of Mooncake's public traces (FAST'25).

A line is a request: `timestamp` in milliseconds from the start, `input_length` and `output_length`
in tokens, and `hash_ids`, one for each block of the prompt. An id stands for its block with all
blocks before it. The last one may stand for a block that the prompt does not fill; no other prompt
can use that block. The public traces have blocks of 512 tokens, and as many ids as blocks that the
prompt fills or begins. AIPerf, which replays the form, lets a line have fewer ids: the other
blocks are shared with no request. AIPerf and NVIDIA Dynamo add turns: a `session_id`, and instead
of a timestamp a `delay` in milliseconds from the end of the turn before.
"""

from __future__ import annotations

from array import array
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from models.simulation.request import Request
from models.simulation.workload.lines import decode, wrong
from models.simulation.workload.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from models.simulation.request import Workload

__all__ = ["BLOCK", "MOST_TOKENS", "Name", "Tokens", "hashes_of", "keys_of", "read", "written"]

BLOCK: Final = 512
"""Tokens of a block in the public traces."""

MOST_TOKENS: Final = 1 << 24
"""The most tokens that a prompt or an answer may have."""

_UNSHARED: Final = 1 << 63  # above any key of the generator
_STRINGS: Final = 4
_Ms = Annotated[float, Meta(ge=0, le=1 << 50)]
Tokens = Annotated[int, Meta(ge=0, le=MOST_TOKENS)]
Name = Annotated[str, Meta(min_length=1, max_length=256)]


class _Line(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    timestamp: _Ms | None = None
    input_length: Tokens
    output_length: Tokens
    hash_ids: list[int]
    session_id: Name | None = None
    delay: _Ms | None = None


def read(found: Iterable[tuple[int, bytes]], file: str, block: int, most: int) -> Spool:
    """The requests of the lines, in the order of their arrival.

    Args:
        found: the lines with their numbers.
        block: tokens of a block.
        most: the number of requests that are read.

    Raises:
        DocumentError: a line is no such request.
    """
    spool, places = Spool(), array("d")
    sessions: dict[str, tuple[str, float]] = {}
    for number, line in islice(found, most):
        said = decode(line, _Line, file, number, _STRINGS)
        keys = keys_of(said.hash_ids, said.input_length, block, file, number, "hash_ids")
        name, session = str(number), said.session_id
        before = sessions.get(session) if session is not None else None
        if said.timestamp is not None and said.delay is None:
            after, arrives, place = None, said.timestamp / 1000, said.timestamp
        elif before is not None and said.delay is not None and said.timestamp is None:
            after, arrives, place = before[0], said.delay / 1000, before[1]
        else:
            reason = "it states neither a timestamp alone nor the delay of a later turn"
            remedy = "give timestamp, or session_id and delay after the first turn of the session"
            raise wrong(file, number, reason, remedy)
        if session is not None:
            sessions[session] = name, place
        places.append(place)
        spool.add(
            Request(name, arrives, said.input_length, said.output_length, keys, after, session)
        )
    if any(a > b for a, b in pairwise(places)):
        spool.sort(places)
    return spool


def keys_of(
    hashes: list[int], tokens: int, block: int, file: str, line: int, field: str
) -> tuple[int, ...]:
    """The keys of the full blocks of a prompt, from a hash for each block that it begins.

    Raises:
        DocumentError: the prompt is empty, or there are more hashes than blocks, or a hash twice,
            or a number of more than 64 bits.
    """
    if not tokens:
        raise wrong(file, line, "the prompt has no tokens", "leave the request out")
    if len(hashes) > -(-tokens // block):
        reason = f"{field}: {len(hashes)} blocks of {block} tokens in a prompt of {tokens} tokens"
        sizes = [size for size in (16, 32, 64, 128, 256) if -(-tokens // size) == len(hashes)]
        likely = f"; --block {sizes[0]} would fit" if sizes else ""
        raise wrong(file, line, reason, f"state the tokens of a block by --block{likely}")
    if hashes and not 0 <= min(hashes) <= max(hashes) < 1 << 64:
        raise wrong(file, line, f"{field}: a number outside of 64 bits", "remap the hashes")
    if len(set(hashes)) != len(hashes):
        reason = f"{field}: the same block twice in one prompt"
        raise wrong(file, line, reason, "a hash stands for its block with all blocks before it")
    return tuple(hashes[: tokens // block])


def hashes_of(request: Request, number: int, block: int) -> list[int]:
    """A hash for each block that the prompt begins; of a block without a key, one of its own.

    Args:
        number: of the request in its workload.
    """
    full, begun = request.prompt // block, -(-request.prompt // block)
    known = request.keys[:full]
    own = _UNSHARED | number << 24
    return [*known, *range(own | len(known), own | begun)]


def written(workload: Workload) -> Iterator[bytes]:
    """The workload as lines. The form has no tools, no owners and no keys of answers.

    Turns of a session are of the first request of the session on.
    """
    encode = msgspec.json.Encoder().encode
    for number, request in enumerate(workload, 1):
        ms = round(request.arrives * 1000)
        line = _Line(
            input_length=request.prompt,
            output_length=request.output,
            hash_ids=hashes_of(request, number, workload.block),
            session_id=request.session,
        )
        if request.after is None:
            line.timestamp = ms
        else:
            line.delay = ms
        yield encode(line) + b"\n"
