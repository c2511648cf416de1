"""Which claims are there, and is there room for one more? The runtime's own register of claims."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from typing import TYPE_CHECKING, Final

from runtime_hooks.config import TAKEN
from runtime_hooks.ledger import WATCHED, Entry
from spec.claims import Mode
from spec.durations import TimeUnit

if TYPE_CHECKING:
    from runtime_hooks.config import Settings
    from spec.claims import Duration, ResidentClaim

__all__ = ["Registry"]

_NS: Final = 1_000_000_000
_NOT_HERE: Final = {
    Mode.ROUTED_REUSE: "one engine routes nothing: such a claim is for a router",
    Mode.OFFLOADABLE: "it has no offload tier",
}


class Registry:
    """The claims of one engine: live by id, and by when they end.

    `declared` is the footprint of all live claims but those that are only watched, which keep
    nobody out; `version` changes whenever there is more or less room beside them.

    Args:
        usable: blocks of the pool that are usable at all.
        tier: whether copies are kept in an offload tier.
    """

    def __init__(self, settings: Settings, usable: int, *, tier: bool = False) -> None:
        self.live: dict[str, Entry] = {}
        self.version = 0
        self.declared = self._kept = self._copied = self._others = 0
        self._settings, self._usable = settings, usable
        self._modes = frozenset(TAKEN) - (set() if tier else {Mode.OFFLOADABLE})
        self._lives: set[bytes] = set()
        self._owners: Counter[str] = Counter()
        self._ends: list[tuple[int, str]] = []  # claims by id, which has one life

    def fault(self, claim: ResidentClaim, blocks: int, beside: int) -> str:
        """Why the claim cannot be accepted; empty where it can be.

        Args:
            blocks: whole blocks of the prompt that the claim came with.
            beside: what the neediest request in hand needs beside all claims, in blocks.
        """
        of, size = claim.claim_id, claim.footprint_blocks
        alone = not self._others and claim.protection_mode is Mode.OFFLOADABLE
        free = self._usable - self.declared + (self._copied if alone else 0)
        if (mode := claim.protection_mode) not in self._modes:
            return f"this engine keeps no {mode} claims: {_NOT_HERE[mode]}"
        if _digest(of) in self._lives:
            return f"claim id {of} was used before; a new promise needs a new id"
        if len(self._lives) >= self._settings.lives:
            return f"{self._settings.lives} claims were decided on in this run, which is the most"
        if self._owners[claim.owner_scope] >= self._settings.claims:
            return f"{claim.owner_scope} has {self._settings.claims} live claims, which is the most"
        if claim.duration is not None and claim.duration.unit is not TimeUnit.SECONDS:
            return "this engine counts durations in seconds"
        if size > blocks:
            return f"the prompt has {blocks} whole blocks, and the claim is for {size}"
        if mode in WATCHED:
            return ""
        if size > free:
            return f"it needs {size} blocks, and {free} of {self._usable} are not claimed"
        if size + beside > free:
            return f"a request in hand needs {beside} blocks beside it, and {free - size} are left"
        return ""

    def turn_away(self, claim_id: str) -> bool:
        """Remember that the id was decided on; False where nobody can tell any more."""
        known = _digest(claim_id)
        if known in self._lives or len(self._lives) >= self._settings.lives:
            return False
        self._lives.add(known)
        return True

    def add(self, claim: ResidentClaim, keys: tuple[bytes, ...], now_ns: int) -> Entry:
        """Take responsibility for a claim without fault; `now_ns` is the monotonic time."""
        entry = Entry(claim, keys)
        self.live[claim.claim_id] = entry
        self._lives.add(_digest(claim.claim_id))
        self._owners[claim.owner_scope] += 1
        self._count(entry, 1)
        if claim.duration is not None:
            end = now_ns + _ns(claim.duration)
            heapq.heappush(self._ends, (end, claim.claim_id))
        return entry

    def end(self, entry: Entry) -> None:
        """The entry is over."""
        del self.live[entry.claim_id]
        self.copy(entry, there=False)
        self._count(entry, -1)
        scope = entry.claim.owner_scope
        self._owners[scope] -= 1
        if not self._owners[scope]:
            del self._owners[scope]

    @property
    def taken(self) -> int:
        """Blocks that claims keep from requests.

        What is copied elsewhere takes no room. But beside a claim of another mode every footprint
        counts: whether a request conflicts with that one is judged by all that are declared.
        """
        return self._kept if self._others else self._kept - self._copied

    def copy(self, entry: Entry, there: bool) -> None:
        """A copy of the claim's blocks is kept elsewhere now, or no more."""
        if entry.copied is not there:
            entry.copied = there
            self.version += 1
            if self.keeps(entry):
                self._copied += entry.footprint if there else -entry.footprint

    def _count(self, entry: Entry, sign: int) -> None:
        if entry.watched:
            return
        self.version += 1
        self.declared += sign * entry.footprint
        self._kept += sign * entry.footprint if self.keeps(entry) else 0
        self._others += sign * (entry.claim.protection_mode is not Mode.OFFLOADABLE)

    def keeps(self, entry: Entry) -> bool:
        """Whether something is done to keep the claim."""
        return entry.claim.protection_mode in self._settings.enforce

    def due(self, now_ns: int) -> Entry | None:
        """A live claim whose duration is over, or None; no claim is scanned for it."""
        while self._ends and self._ends[0][0] <= now_ns:
            entry = self.live.get(heapq.heappop(self._ends)[1])
            if entry is not None:
                return entry
        return None


def _digest(claim_id: str) -> bytes:
    return hashlib.blake2b(claim_id.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def _ns(duration: Duration) -> int:
    return int(duration.exact * _NS)
