"""`workload`: describes a workload, generates one, and writes it in a public form."""

from __future__ import annotations

import gzip
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Final

import msgspec
import typer

from models.simulation.workload import WRITERS, Form, read_workload
from models.simulation.workload.agents import PREFIX
from spec.cli.arguments import file_name, path_option
from spec.cli.common import Format, FormatOption
from spec.cli.layout import print_as
from spec.cli.working import Working
from spec.files.writing import check_target, replacing
from spec.language.prose import counted

if TYPE_CHECKING:
    from models.simulation.request import Workload
    from spec.cli.layout import Page

__all__ = [
    "BlockOption",
    "Described",
    "LimitOption",
    "SeedOption",
    "WorkloadArgument",
    "describe",
    "register",
]

_EXAMPLE: Final = (
    "Example: python -m models workload agents:sessions=200,turns=8,jps=2 "
    "-o build/agents.jsonl --as mooncake"
)
_MOST_KEYS: Final = 4_000_000

WorkloadArgument = Annotated[
    str,
    typer.Argument(
        parser=file_name,
        metavar="WORKLOAD",
        help="A trace in the form of Mooncake, NVIDIA Dynamo or this project, or "
        "agents:NAME=VALUE,... to generate sessions of agents (docs/workloads.md).",
    ),
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", help="Read so many requests from the beginning.", min=1)
]
SeedOption = Annotated[int, typer.Option("--seed", help="The same seed generates the same.", min=0)]
BlockOption = Annotated[
    int | None,
    typer.Option(
        "--block", help="Tokens of a block, where a file has no 512 and states none.", min=1
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("workload", epilog=_EXAMPLE)(_workload)


class Described(msgspec.Struct, kw_only=True):
    """What a workload consists of; `repeated` is None where there are too many keys to know it.

    Attributes:
        span_s: from the first to the last arrival that is stated, in seconds.
        block: tokens of a block.
        repeated: the share of the full blocks of prompts that an earlier request has in its prompt
            or its answer. A cache that is never full, and in which requests end at once, serves
            so many.
    """

    schema: str = "resident-claims/workload/1"
    name: str
    requests: int
    sessions: int = 0
    turns: int = 0
    span_s: float = 0.0
    block: int
    prompt_tokens: int = 0
    longest_prompt: int = 0
    output_tokens: int = 0
    repeated: float | None = None


def describe(workload: Workload) -> Described:
    """Count what a workload has."""
    block, blocks, again = workload.block, 0, 0
    found = Described(name=workload.name, requests=len(workload.requests), block=block)
    sessions, keys = set[str](), set[int]()
    for each in workload:
        found.prompt_tokens += each.prompt
        found.longest_prompt = max(found.longest_prompt, each.prompt)
        found.output_tokens += each.output
        if each.session is not None:
            sessions.add(each.session)
        if each.after is None:
            found.span_s = max(found.span_s, each.arrives)
        else:
            found.turns += 1
        blocks += each.prompt // block
        if len(keys) <= _MOST_KEYS:
            again += len(keys.intersection(each.keys[: each.prompt // block]))
            keys.update(each.keys)
    found.sessions = len(sessions)
    if len(keys) <= _MOST_KEYS:
        found.repeated = again / blocks if blocks else 0.0
    return found


def _workload(
    workload: WorkloadArgument,
    output: Annotated[
        Path | None,
        path_option("--output", "-o", help="Write it to this file, compressed if named .gz."),
    ] = None,
    form_of: Annotated[
        Form, typer.Option("--as", help="The form in which it is written.")
    ] = Form.MOONCAKE,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    block: BlockOption = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Describe a workload, and write it in a public form.

    A workload is what `simulate` replays.

    Exit 0. 2: bad input.
    """
    generated = workload.startswith(PREFIX)
    check_target(output, reads=[] if generated else [workload])
    with Working("reading the workload"):
        found = read_workload(workload, limit=limit, seed=seed, block=block)
        if output is not None:
            _write(found, output, form_of)
        described = describe(found)
    print_as(form, described, lambda out: _put(out, described))


def _write(workload: Workload, path: Path, form: Form) -> None:
    """Write a workload line by line; raises OutputError."""
    with ExitStack() as stack:
        file: BinaryIO | gzip.GzipFile = stack.enter_context(replacing(path))
        if path.suffix == ".gz":
            file = stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))
        file.writelines(WRITERS[form](workload))


def _put(out: Page, described: Described) -> None:
    d = described
    whole = counted(d.requests, "request")
    out.put(f"{d.name}: {whole} in {d.span_s:.1f} s", "bold").put()
    share = "too many blocks to count" if d.repeated is None else f"{d.repeated:.1%}"
    rows = [
        ("sessions", f"{d.sessions}, with {counted(d.turns, 'later turn')}"),
        ("prompt tokens", f"{d.prompt_tokens:,}, at most {d.longest_prompt:,}"),
        ("output tokens", f"{d.output_tokens:,}"),
        ("block", f"{d.block} tokens"),
        ("repeated", f"{share} of the prompts' full blocks: an earlier request has them"),
    ]
    out.grid(rows, gap=2)
