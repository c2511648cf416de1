"""Numbers the data-parallel ranks of a server, in the names of their sockets, files and streams."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = ["Rank", "rank_in"]

_NAMED: Final = re.compile(r"-dp(\d{1,6})of(\d{1,6})\.")


class Rank(NamedTuple):
    """A data-parallel rank: its number from 0, and how many ranks the server has."""

    number: int
    ranks: int

    def __str__(self) -> str:
        """The end of the engine's name."""
        return f"-dp{self.number}of{self.ranks}"


def rank_in(name: str) -> Rank | None:
    """The rank that a name of a file or a socket states; None where it states none."""
    found = _NAMED.search(name)
    return Rank(int(found[1]), int(found[2])) if found else None
