"""Tracks what happens to the blocks of claims, holds them, and reports materialization and harm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from runtime_hooks.enforce.victim_exclusion import EvictablePool, VictimExclusion
from runtime_hooks.enforce.victim_order import RankedPool
from runtime_hooks.trace.names import Place, cached_blocks, name_of, without_copies
from runtime_hooks.tracking.gains import report_gained
from runtime_hooks.tracking.ledger import Ledger
from runtime_hooks.tracking.placements import Placements
from runtime_hooks.tracking.watched import WatchedClaims
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence

    from runtime_hooks.claims.entry import Content, Entry
    from runtime_hooks.claims.registry import Registry
    from runtime_hooks.trace.emitter import Emitter

__all__ = ["BlockTracker"]


class _Pool(EvictablePool, RankedPool, Protocol):
    """The engine's block pool."""


class BlockTracker:
    """The blocks of one pool that claims own.

    `ledger` has the claims that can keep a request out, `watched` the others.

    Args:
        tick: called when something happens; updates the time and ends the claims that expired.
        unfinished: whether a request arrived and has not ended.
    """

    def __init__(
        self,
        pool: _Pool,
        registry: Registry,
        emitter: Emitter,
        tick: Callable[[], None],
        unfinished: Callable[[str], bool],
    ) -> None:
        self.ledger = Ledger(registry.groups)
        self.watched = WatchedClaims(pool, registry, emitter)
        self.placements = Placements(emitter)
        self._ledgers = self.ledger, self.watched.ledger
        self._pool, self._exclusion = pool, VictimExclusion(pool)
        self._registry, self._emitter = registry, emitter
        self._tick, self._unfinished = tick, unfinished

    # What the engine does.

    def cached(
        self,
        request_id: str | None,
        start: int,
        pairs: Sequence[tuple[bytes, int]],
        group: int = 0,
    ) -> None:
        """Blocks that a request computed are cached.

        Where the request has ended meanwhile, the blocks count as found.

        Args:
            request_id: None where the blocks were loaded; then they count as found, too.
            start: the number of the first block in its group of caches.
            pairs: contents and blocks.
            group: of caches.
        """
        self._tick()
        computed_by = request_id if request_id and self._unfinished(request_id) else None
        if self.ledger.claimed or self.watched.ledger.claimed:
            self.place(pairs, computed_by)
        position = self._registry.groups.position
        places = (
            (key, Place(position(group, number), block, group))
            for number, (key, block) in enumerate(pairs, start)
        )
        self.state_unclaimed(places, computed_by)

    def state_unclaimed(
        self, cached: Iterable[tuple[bytes, Place]], computed_by: str | None
    ) -> None:
        """State that blocks are cached, for those that no claim owns: with their contents, on which
        a later claim counts.
        """
        rest = {place: key for key, place in cached if not self.is_claimed(key)}
        for part in without_copies(rest):
            keys = [rest[place] for place in part]
            self._emitter.fact(Kind.BLOCK_CACHED, **cached_blocks(part, computed_by, keys))

    def evicted(self, blocks: Sequence[int], request_id: str | None = None) -> None:
        """The allocator evicted cached blocks, for this request."""
        named = None if request_id is None else name_of(request_id)
        self._removed(Kind.BLOCK_EVICTED, blocks, {"request_id": named})

    def lost(self, blocks: Sequence[int]) -> None:
        """A failure removed cached blocks."""
        self._removed(Kind.BLOCK_LOST, blocks, {})

    def is_claimed(self, key: bytes) -> bool:
        """Whether any claim owns this content."""
        return self.ledger.claims(key) or self.watched.ledger.claims(key)

    def begins(self, keys: Sequence[bytes]) -> bool:
        """Whether the prompt of some claim has the same first block as this prompt."""
        return any(ledger.begins(keys) for ledger in self._ledgers)

    def reach(self, keys: Sequence[bytes]) -> int:
        """The longest prefix of a prompt, in blocks, that is cached and computed for a hit."""
        return self._registry.groups.reach(keys, self._there(keys).__contains__)

    def _there(self, keys: Sequence[bytes]) -> set[bytes]:
        """The keys of a prompt, in all groups, that computed blocks hold."""
        return {key for key, _ in self._pool.find(self._registry.groups.every(keys))}

    def look_up(
        self,
        request_id: str,
        keys: Sequence[bytes],
        found: int,
        uses: Container[bytes] | None = None,
    ) -> None:
        """A request looked up the contents that it can use, and found the first ones of them. What
        it found counts as far as it is computed.

        A request that finds what it computed itself, as after a preemption, does not reuse it. One
        that finds more than a claim has may use none of the claim, where a window or a state is
        missing at the claim's end.

        Args:
            uses: the contents of a request that loaded some of them. It looked up no others, so no
                look-up is stated of a claim that is there only by other requests.
        """
        self._tick()
        groups = self._registry.groups
        is_there = self._there(keys).__contains__
        found = groups.reach(keys[:found], is_there)
        for ledger in self._ledgers:
            for entry, asked in ledger.shared(keys).items():
                predicate, lead = entry.claim.materialization_predicate, min(asked, found)
                if groups.sparse:
                    lead = min(found, groups.reach(keys[:asked], is_there))
                    if uses is not None and groups.reach(keys[:asked], uses.__contains__) < lead:
                        continue
                names = {"claim_id": entry.claim_id, "request_id": name_of(request_id)}
                counts = {"asked": min(asked, entry.reach), "held": max(0, lead - predicate.start)}
                self._emitter.fact(Kind.PREFIX_LOOKUP, **names, **counts)
                if lead >= predicate.end and entry.holds and entry.made_by != request_id:
                    self._emitter.fact(Kind.PREFIX_REUSED, **names)
                self.placements.served(entry, request_id, hit=lead >= min(asked, predicate.end))

    def end_to_cache(self, keys: Sequence[bytes]) -> int:
        """The end in blocks of the longest claim on this prompt that lacks blocks; 0 for none."""
        shared = (pair for ledger in self._ledgers for pair in ledger.shared(keys).items())
        ends = (asked for entry, asked in shared if len(entry.held) < entry.footprint == asked)
        return max(ends, default=0)

    def unreachable_end(self, keys: Sequence[bytes], blocks: int) -> str:
        """Why a claim on so many first blocks of a prompt would never be there, or empty.

        Where a hit goes beyond its end, the end of a window or a state at its end is not computed.
        """
        groups = self._registry.groups
        if not groups.sparse or (reach := self.reach(keys)) <= blocks:
            return ""
        needed = groups.needed(keys[:blocks])
        if len({key for key, _ in self._pool.find(needed)}) == len(needed):
            return ""
        return (
            f"a hit uses {reach} blocks of its prompt, so no window or state that ends at block "
            f"{blocks} would be computed"
        )

    @property
    def excluded(self) -> Collection[int]:
        """The blocks that are excluded from eviction."""
        return self._exclusion.blocks

    @property
    def excluded_contents(self) -> Collection[Content]:
        """The contents of these blocks."""
        return self._exclusion.contents

    def before_reset(self) -> None:
        """The engine is about to clear the cache, which needs every block free: release all.

        Anyone may reset the cache. Claims that lose blocks by it are reported harmed.
        """
        self._exclusion.suspend()

    def after_reset(self, done: bool) -> None:
        """The cache was cleared; or it was not, and the blocks are held again."""
        self._exclusion.resume(gone=done)
        if done:
            self._removed(Kind.BLOCK_LOST, None, {})

    def standing(self) -> Iterator[tuple[Entry, list[Place]]]:
        """Each claim with its blocks; a block that claims share comes once."""
        stated: set[int] = set()
        for entry in self._registry.live.values():
            places = [place for place in entry.places if place.block not in stated]
            stated.update(place.block for place in places)
            yield entry, places

    def drop_unreachable(self, keys: Sequence[bytes], *, claiming: bool = False) -> None:
        """Drop the cached blocks of a prompt that a hit cannot use.

        A request cannot reach them, and computes its own, which need their capacity. Blocks that
        the predicate of a claim needs are not dropped.

        Args:
            keys: the contents that the request can use.
            claiming: a claim on these contents is about to be accepted. Then unclaimed blocks are
                dropped, too, because the claim would have to hold them.
        """
        if not keys or not (claiming or self.ledger.begins(keys)):
            return
        groups = self._registry.groups
        found = list(self._pool.find(groups.every(keys)))
        present = {key for key, _ in found}
        behind = set(groups.every(keys[groups.reach(keys, present.__contains__) :]))
        contents = list(self.ledger.contents(behind))
        unreachable = {block for key, block in found if claiming and key in behind}
        unreachable.update(*(content.blocks for content in contents if content.wanted))
        for content in contents:
            if any(owner.needs(content.at) for owner in content.owners):
                unreachable.difference_update(content.blocks)
        if unreachable:
            self._pool.drop(sorted(unreachable))

    # What the rest of the plugin does.

    def add(self, entry: Entry) -> None:
        """Add a claim: it owns the contents of its positions."""
        if entry.watched:
            self.watched.add(entry)
        else:
            self.ledger.add(entry)
            self.exclude(entry)

    def find(self, entry: Entry) -> None:
        """Give a claim that was added the blocks that are cached already."""
        known = list(entry.places)
        if known:
            report_gained(self._registry, self._emitter, entry, known, None)
        self.place(list(self._pool.find(entry.blocks)), None)

    def place(
        self,
        pairs: Sequence[tuple[bytes, int]],
        computed_by: str | None,
        *,
        loaded_for: Container[str] = (),
    ) -> None:
        """Blocks now hold these contents: give them to the claims that own these, and hold them.

        Args:
            computed_by: the request that computed them; None where they were found or loaded.
            loaded_for: ids of the claims that they were loaded for, which are reported elsewhere.
        """
        for part in self._registry.groups.split(pairs):
            gained = self.ledger.place(part)
            self._exclusion.settle(self.ledger.contents(key for key, _ in part))
            for entry, places in gained.items():
                if entry.claim_id not in loaded_for:
                    report_gained(self._registry, self._emitter, entry, places, computed_by)
            self.watched.place(part, computed_by)

    def exclude(self, entry: Entry) -> None:
        """Exclude one block of each content of the claim from eviction.

        Nothing is done where the claim's mode is not enforced, or where it has a copy elsewhere.
        """
        if self._excludes(entry):
            self._exclusion.want(entry.contents)

    def make_evictable(self, entry: Entry) -> None:
        """End the exclusion of a claim's blocks; the last position is evicted first."""
        self._exclusion.unwant(reversed(entry.contents))

    def remove(self, entry: Entry) -> None:
        """Remove a claim that has ended."""
        if entry.watched:
            self.watched.remove(entry)
            return
        if self._excludes(entry):
            self.make_evictable(entry)
        self.ledger.remove(entry)

    def _removed(
        self, kind: Kind, blocks: Sequence[int] | None, fields: dict[str, str | None]
    ) -> None:
        """Blocks lost their contents (None: all blocks did): state it, and report harm."""
        parts = self.watched.split(kind, blocks)  # by what was free before claims expire
        self._tick()
        for part, more in parts:
            touched = [] if part is None else list(self.ledger.holding(part))
            losers = self.ledger.lose(part)
            harmed = [e for e in losers if e.evaluate() == (True, False) and not e.copied]
            for entry in losers:
                if entry.brought and not self._leads(entry):
                    entry.brought = None
            self._exclusion.settle(touched)
            self._emitter.fact(kind, **{"block_ids": tuple(part or ()), **fields, **more})
            for entry in harmed:
                self._registry.report(entry, Kind.CLAIM_HARMED)
            self.watched.lost(part)

    def _leads(self, entry: Entry) -> bool:
        """Whether a hit could use any of what a claim's predicate needs."""
        start = entry.claim.materialization_predicate.start
        is_there = self._there(entry.keys).__contains__
        return self._registry.groups.reach(entry.keys, is_there, start) > 0

    def _excludes(self, entry: Entry) -> bool:
        return self._registry.enforces(entry) and not entry.copied
