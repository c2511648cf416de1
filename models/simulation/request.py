"""A request of a workload: when it comes, what its blocks contain, and how long its answer is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FRESH", "Request", "Workload"]

FRESH: Final = -(2**64)
"""Keys of a workload are at least this; lower ones stand for contents that it does not state."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request. Of a session, a turn: it comes after the answer of the turn before.

    `keys` are the content keys of the full blocks of the prompt and then of the answer, as far
    as the workload states them. A key stands for the contents of a block with all that precedes
    it, so equal keys may share a block. `prompt` and `output` count tokens. `arrives` is in
    seconds from the start of the workload; where `after` names a request, in seconds from the end
    of that one (the pause of a tool).
    """

    id: str
    arrives: float
    prompt: int
    output: int
    keys: tuple[int, ...]
    after: str | None = None
    session: str | None = None
    tool: str | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """Requests in the order of their arrival (turns after their first), with the size of a block.

    `block` is in tokens. `name` says where the requests come from.
    """

    name: str
    block: int
    requests: tuple[Request, ...]

    def __iter__(self) -> Iterator[Request]:
        return iter(self.requests)
