"""Defines sums of the blocks that claims take in a pool, and their two ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection

    from monitor.pool.cells import Freed

__all__ = ["Ends", "Sums"]


class Sums(Protocol):
    """The blocks of some claims."""

    @property
    def total(self) -> int:
        """All of them, each once."""

    def alone(self, claim_id: str) -> int:
        """Those that this claim has alone."""

    def freed(self, names: Collection[str]) -> Freed:
        """What these claims free: the blocks of which they are all owners."""


class Ends(NamedTuple):
    """The sums as if nothing were shared that need not be, and as if all were that may be.

    `low` is None where they are equal; `unknown` says that they were not compared.
    """

    high: Sums
    low: Sums | None = None
    unknown: bool = False
