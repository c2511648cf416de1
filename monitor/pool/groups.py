"""Keeps claims in groups, in short where a group has one claim, as most have."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable

    from monitor.evaluate.claim import ClaimRun

__all__ = ["Groups"]

K = TypeVar("K", bound="Hashable")


class Groups(Generic[K]):
    """Claims by a key that some have in common; each group in the order in which they joined."""

    def __init__(self) -> None:
        self._groups: dict[K, ClaimRun | dict[str, ClaimRun]] = {}

    def __len__(self) -> int:
        """How many groups there are."""
        return len(self._groups)

    def __contains__(self, key: K) -> bool:
        return key in self._groups

    def of(self, key: K) -> Collection[ClaimRun]:
        """The claims of a group; none where there is none."""
        there = self._groups.get(key)
        if there is None:
            return ()
        return there.values() if isinstance(there, dict) else (there,)

    def last_of(self, key: K, most: int) -> list[ClaimRun]:
        """So many of the claims that joined a group last, the last one first."""
        there = self._groups.get(key)
        if isinstance(there, dict):
            return list(islice(reversed(there.values()), most))
        return [] if there is None else [there]

    def is_sole(self, key: K, claim: ClaimRun) -> bool:
        """Whether a claim is the only one of its group."""
        return self._groups.get(key) is claim

    def add(self, key: K, claim: ClaimRun) -> None:
        """A claim is of a group; one that was stays where it is."""
        there = self._groups.setdefault(key, claim)
        if there is claim:
            return
        if not isinstance(there, dict):
            there = self._groups[key] = {there.claim_id: there}
        there[claim.claim_id] = claim

    def remove(self, key: K, claim_id: str) -> bool:
        """A claim is of a group no more, if it was; whether the group is left empty."""
        there = self._groups.get(key)
        if there is None:
            return True
        if not isinstance(there, dict):
            if there.claim_id != claim_id:
                return False
            del self._groups[key]
            return True
        there.pop(claim_id, None)
        if len(there) == 1:
            (self._groups[key],) = there.values()
        elif not there:
            del self._groups[key]
        return not there

    def clear(self) -> None:
        """There is no group any more."""
        self._groups.clear()
