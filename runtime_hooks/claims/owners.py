"""Counts what the live claims of each owner take, and compares it with the owner's quota."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from runtime_hooks.claims.capacity import ClaimedBlocks
from runtime_hooks.settings.quotas import Quota, quota_of
from spec.claims.durations import Duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime_hooks.claims.entry import Entry
    from runtime_hooks.settings.config import Settings
    from spec.claims.claim import ResidentClaim

__all__ = ["Owners"]


class Owners:
    """The owners of the live claims of one engine.

    `quotas` may be replaced at any time; claims that were accepted before stay.

    Args:
        usable: blocks of the pool without the null block.
    """

    def __init__(self, settings: Settings, usable: int) -> None:
        self.quotas = settings.quotas
        half = usable // 2 if settings.scopes else None
        self._default = Quota(blocks=half, claims=settings.claims)
        self._usable = usable
        self._scopes = frozenset(settings.scopes.values())
        self._known: set[Entry] = set()
        self._claims: Counter[str] = Counter()
        self._blocks: dict[str, ClaimedBlocks] = {}  # not those of watched claims

    def knows(self, owner: str) -> bool:
        """Whether an owner can call: where callers are authenticated, by some API key."""
        return not self._scopes or owner in self._scopes

    def quota(self, owner: str) -> Quota:
        """The quota of an owner."""
        return quota_of(owner, self.quotas, self._default)

    def claims(self, owner: str) -> int:
        """How many claims of an owner live."""
        return self._claims[owner]

    def blocks(self, owner: str) -> int:
        """How many blocks the live claims of an owner declare; a shared one counts once."""
        return len(self._blocks.get(owner, ()))

    @property
    def names(self) -> list[str]:
        """The owners of live claims."""
        return sorted(self._claims)

    def rejection(self, claim: ResidentClaim, keys: Sequence[bytes], *, watched: bool) -> str:
        """The reason why a claim exceeds its owner's quota; empty where it does not.

        Args:
            keys: the contents of its blocks.
            watched: the claim needs no capacity.
        """
        owner = claim.owner_scope
        quota, live = self.quota(owner), self._claims[owner]
        if quota.claims is not None and live >= quota.claims:
            return f"{owner} has {live} live claims, and {quota.claims} are the most"
        if quota.priority is not None and (claim.priority or 0) > quota.priority:
            return f"its priority is {claim.priority}, and {owner} has {quota.priority} at most"
        if quota.duration is not None and (why := _too_long(claim.duration, quota.duration)):
            return f"{why}, and a claim of {owner} lasts {quota.duration} at most"
        if watched or quota.blocks is None:
            return ""
        held = self._blocks.get(owner, ClaimedBlocks())
        more = held.lacks(keys)
        if len(held) + more > quota.blocks:
            total = f"{len(held)} + {more} = {len(held) + more}"
            most = f"{quota.blocks} of {self._usable} are the most"
            return f"{owner} would hold {total} blocks, and {most}"
        return ""

    def add(self, entry: Entry) -> None:
        """A claim lives."""
        owner = entry.claim.owner_scope
        self._known.add(entry)
        self._claims[owner] += 1
        if not entry.watched:
            self._blocks.setdefault(owner, ClaimedBlocks()).add(entry.blocks)

    def remove(self, entry: Entry) -> None:
        """A claim has ended; nothing is done where it was not added, because of a fault."""
        if entry not in self._known:
            return
        self._known.remove(entry)
        owner = entry.claim.owner_scope
        self._claims[owner] -= 1
        if not self._claims[owner]:
            del self._claims[owner]
        if not entry.watched:
            self._blocks[owner].remove(entry.blocks)
            if not self._blocks[owner].claims:
                del self._blocks[owner]


def _too_long(asked: Duration | None, text: str) -> str:
    """How a duration exceeds the longest one; empty where it does not."""
    most = Duration.parse(text)
    if asked is None:
        return "it has no duration"
    if asked.unit is not most.unit:
        return f"its duration is in {asked.unit.value}"
    return f"its duration is {asked}" if asked.exact > most.exact else ""
