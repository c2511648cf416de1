"""Asks the engine of a server, or each of its data-parallel ranks, and gathers the answers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgspec

from runtime_hooks.control.client import PATIENCE_S, Refused, Unknown, ask
from runtime_hooks.control.messages import Page
from runtime_hooks.routing.rank import rank_in
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from runtime_hooks.control.messages import Request

__all__ = ["SCHEMA", "RankPage", "RanksPage", "Reply", "answered", "ask_each", "ranks_text"]

SCHEMA: Final = "resident-claims/ranks/1"
_AT_ONCE: Final = 8  # ranks that are asked at a time


class Reply(NamedTuple):
    """What one engine answers: a page, or why there is none. `rank` is None for the only engine."""

    rank: int | None
    page: Any = None  # of `messages.Page`
    failure: SpecError | None = None


class RankPage(msgspec.Struct, frozen=True):
    """The answer of one rank."""

    rank: int
    page: Page


class RanksPage(msgspec.Struct, frozen=True):
    """The answers of the ranks of a server; of a claim, those of the ranks that have it."""

    schema: Literal["resident-claims/ranks/1"]
    ranks: list[RankPage]


def ask_each(
    paths: Sequence[Path], request: Request, patience_s: float = PATIENCE_S
) -> list[Reply]:
    """Ask the engines of these sockets at the same time.

    Args:
        patience_s: as for `ask`.
    """
    with ThreadPoolExecutor(min(len(paths), _AT_ONCE)) as threads:
        return [*threads.map(lambda path: _reply(path, request, patience_s), paths)]


def answered(replies: Sequence[Reply], request: Request) -> list[Reply]:
    """The replies with a page: of every rank, or where one claim was asked for, of those that have
    it.

    Raises:
        Unknown: no rank has the claim.
        Refused: a rank did not do it.
        SpecError: a rank cannot be asked, and the claim may be there.
    """
    found = [each for each in replies if each.page is not None]
    failed = [each for each in replies if each.failure is not None]
    known = [each for each in failed if not isinstance(each.failure, Unknown)]
    if request.of_one and found and not any(_declined(each) for each in known):
        return found
    for each in known or failed:
        if each.failure is not None:
            raise _named(each.rank, each.failure)
    return found


def ranks_text(ranks: Sequence[RankPage], text: Callable[[Any], str]) -> str:
    """The answers of ranks, each below its number."""
    return "\n".join(f"Rank {each.rank}\n\n{text(each.page)}" for each in ranks)


def _reply(path: Path, request: Request, patience_s: float) -> Reply:
    named = rank_in(path.name)
    number = None if named is None else named.number
    try:
        return Reply(number, ask(path, request, patience_s))
    except SpecError as failure:
        return Reply(number, failure=failure)


def _declined(reply: Reply) -> bool:
    """Whether a rank has the claim and did not do what was asked."""
    return isinstance(reply.failure, Refused) and reply.failure.code == 1


def _named(rank: int | None, failure: SpecError) -> SpecError:
    """A failure with the rank that it is of; one that no rank has a claim is of none."""
    if rank is None or isinstance(failure, Unknown):
        return failure
    cause = f"rank {rank}: {failure.cause}"
    if isinstance(failure, Refused):
        return Refused(cause, failure.remedy, failure.code)
    return SpecError(cause, failure.remedy)
