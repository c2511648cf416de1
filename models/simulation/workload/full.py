"""Reads and writes workloads with all that a request states, as no public form does.

The first line is `{"name": "agents", "block": 16}`. Each line after it has the fields of a Request.
"""

from __future__ import annotations

from array import array
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from models.simulation.request import Request
from models.simulation.workload.lines import decode, wrong
from models.simulation.workload.mooncake import Name, Tokens
from models.simulation.workload.spool import Spool
from spec.language.prose import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from models.simulation.request import Workload

__all__ = ["read", "written"]


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    name: Name
    block: Annotated[int, Meta(ge=1, le=1 << 20)]


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    id: Name
    arrives: Annotated[float, Meta(ge=0, le=1e12)]
    prompt: Tokens
    output: Tokens
    keys: tuple[int, ...]
    after: Name | None = None
    session: Name | None = None
    tool: Name | None = None
    owner: Name | None = None


def read(found: Iterator[tuple[int, bytes]], file: str, most: int) -> tuple[Spool, str, int]:
    """The requests in the order of their arrival, the name, and the tokens of a block.

    A turn stands where the first request of its session does.

    Raises:
        DocumentError: a line is no such request.
    """
    number, line = next(found)
    head, spool = decode(line, _Head, file, number), Spool()
    known, places = dict[str, float](), array("d")
    for number, line in islice(found, most):
        said = decode(line, _Line, file, number)
        if said.id in known:
            raise wrong(file, number, f"the id {said.id[:60]} twice", "give each its own id")
        if said.after is not None and said.after not in known:
            reason = f"after {said.after[:60]}, which no line before has"
            raise wrong(file, number, reason, "write a turn behind the turn before it")
        keys, blocks = said.keys, (said.prompt + said.output) // head.block
        if not said.prompt:
            raise wrong(file, number, "the prompt has no tokens", "leave the request out")
        if len(keys) > blocks or len(set(keys)) != len(keys):
            reason = f"{len(keys)} keys, of which {len(set(keys))} differ, of {blocks} full blocks"
            raise wrong(file, number, reason, "give each full block its own key")
        if keys and not 0 <= min(keys) <= max(keys) < 1 << 64:
            raise wrong(file, number, "a key outside of 64 bits", "number the keys from 0 on")
        known[said.id] = said.arrives if said.after is None else known[said.after]
        places.append(known[said.id])
        spool.add(Request(*msgspec.structs.astuple(said)))
    if any(a > b for a, b in pairwise(places)):
        spool.sort(places)
    return spool, printable(head.name), head.block


def written(workload: Workload) -> Iterator[bytes]:
    """The workload as lines."""
    encode = msgspec.json.Encoder().encode
    yield encode(_Head(workload.name[:256], workload.block)) + b"\n"
    for request in workload:
        yield encode(request) + b"\n"
