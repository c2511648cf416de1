"""The argument and the options of commands that read a workload."""

from __future__ import annotations

from typing import Annotated

import typer

from spec.cli.arguments import file_name

__all__ = ["BlockOption", "LimitOption", "SeedOption", "WorkloadArgument"]

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
