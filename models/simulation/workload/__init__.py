"""Reads the workloads of a simulation: public forms of traces, or a generator of sessions."""

from __future__ import annotations

from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from models.simulation.request import Workload
from models.simulation.workload import canonical, dynamo, full, mooncake
from models.simulation.workload.agents import PREFIX, agents
from models.simulation.workload.lines import decode, lines_of, wrong
from models.simulation.workload.spool import MOST
from spec.language.errors import SpecError
from spec.language.prose import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["WRITERS", "Form", "read_workload"]


class Form(StrEnum):
    """The forms in which a workload is written; `full` is no public one."""

    MOONCAKE = "mooncake"
    DYNAMO = "dynamo"
    FULL = "full"


WRITERS: Final[dict[Form, Callable[[Workload], Iterator[bytes]]]] = {
    Form.MOONCAKE: mooncake.written,
    Form.DYNAMO: dynamo.written,
    Form.FULL: full.written,
}
"""Writes the lines of a workload in each form."""


class _First(msgspec.Struct):
    """The fields by which a form is recognised."""

    kind: object = None
    event: object = None
    schema: object = None
    input_length: object = None
    block: object = None


def read_workload(
    spec: str, *, limit: int | None = None, seed: int = 0, block: int | None = None
) -> Workload:
    """The workload that a text names: a file, or `agents:` with parameters.

    A file is a trace in Mooncake's form, NVIDIA Dynamo's request trace or a canonical trace, plain
    or compressed by gzip. All of it is checked here. Requests are then read from a temporary file,
    so that few bytes of each are in memory.

    Args:
        limit: the most requests that are read, from the beginning.
        seed: of the generator.
        block: tokens of a block, where the file does not state it; 512 for Mooncake's form.

    Raises:
        DocumentError: a line of the file is wrong; `line` has its number.
        SpecError: the file cannot be read, or the text states no workload.
    """
    if limit is not None and not 1 <= limit <= MOST:
        raise SpecError(f"a limit of {limit} requests", f"give --limit from 1 to {MOST}")
    if block is not None and not 1 <= block <= 1 << 20:
        raise SpecError(f"blocks of {block} tokens", "give --block the tokens of a block")
    if spec.startswith(PREFIX):
        if block is not None:
            raise SpecError(f"--block is of files; {PREFIX} has block=", "write it there")
        return agents(spec, limit=limit, seed=seed)
    found, most, name = lines_of(spec), limit or MOST, printable(Path(spec).name)
    number, line = next(found)
    every = chain(((number, line),), found)
    first = decode(line, _First, spec, number)
    if first.input_length is not None:
        size = block or mooncake.BLOCK
        return Workload(name, size, mooncake.read(every, spec, size, most))
    if first.kind is not None:
        requests, size = canonical.read(every, spec, block, most)
        return Workload(name, size, requests)
    if first.event is not None or first.schema is not None:
        if block is not None:
            raise SpecError("--block is stated by the trace of NVIDIA Dynamo", "leave it out")
        requests, size = dynamo.read(every, spec, most)
        return Workload(name, size, requests)
    if first.block is not None:
        if block is not None:
            raise SpecError("--block is stated by the file", "leave it out")
        requests, name, size = full.read(every, spec, most)
        return Workload(name, size, requests)
    raise wrong(
        spec,
        number,
        "no request of a workload",
        "give a trace of Mooncake or NVIDIA Dynamo, a canonical trace, or agents:",
    )
