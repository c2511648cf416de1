"""Tracks copies of claims in an offload tier, and reports how loads from it come out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from runtime_hooks.trace.names import name_of, placed, without_copies
from runtime_hooks.tracking.gains import report_materialized
from spec.claims.states import Mode
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from runtime_hooks.claims.entry import Entry
    from runtime_hooks.claims.registry import Registry
    from runtime_hooks.trace.emitter import Emitter
    from runtime_hooks.trace.names import Place
    from runtime_hooks.tracking.tracker import BlockTracker

__all__ = ["OffloadTier", "OffloadTracker"]


class OffloadTier(Protocol):
    """What offload tracking needs of the engine's tier."""

    def has(self, keys: Sequence[bytes]) -> Iterable[bytes]:
        """Those of these contents that have a copy which can be loaded."""

    def keep(self, keys: Sequence[bytes]) -> None:
        """Exclude the copies of these contents from eviction."""

    def drop(self, keys: Sequence[bytes]) -> None:
        """End that exclusion."""


@dataclass(slots=True)
class _Load:
    """A load for one request.

    `keys` are the contents that it brings, `claims` the ids of the claims whose copies these are,
    `whole` those of them whose predicate the request needs completely.
    """

    keys: frozenset[bytes] = frozenset()
    claims: set[str] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)


