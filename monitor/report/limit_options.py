"""Defines the options of the commands that judge traces for how much is followed at once."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import typer

from monitor.results import IDS, limits_asked

__all__ = ["IDS", "MOST_IDS", "IdsOption", "LiveOption", "RequestsOption", "limits_asked"]

_MOST: Final = 1_000_000_000
MOST_IDS: Final = 100_000_000
"""Ids that can be remembered: they take 4 GiB."""

_BEYOND: Final = "One more breaks the stream, and claims that are alive are inconclusive."

LiveOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--max-live",
        metavar="N",
        min=1,
        max=_MOST,
        help=f"Follow at most N claims of a stream that have not ended. {_BEYOND}",
    ),
]
RequestsOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--max-requests",
        metavar="N",
        min=1,
        max=_MOST,
        help="The same of requests that have not ended, or on which reports may still come.",
    ),
]
IdsOption: TypeAlias = Annotated[
    int,
    typer.Option(
        "--max-ids",
        metavar="N",
        min=1,
        max=MOST_IDS,
        help="Remember the ids of N claims that ended and are no longer tracked, 32 to 64 bytes "
        "each. Then older ids are forgotten: that a claim of such an id begins again is not "
        "noticed, and the theorem does not apply.",
    ),
]
