"""Defines what is kept of retired claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from monitor.evaluate.claim import ClaimRun
    from monitor.pool.seen import Recent
    from spec.claims.predicates import MaterializationPredicate

__all__ = ["Alike", "LostIds", "Record"]


@dataclass(slots=True, eq=False)
class Alike:
    """Claims of which all is alike that may still matter: one like them, and how many there are.

    `troubled` says that an obligation was violated, or could not be judged; `altered` that less
    could be concluded after they were forgotten. `into` is set once others have turned out to be
    like them, too.
    """

    run: ClaimRun
    troubled: bool
    altered: bool = False
    count: int = 0
    into: Alike | None = None


class Record(NamedTuple):
    """What is a forgotten claim's own; `binding` has a digest for each field of its identity."""

    alike: Alike
    binding: bytes
    owner_scope: str | None
    duration: str | None
    predicate: MaterializationPredicate | None
    priority: int | None
    facts: tuple[int, ...]  # the registers that no state of its observers says
    misses: int  # of the stream when it was forgotten; below 0 if it had missed any before


class LostIds(NamedTuple):
    """The ids of claims that were forgotten, and of which there is no record any more.

    `recorded` are the ids of which there is one; `ids` knows the others, or the last of them.
    """

    recorded: frozenset[str]
    ids: Recent

    def may_have(self, claim_id: str) -> bool:
        """Whether this may be one of them; an id that is not remembered at all may be one, too."""
        if claim_id in self.recorded:
            return False
        return self.ids.forgotten > 0 or self.ids.has("claim_id", claim_id)
