"""Defines the commands `claims`: list, show, release, drain and quotas, on a running engine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from runtime_hooks.control.client import Refused, find
from runtime_hooks.control.messages import Drain, List, Release, SetQuotas, Show
from runtime_hooks.control.ranks import SCHEMA as RANKS
from runtime_hooks.control.ranks import (
    RankPage,
    RanksPage,
    Reply,
    answered,
    ask_each,
    ranks_text,
)
from runtime_hooks.control.text import (
    claims_text,
    drain_text,
    quotas_text,
    release_text,
    show_text,
)
from runtime_hooks.settings.quotas import Quota
from spec.claims.claim import MAX_ID
from spec.claims.durations import Duration
from spec.cli.arguments import path_option
from spec.cli.command_modules import App
from spec.cli.common import Code, Format, FormatOption, print_json, print_text
from spec.language.errors import ClaimError
from spec.language.prose import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_hooks.control.messages import Request

__all__ = ["claims"]

claims = App(
    name="claims",
    help="List, show and end the claims of a running engine; drain it.",
    epilog="Example: python -m runtime_hooks claims list --format json",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_POLL_S: Final = 0.5

SocketOption = Annotated[
    Path | None,
    path_option(
        "--socket",
        help="The engine's socket, or its folder; else of the only server.",
    ),
]


def _id(text: str) -> str:
    if not 0 < len(text) <= MAX_ID:
        raise typer.BadParameter(f"an id has 1 to {MAX_ID} characters")
    return text


ClaimArgument = Annotated[str, typer.Argument(parser=_id, metavar="CLAIM", help="Its id.")]


def _owner_option(says: str) -> Any:
    return typer.Option("--owner", parser=_id, metavar="SCOPE", help=says)


def _number(text: str) -> int | None:
    """A number of 0 or more; None for the word none."""
    if text == "none":
        return None
    if not text.isascii() or not text.isdigit() or int(text) >= 1 << 31:
        raise typer.BadParameter(
            f"it is {text[:40]!r}; give a number from 0 to {2**31 - 1}, or none"
        )
    return int(text)


def _most(*names: str, says: str) -> Any:
    return typer.Option(*names, metavar="NUMBER|none", help=says)


@claims.command("list", epilog="Example: python -m runtime_hooks claims list --owner tenant-a")
def list_claims(
    owner: Annotated[str | None, _owner_option("Only the claims of this owner.")] = None,
    at: SocketOption = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """List the live claims, and those that wait for their request.

    Exit 0: listed. 2: no engine answers. 3: the engine was too busy to answer.
    """
    _show(_asked(at, List(owner or "")), form, claims_text)


@claims.command("show", epilog="Example: python -m runtime_hooks claims show claim:agent-7")
def show(claim: ClaimArgument, at: SocketOption = None, form: FormatOption = Format.TEXT) -> None:
    """Show a claim: its blocks, its last steps, and who may end it.

    Exit 0: shown. 2: there is no such claim, or no engine answers. 3: the engine was too busy.
    """
    _show(_asked(at, Show(claim)), form, show_text)


@claims.command("release", epilog="Example: python -m runtime_hooks claims release claim:agent-7")
def release(
    claim: ClaimArgument, at: SocketOption = None, form: FormatOption = Format.TEXT
) -> None:
    """End a claim in the name of the runtime, which the trace reports.

    The runtime may demote a demotable claim. Any other claim only its owner releases; so the engine
    declines, and says when the claim expires. A claim that was registered ahead stops waiting.

    Exit 0: ended. 1: declined. 2: there is no such claim, or no engine answers. 3: the engine was
    too busy.
    """
    _show(_asked(at, Release(claim)), form, release_text)


@claims.command("drain", epilog="Example: python -m runtime_hooks claims drain --wait 600")
def drain(
    undo: Annotated[bool, typer.Option("--undo", help="Accept claims again.")] = False,
    wait: Annotated[
        float,
        typer.Option(min=0, max=86_400, metavar="SECONDS", help="Wait so long for the last end."),
    ] = 0.0,
    at: SocketOption = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Accept no more claims, and let the live ones end.

    Exit 0: it drains, and with --wait no claim is live any more. 2: no engine answers. 3: claims
    are still live after the wait, or the engine was too busy.
    """
    if undo and wait:
        raise typer.BadParameter("with --undo there is nothing to wait for", param_hint="--wait")
    paths, until = find(at), time.monotonic() + wait
    replies = _answered(paths, Drain(undo))
    while wait and _live(replies) and (left := until - time.monotonic()) > 0:
        time.sleep(min(_POLL_S, left))
        replies = _answered(paths, Drain())
    _show(replies, form, drain_text)
    if wait and _live(replies):
        raise typer.Exit(Code.INCONCLUSIVE)


@claims.command(
    "quotas", epilog="Example: python -m runtime_hooks claims quotas --owner tenant-a --blocks 60"
)
def quotas(
    owner: Annotated[
        str | None, _owner_option("Change the quota of this owner, not of every one.")
    ] = None,
    blocks: Annotated[str | None, _most("--blocks", says="Blocks of an owner's claims.")] = None,
    live: Annotated[str | None, _most("--claims", says="Live claims of an owner.")] = None,
    duration: Annotated[
        str | None,
        typer.Option(metavar="DURATION|none", help="Longest duration, such as '60 s'."),
    ] = None,
    priority: Annotated[str | None, _most("--priority", says="Highest priority.")] = None,
    floor: Annotated[
        int | None,
        typer.Option(min=0, max=2**31 - 1, metavar="NUMBER", help="Blocks that no claim takes."),
    ] = None,
    at: SocketOption = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Show the quotas, or change them for claims to come.

    Live claims stay. `none` lifts a limit, so that the one for every owner, or the default, holds.
    A change lasts as long as the engine.

    Exit 0: shown. 2: no engine answers. 3: the engine was too busy.
    """
    given = {"blocks": blocks, "claims": live, "priority": priority}
    change: dict[str, Any] = {
        name: _number(text) for name, text in given.items() if text is not None
    }
    if duration is not None:
        change["duration"] = None if duration == "none" else _duration(duration)
    lift = tuple(name for name, value in change.items() if value is None)
    try:
        asked = SetQuotas(owner or "", Quota(**change), lift, floor)  # type: ignore[arg-type]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    _show(_asked(at, asked), form, quotas_text)


def _duration(text: str) -> str:
    try:
        return str(Duration.parse(text))
    except ClaimError as error:
        raise typer.BadParameter(str(error), param_hint="--duration") from None


def _live(replies: list[Reply]) -> int:
    """How many claims are live on all ranks."""
    return sum(each.page.engine.live for each in replies)


def _asked(at: Path | None, request: Request) -> list[Reply]:
    return _answered(find(at), request)


def _answered(paths: list[Path], request: Request) -> list[Reply]:
    """The pages that the engines answer with; ends the command where one declines."""
    try:
        return answered(ask_each(paths, request), request)
    except Refused as refused:
        typer.echo(f"error: {printable(str(refused))}", err=True)
        raise typer.Exit(refused.code) from None


def _show(replies: list[Reply], form: Format, text: Callable[[Any], str]) -> None:
    """Print the page of the only engine, or the pages of ranks."""
    ranks = [RankPage(each.rank, each.page) for each in replies if each.rank is not None]
    if form is Format.JSON:
        print_json(RanksPage(RANKS, ranks) if ranks else replies[0].page)
    else:
        print_text(ranks_text(ranks, text) if ranks else text(replies[0].page))