class OffloadTracker:
    """The copies of claims in the tier, and the loads that bring them back.

    Args:
        tier: the engine's tier; None where it has none, and then no method does anything.
        tick: called when something happens; updates the time and ends the claims that expired.
        read_clock: updates the time only.
    """

    def __init__(
        self,
        tier: OffloadTier | None,
        tracker: BlockTracker,
        registry: Registry,
        emitter: Emitter,
        tick: Callable[[], None],
        read_clock: Callable[[], None],
    ) -> None:
        self._tier, self._tracker, self._registry = tier, tracker, registry
        self._emitter, self._tick, self._read_clock = emitter, tick, read_clock
        self._loads: dict[str, _Load] = {}  # by request

    # Copies.

    def claims_on(self, keys: Iterable[bytes]) -> list[str]:
        """The ids of the claims that own these contents and can have copies."""
        return sorted(entry.claim_id for entry in self._claims_on(keys))

    def add(self, entry: Entry) -> None:
        """Add an accepted claim, of which the tier may have copies already."""
        if self._tier is not None and entry.claim.protection_mode is Mode.OFFLOADABLE:
            self._record_copies(entry, self._there(entry), set())

    def stored(self, keys: Iterable[bytes]) -> None:
        """Contents were copied to the tier; a claim with copies of all its blocks is offloaded."""
        self._tick()
        for entry, owned in self._claims_on(keys).items():
            self._record_copies(entry, self._there(entry) if entry.holds else set(), owned)

    def found(self, keys: Iterable[bytes]) -> None:
        """Contents are in the tier that came from another tier.

        They count as copies of a claim that is there. A request may be computing the blocks of one
        that is not, and could not have loaded them.
        """
        self._tick()
        for entry in self._claims_on(keys):
            if entry.holds:
                self._record_copies(entry, self._there(entry), set())

    def _there(self, entry: Entry) -> set[bytes]:
        """The contents of a claim without a copy that the tier has."""
        return set() if self._tier is None or entry.copied else set(self._tier.has(entry.blocks))

    def _record_copies(self, entry: Entry, found: set[bytes], stored: set[bytes]) -> None:
        """Record the contents of which copies were found in the tier, or stored.

        A store of a claim whose predicate never held was made for other requests: it is found.
        """
        entry.stored |= found | stored
        if entry.copied or len(entry.stored) < len(entry.blocks):
            return
        copied = Kind.STORE_FINISHED if stored and entry.ever_held else Kind.HOST_COPY_FOUND
        self._emitter.fact(copied, claim_id=entry.claim_id)
        self._registry.report(entry, Kind.CLAIM_OFFLOADED)
        if self._registry.enforces(entry) and self._tier is not None:
            self._tier.keep(entry.blocks)
            self._tracker.make_evictable(entry)
        self._registry.set_copied(entry, True)

    def lost(self, keys: Iterable[bytes] | None) -> None:
        """The tier evicted copies of these contents (None: all copies).

        A copy that is being read is there until that ends, though nobody else finds it.
        """
        self._tick()
        for entry, owned in self._claims_on(keys).items():
            entry.stored -= owned
            if entry.copied and not self._is_read(entry):
                self._lose(entry)

    def _lose(self, entry: Entry) -> None:
        self._emitter.fact(Kind.HOST_COPY_LOST, claim_id=entry.claim_id)
        self._registry.set_copied(entry, False)
        self._tracker.exclude(entry)
        if not entry.holds:
            self._registry.report(entry, Kind.CLAIM_HARMED)

    def _is_read(self, entry: Entry) -> bool:
        return any(entry.claim_id in load.claims for load in self._loads.values())

    def _lose_read(self, load: _Load) -> None:
        """A load has ended: copies that the tier evicted while it read them are gone now."""
        for entry in self._live(load):
            lost = len(entry.stored) < len(entry.blocks)
            if entry.copied and lost and not self._is_read(entry):
                self._lose(entry)

    def remove(self, entry: Entry) -> None:
        """Remove a claim that has ended: its copies may be evicted."""
        if entry.copied and self._registry.enforces(entry) and self._tier is not None:
            self._tier.drop(entry.blocks)

    # Loads.

    def loading(
        self, request_id: str, keys: Sequence[bytes], used: Collection[bytes] = ()
    ) -> list[str]:
        """A request needs these contents back; returns the ids of the claims that own them.

        Args:
            used: the contents that the request found in the cache, and uses.
        """
        self._tick()
        load = self._loads[request_id] = _Load(frozenset(keys))
        there = load.keys.union(used)
        for entry in self._claims_on(keys):
            if not entry.copied:
                continue
            load.claims.add(entry.claim_id)
            end = entry.claim.materialization_predicate.end
            both = zip(entry.blocks, entry.contents, strict=True)
            if all(key in there for key, content in both if content.at < end):
                load.whole.add(entry.claim_id)
                entry.restores += 1
                self._require(entry, request_id)
        return sorted(load.claims)

    def awaited(self) -> Iterator[tuple[str, str]]:
        """The requests that wait for a whole claim, each with the id of the claim."""
        for request_id, load in self._loads.items():
            for entry in self._live(load):
                if entry.claim_id in load.whole:
                    yield request_id, entry.claim_id

    def under_way(self, request_id: str) -> bool:
        """Whether a request waits for copies of claims."""
        return request_id in self._loads and bool(self._live(self._loads[request_id]))

    def loaded(self, request_id: str, cached: Sequence[tuple[bytes, Place]]) -> bool:
        """A load came back, and its blocks are cached; returns whether a claim owns any of them.

        Args:
            cached: contents and blocks of the request.
        """
        self._tick()
        load = self._end_load(request_id)
        self._bring_back(request_id, load, cached)
        self._lose_read(load)
        self.found(load.keys)
        return any(map(self._tracker.is_claimed, load.keys))

    def loaded_unused(self, request_id: str, freed: Sequence[tuple[bytes, Place]]) -> None:
        """A load came back for a request that was aborted: its blocks were freed without caching.

        Args:
            freed: contents and blocks of the request.
        """
        self._tick()
        load = self._end_load(request_id)
        brought = self._bring_back(request_id, load, freed)
        self._lose_read(load)
        if brought:
            self._tracker.lost(brought)

    def failed(self, request_id: str) -> tuple[str, ...]:
        """A load failed; returns the ids of the claims that the request is refused for."""
        if request_id not in self._loads or not (load := self._end_load(request_id)).claims:
            return ()
        self._tick()
        refused = self._refuse(request_id, self._live(load))
        self._lose_read(load)
        return refused

    def withheld(self, request_id: str, keys: Sequence[bytes], found: int) -> tuple[str, ...]:
        """A request is about to run without a claim that is away; returns the ids of such claims.

        The request is refused for them, because they have copies and would not be brought back.

        Args:
            keys: the contents that the request can use.
            found: how many of the first ones it would get.
        """
        ledger = self._tracker.ledger
        if not ledger.begins(keys):
            return ()
        missing = [
            entry
            for entry, asked in ledger.shared(keys).items()
            if entry.copied and self._registry.enforces(entry) and not entry.holds
            if found < entry.claim.materialization_predicate.end <= asked
        ]
        if not missing:
            return ()
        self._tick()
        return self._refuse(request_id, missing)

    def _require(self, entry: Entry, request_id: str) -> None:
        named = name_of(request_id)
        self._registry.report(entry, Kind.CLAIM_RESTORE_REQUIRED, request_id=named)

    def _require_again(self, entry: Entry) -> None:
        """Report that other restores of the claim are still under way, which may succeed."""
        for request_id, load in self._loads.items():
            if entry.claim_id in load.whole:
                self._require(entry, request_id)

    def _bring_back(
        self, request_id: str, load: _Load, there: Sequence[tuple[bytes, Place]]
    ) -> list[int]:
        """Record contents that a load brought back; returns the blocks that hold them.

        Claims without a copy did not load them: that these blocks are cached is stated first.
        """
        brought = {key: place for key, place in there if key in load.keys}
        pairs = [(key, place.block) for key, place in brought.items()]
        self._tracker.place(pairs, None, loaded_for=load.claims)
        self._tracker.state_unclaimed(brought.items(), None)
        named = name_of(request_id)
        for entry in self._live(load):
            both = zip(entry.blocks, entry.contents, strict=True)
            back = {brought[key]: len(c.blocks) == 1 for key, c in both if key in brought}
            if not back:
                continue
            about = {"claim_id": entry.claim_id, "request_id": named}
            # What completes the claim comes last, because the report must follow it.
            for part in sorted(without_copies(back), key=lambda part: any(map(back.get, part))):
                self._emitter.fact(Kind.LOAD_FINISHED, **about, **placed(part))
            rose, entry.brought = entry.gain(None), named if entry.copied else None
            if entry.claim_id in load.whole and entry.holds:
                restored = Kind.CLAIM_RESTORED
                self._registry.report(entry, restored, request_id=named, from_tier=True)
                entry.brought = None
            elif rose:
                report_materialized(self._registry, entry, None)
        return [block for _, block in pairs]

    def _refuse(self, request_id: str, missing: Sequence[Entry]) -> tuple[str, ...]:
        """Report that claims were not restored for a request; returns those it is refused for.

        The failure has the time of the call, and its outcome the time at which it is reported.
        """
        named = name_of(request_id)
        for entry in missing:
            self._emitter.fact(Kind.LOAD_FAILED, claim_id=entry.claim_id, request_id=named)
        blamed = [entry for entry in missing if self._registry.enforces(entry)]
        claims = tuple(entry.claim_id for entry in blamed)
        self._read_clock()
        for entry in blamed:
            self._registry.report(
                entry,
                Kind.CLAIM_RESTORATION_FAILED,
                request_id=named,
                outcome="refusal",
                outcome_claim_id=entry.claim_id,
                blocking_claim_ids=(entry.claim_id,),
            )
        if claims:
            self._emitter.report(
                Kind.REQUEST_REFUSED, request_id=named, blocking_claim_ids=claims, restore=True
            )
        for entry in missing:
            self._require_again(entry)
        return claims

    def _end_load(self, request_id: str) -> _Load:
        """Remove and return the load of a request; an empty one where there is none."""
        load = self._loads.pop(request_id, _Load())
        for entry in self._live(load):
            entry.restores -= entry.claim_id in load.whole
        return load

    def _live(self, load: _Load) -> list[Entry]:
        """The claims of a load that are still live."""
        live = (self._registry.live.get(claim_id) for claim_id in sorted(load.claims))
        return [entry for entry in live if entry is not None]

    def _claims_on(self, keys: Iterable[bytes] | None) -> dict[Entry, set[bytes]]:
        """The offloadable claims on these contents (None: all), each with those that it owns.

        Claims of other modes are left out: the tier keeps no copies for them.
        """
        ledger = self._tracker.ledger
        found = (
            {entry: set(entry.stored) for entry in self._registry.live.values()}
            if keys is None
            else ledger.on(keys)
        )
        return {e: at for e, at in found.items() if e.claim.protection_mode is Mode.OFFLOADABLE}
