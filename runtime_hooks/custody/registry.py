"""Which claims are there, and is there room for one more? The runtime's own register of claims."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING, Final, TypeAlias

from runtime_hooks.enforce.ledger import WATCHED, Entry
from runtime_hooks.enforce.room import Cells
from runtime_hooks.settings.config import TAKEN
from spec.claims.claim import Mode
from spec.claims.durations import TimeUnit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime_hooks.settings.config import Settings
    from spec.claims.claim import ResidentClaim

__all__ = ["Now", "Registry"]

Now: TypeAlias = Mapping[TimeUnit, int]
"""What the clocks say: the monotonic time in ns, and how many steps the engine has begun."""

_PER: Final = {TimeUnit.SECONDS: 1_000_000_000, TimeUnit.STEPS: 1}
_NOT_HERE: Final = {
    Mode.ROUTED_REUSE: "one engine routes nothing: such a claim is for a router",
    Mode.OFFLOADABLE: "it has no offload tier",
}


class Registry:
    """The claims of one engine: live by id, and by when they end.

    `declared` are the blocks of all live claims but those that are only watched, which keep nobody
    out; `version` changes whenever there is more or less room beside them.

    Args:
        usable: blocks of the pool that are usable at all.
        tier: whether copies are kept in an offload tier.
    """

    def __init__(self, settings: Settings, usable: int, *, tier: bool = False) -> None:
        self.live: dict[str, Entry] = {}
        self.version = 0
        self.declared = Cells()
        self._kept, self._here = Cells(), Cells()  # of claims that are kept; of them without copies
        self._others = 0  # claims that are not offloadable
        self._settings, self._usable = settings, usable
        self._modes = frozenset(TAKEN) - (set() if tier else {Mode.OFFLOADABLE})
        self._lives: set[bytes] = set()
        self._spent: Counter[bytes] = Counter()  # of the lives, by owner
        self._owners: Counter[str] = Counter()
        # By the clock that counts, when claims end: by id, which has one life.
        self._ends: dict[TimeUnit, list[tuple[int, str]]] = {unit: [] for unit in TimeUnit}

    def fault(self, claim: ResidentClaim, keys: Sequence[bytes], beside: int) -> str:
        """Why the claim cannot be accepted; empty where it can be.

        Args:
            keys: the contents of the whole blocks of the prompt that the claim came with.
            beside: what the neediest request in hand needs beside all claims, in blocks.
        """
        of, footprint = claim.claim_id, claim.footprint_blocks
        cells = self.declared
        if claim.protection_mode is Mode.OFFLOADABLE and not self._others:
            cells = self._unspared()
        size, free = cells.lacks(keys[:footprint]), self._usable - len(cells)
        if (mode := claim.protection_mode) not in self._modes:
            return f"this engine keeps no {mode} claims: {_NOT_HERE[mode]}"
        if _digest(of) in self._lives:
            return f"claim id {of} was used before; a new promise needs a new id"
        if len(self._lives) >= self._settings.lives:
            return f"{self._settings.lives} claims were decided on in this run, which is the most"
        if self._owners[claim.owner_scope] >= self._settings.claims:
            return f"{claim.owner_scope} has {self._settings.claims} live claims, which is the most"
        if self._spent[_digest(claim.owner_scope)] >= self._settings.owner_lives:
            most = self._settings.owner_lives
            return f"{most} claims of {claim.owner_scope} were decided on, which is the most"
        if footprint > len(keys):
            return f"the prompt has {len(keys)} whole blocks, and the claim is for {footprint}"
        if mode in WATCHED:
            return ""
        if size > free:
            return f"it needs {size} blocks, and {free} of {self._usable} are not claimed"
        if size + beside > free:
            return f"a request in hand needs {beside} blocks beside it, and {free - size} are left"
        return ""

    def decide(self, claim: ResidentClaim) -> bool:
        """Remember that the claim's id was decided on; False where nobody can tell any more, or its
        owner has had a share of what can be remembered.
        """
        known, owner = _digest(claim.claim_id), _digest(claim.owner_scope)
        full = len(self._lives) >= self._settings.lives
        if known in self._lives or full or self._spent[owner] >= self._settings.owner_lives:
            return False
        self._lives.add(known)
        self._spent[owner] += 1
        return True

    def add(self, claim: ResidentClaim, keys: tuple[bytes, ...], now: Now) -> Entry:
        """Take responsibility for a claim without fault."""
        entry = Entry(claim, keys)
        self.live[claim.claim_id] = entry
        self.decide(claim)
        self._owners[claim.owner_scope] += 1
        self._count(entry, there=True)
        if (duration := claim.duration) is not None:
            end = now[duration.unit] + ceil(duration.exact * _PER[duration.unit])
            heapq.heappush(self._ends[duration.unit], (end, claim.claim_id))
        return entry

    def end(self, entry: Entry) -> None:
        """The entry is over."""
        del self.live[entry.claim_id]
        self.copy(entry, there=False)
        self._count(entry, there=False)
        scope = entry.claim.owner_scope
        self._owners[scope] -= 1
        if not self._owners[scope]:
            del self._owners[scope]

    @property
    def taken(self) -> Cells:
        """Blocks that claims keep from requests.

        What is copied elsewhere takes no room. But beside a claim of another mode every footprint
        counts: whether a request conflicts with that one is judged by all that are declared.
        """
        return self._kept if self._others else self._here

    @property
    def ranks(self) -> bool:
        """Whether the pool takes blocks in the order of priorities."""
        return Mode.SOFT_PRIORITY in self._settings.enforce

    def copy(self, entry: Entry, there: bool) -> None:
        """A copy of the claim's blocks is kept elsewhere now, or no more."""
        if entry.copied is not there:
            entry.copied = there
            self.version += 1
            if self.keeps(entry):
                (self._here.remove if there else self._here.add)(entry.keys)

    def _unspared(self) -> Cells:
        """The blocks of offloadable claims that take room, where there are no others."""
        return self._here if Mode.OFFLOADABLE in self._settings.enforce else self.declared

    def _count(self, entry: Entry, *, there: bool) -> None:
        if entry.watched:
            return
        self.version += 1
        kept = (self._kept, self._here) if self.keeps(entry) else ()
        for cells in (self.declared, *kept):
            (cells.add if there else cells.remove)(entry.keys)
        offloadable = entry.claim.protection_mode is Mode.OFFLOADABLE
        self._others += 0 if offloadable else 1 if there else -1

    def keeps(self, entry: Entry) -> bool:
        """Whether something is done to keep the claim."""
        return entry.claim.protection_mode in self._settings.enforce

    def due(self, unit: TimeUnit, now: Now) -> Entry | None:
        """A live claim whose duration is over by this clock, or None; no claim is scanned."""
        ends = self._ends[unit]
        while ends and ends[0][0] <= now[unit]:
            entry = self.live.get(heapq.heappop(ends)[1])
            if entry is not None:
                return entry
        return None


def _digest(claim_id: str) -> bytes:
    return hashlib.blake2b(claim_id.encode("utf-8", "surrogatepass"), digest_size=12).digest()
