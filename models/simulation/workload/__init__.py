"""Reads workloads: here from a file of one JSON object a line, the first of which states the block.

`{"name": "agents", "block": 16}` is followed by one object for each request, with the fields of
`Request`.
"""

from __future__ import annotations

import io
from typing import Final

import msgspec

from models.simulation.request import FRESH, Request, Workload
from spec.files.plain import open_plain
from spec.language.errors import DocumentError

__all__ = ["read_workload"]

_MOST_LINE: Final = 1 << 20


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    block: int


def read_workload(source: str) -> Workload:
    """The workload of a file; raises DocumentError where it cannot be read."""
    try:
        with io.BufferedReader(open_plain(source)) as file:
            head = msgspec.json.decode(file.readline(_MOST_LINE), type=_Head, strict=True)
            lines = iter(lambda: file.readline(_MOST_LINE), b"")
            found = tuple(msgspec.json.decode(line, type=Request) for line in lines)
    except OSError as problem:
        raise DocumentError(f"cannot read {source}: {problem.strerror}", "name a file") from None
    except ValueError as problem:
        raise DocumentError(f"{source} is no workload: {problem}") from None
    if head.block < 1 or any(r.prompt < 1 or min(r.keys, default=0) < FRESH for r in found):
        raise DocumentError(f"{source} has a block or a prompt of no tokens, or a key below 0")
    return Workload(head.name, head.block, found)
