"""Takes facts about blocks and copies into the pool, and finds what they did to claims."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from spec.claims.predicates import MAX_BLOCKS
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.stream.breaks import Contradiction
from spec.stream.capacity import Capacity
from spec.stream.claim import AT, Claim
from spec.stream.codes import Code
from spec.stream.objects import Objects
from spec.stream.pool import FULL, GPU, Block, Key, Object, Pool, Touch

__all__ = ["FACTS_ABOUT_BLOCKS", "Effect", "Facts", "of_tier"]

_STORES: Final = frozenset({Kind.STORE_FINISHED, Kind.HOST_COPY_FOUND})
_USES: Final = frozenset({Kind.PREFIX_LOOKUP, Kind.PREFIX_REUSED, Kind.LOAD_FAILED})
_ROUTES: Final = frozenset({Kind.REQUEST_ROUTED, Kind.REUSE_SERVED})
_GONE: Final = frozenset({Kind.BLOCK_EVICTED, Kind.BLOCK_LOST})
_CACHED: Final = Kind.BLOCK_CACHED
_LOADED: Final = Kind.LOAD_FINISHED
_MOST_LOADED: Final = 2**20
"""The most blocks of a load of which their number alone is stated."""
_HOST: Final = "cpu"
"""The tier of facts that state none."""

_OF_GPU: Final = _GONE | {_CACHED}
FACTS_ABOUT_BLOCKS: Final = (
    _STORES | _USES | _ROUTES | _GONE | {_CACHED, _LOADED, Kind.HOST_COPY_LOST}
)


_IN_TIERS: Final = {
    Kind.BLOCK_CACHED: Kind.STORE_FINISHED,
    Kind.BLOCK_EVICTED: Kind.HOST_COPY_LOST,
    Kind.BLOCK_LOST: Kind.HOST_COPY_LOST,
}


_COPIES: Final = _STORES | {Kind.HOST_COPY_LOST}
_STATED: Final = tuple({*Event.__struct_fields__} - {"kind"})


def of_tier(event: Event) -> Event:
    """The event, where a fact about blocks of another tier than the GPU is one about copies."""
    if event.tier is None or event.kind not in _IN_TIERS or _is_gpu(event.tier):
        return event
    stated = {name: getattr(event, name) for name in _STATED}
    return Event(kind=_IN_TIERS[event.kind], **stated)


def _is_gpu(tier: str | None) -> bool:
    return tier is not None and tier.lower() == GPU


class Effect:
    """What a fact means: the claims that it names or means, and what it did to each."""

    def __init__(self) -> None:
        self.direct: set[Claim] = set()
        self.touched: dict[Claim, Touch] = {}

    def touch(self, claim: Claim) -> Touch:
        """What it did to one claim."""
        found = self.touched.get(claim)
        if found is None:
            found = self.touched[claim] = Touch()
        return found


class Facts:
    """Reads facts about blocks. A fact that contradicts the pool raises Contradiction."""

    def __init__(self, pool: Pool, objects: Objects, capacity: Capacity) -> None:
        self._pool, self._objects, self._capacity = pool, objects, capacity

    def take(self, event: Event, claim: Claim | None) -> Effect:
        """What one fact about blocks did.

        Args:
            claim: the one that it names.
        """
        effect, kind, pool = Effect(), event.kind, self._pool
        self._check(event)
        obj = claim.obj if claim is not None else self._objects.meant(event)
        if claim is not None:
            effect.direct.add(claim)
        elif obj is not None:
            effect.direct.update(self._objects.on.get(obj, ()))
        keys = self._keys(event, claim, obj)
        if obj is None and kind not in _OF_GPU:
            self._named_by_blocks(event, keys, effect)
        pool.changed.clear()
        if kind in _GONE:
            self._gone(event, claim, obj, keys, effect)
        elif kind is _CACHED:
            self._cached(event, keys, effect)
        elif kind is _LOADED:
            self._loaded(event, keys, effect)
        elif kind in _STORES:
            self._stored(event, keys, effect)
        elif kind in _COPIES:
            self._copy_lost(event, keys, effect)
        for tier, key in pool.changed:
            gained = tier == GPU and pool.on_gpu(key)
            for owner, position in self._owners(key):
                touch = effect.touch(owner)
                if tier == GPU:
                    (touch.gained if gained else touch.lost).add(position)
        return effect

    def _check(self, event: Event) -> None:
        """A fact is about a group that the stream has, and a copy about another tier."""
        if (event.group or 0) not in self._pool.groups:
            text = f"group {event.group or 0} is none of the groups of stream_opened"
            raise Contradiction(Code.GROUPS_CONTRADICT, text)
        if event.kind in _COPIES and _is_gpu(event.tier):
            text = f"{event.kind} is about a copy in another tier than the GPU"
            raise Contradiction(Code.COPY_ON_GPU, text)

    def _owners(self, key: Key) -> list[tuple[Claim, int]]:
        """The claims that may need a key, each with the position: of a group with a window none
        before the window of the shortest prefix that is enough.
        """
        group, found = self._pool.groups.get(key.group, FULL), self._objects.owners(key)
        if group.kind == "full":
            return found
        return [(c, at) for c, at in found if at >= group.needs(c.start, c.stop).start]

    def _named_by_blocks(self, event: Event, keys: list[Key], effect: Effect) -> None:
        """The fact means the claims that hold the keys or the blocks that it states."""
        known = [*keys, *self._of_blocks(event)]
        for key in known:
            effect.direct.update(owner for owner, _ in self._objects.owners(key))
        if not (known or event.tier):
            what = "names no claim, object or key, and no known block"
            raise Contradiction(Code.NOTHING_NAMED, f"{event.kind} {what}")

    def _keys(self, event: Event, claim: Claim | None, obj: Object | None) -> list[Key]:
        """The keys that a fact states, by their names or by positions of what it is about."""
        group = event.group or 0
        if event.contents:
            stated = event.cache_identity or (obj.identity if obj is not None else None)
            named = ((stated or self._objects.identity_of(each), each) for each in event.contents)
            return [Key(identity, group, each) for identity, each in named]
        if obj is None:
            return []
        if event.positions:
            return [obj.key(group, at) for at in event.positions]
        if event.kind is _LOADED and event.held is not None and claim is not None:
            end = min(claim.start + event.held, claim.extent)
            if end - claim.start > _MOST_LOADED:
                text = f"a load of more than {_MOST_LOADED} blocks does not state which"
                raise Contradiction(Code.UNCLEAR_AMOUNT, text)
            return [obj.key(group, at) for at in range(claim.start, end)]
        return []

    def _of_blocks(self, event: Event) -> list[Key]:
        """The keys that the blocks of the GPU hold which a fact states."""
        return [key for b in event.block_ids if (key := self._pool.blocks.get(b)) is not None]

    # The GPU.

    def _cached(self, event: Event, keys: list[Key], effect: Effect) -> None:
        if keys:
            self._place(keys, event.block_ids, effect)
        else:
            for block in event.block_ids:
                self._put(None, block, effect)

    def _place(self, keys: list[Key], blocks: tuple[Block, ...], effect: Effect) -> None:
        for place, key in enumerate(keys):
            self._put(key, blocks[place] if place < len(blocks) else None, effect)
            if isinstance(key.of, Object):
                key.of.places.add((key.group, int(key.name)))

    def _put(self, key: Key | None, block: Block | None, effect: Effect) -> None:
        """A block holds a key from now on. If a claim counts on what it held, both are one."""
        before = None if block is None else self._pool.blocks.get(block)
        news = before is not None and before != key
        if before is not None and news and any(c.live for c, _ in self._owners(before)):
            self._unite(before, key, block, effect)
        else:
            self._pool.place(key, block)

    def _unite(self, before: Key, key: Key | None, block: Block | None, effect: Effect) -> None:
        if key is None:
            return
        objects = (each.of for each in (before, key) if isinstance(each.of, Object))
        claims = [claim for obj in objects for claim in self._objects.on.get(obj, ())]
        try:
            with self._capacity.resized(claims):
                obj = self._objects.unite(before, key, self._pool)
        except Contradiction as found:
            text = f"facts contradict: block {block} holds two contents, with no loss between"
            raise Contradiction(found.code, text) from None
        position = int(key.name if key.of is obj else before.name)
        for owner in self._objects.on.get(obj, ()):
            if position < owner.extent:
                effect.touch(owner).gained.add(position)

    def _loaded(self, event: Event, keys: list[Key], effect: Effect) -> None:
        """A load brought copies back; raises Contradiction if no tier has them."""
        if not keys and len(known := self._of_blocks(event)) == len(event.block_ids):
            keys = known
        if not keys and event.held != 0:
            self._load_whole(effect)
        for key in keys:
            counts = effect.direct or self._objects.owners(key)
            if counts and not (self._pool.in_tiers(key) or self._has_copy(effect)):
                text = "facts contradict: a load is of blocks of which no tier has a copy"
                raise Contradiction(Code.COPY_NOT_THERE, text)
        self._place(keys, event.block_ids, effect)
        for key in keys:
            for owner, position in self._owners(key):
                effect.touch(owner).brought.add(position)

    @staticmethod
    def _has_copy(effect: Effect) -> bool:
        return any(any(claim.copies.values()) for claim in effect.direct)

    def _load_whole(self, effect: Effect) -> None:
        """A load does not state what it brought: that is known only of what is there already."""
        for claim in effect.direct:
            if not claim.over and claim.facts[AT["lead"]] < claim.threshold:
                text = "a load does not state which blocks it brought back"
                raise Contradiction(Code.UNCLEAR_AMOUNT, text)

    def _gone(
        self, event: Event, claim: Claim | None, obj: Object | None, keys: list[Key], effect: Effect
    ) -> None:
        """Blocks of the GPU are gone."""
        if not event.block_ids and not keys:
            self._all_gone(claim, obj)
            return
        for place in range(max(len(event.block_ids), len(keys))):
            block = event.block_ids[place] if place < len(event.block_ids) else None
            key = keys[place] if place < len(keys) else None
            self._free(block, key, effect, whose=obj is not None)

    def _free(self, block: Block | None, key: Key | None, effect: Effect, *, whose: bool) -> None:
        """A block is gone. If its content is stated, it is what the block held.

        Args:
            whose: the event names the claim or the object that it belonged to.
        """
        pool = self._pool
        if block is None:
            if key is not None:
                pool.free_all(key)
            return
        if block in pool.blocks:
            held = pool.free(block)
            if held is not None:
                for owner, _ in self._owners(held):
                    effect.touch(owner).blocks.add(block)
            if key is not None and held is not None and held != key:
                text = f"facts contradict: block {block} did not hold what is said to be gone"
                raise Contradiction(Code.BLOCK_NOT_HELD, text)
        elif key is not None and pool.free_unnamed(key):
            pass
        elif whose or any(c.live for each in pool.unnamed for c, _ in self._owners(each)):
            text = f"facts contradict: block {block} is gone, and no event stated that it was held"
            raise Contradiction(Code.BLOCK_NOT_HELD, text)

    def _all_gone(self, claim: Claim | None, obj: Object | None) -> None:
        """All blocks of a claim, of an object or of the GPU are gone."""
        pool = self._pool
        if obj is None:
            pool.clear(GPU)
            return
        most = MAX_BLOCKS if claim is None else claim.extent
        named = range(min(len(obj.contents), most))
        for key in [obj.key(g, at) for g in pool.groups for at in named]:
            pool.free_all(key)
        for group, at in sorted(obj.places):
            if at < most:
                pool.free_all(obj.key(group, at))

    # Tiers.

    def _stored(self, event: Event, keys: list[Key], effect: Effect) -> None:
        once = event.kind is Kind.HOST_COPY_FOUND
        tier = event.tier or _HOST
        if event.block_ids and not keys:
            keys = [] if once else self._of_blocks(event)
            self._named_by_keys(event, keys)
        if keys:
            self._add_copies(tier, keys, at_least_one=once)
            return
        for claim in effect.direct:
            count = claim.copies.get(tier, 0)
            claim.copies[tier] = max(count, 1) if once else count + 1

    @staticmethod
    def _named_by_keys(event: Event, keys: list[Key]) -> None:
        """Blocks of the GPU name what is stored from them, and no copy that was there before."""
        if not keys:
            text = f"the blocks of {event.kind} do not say which content is meant"
            raise Contradiction(Code.NOTHING_NAMED, text)

    def _add_copies(self, tier: str, keys: Iterable[Key], *, at_least_one: bool) -> None:
        for key in keys:
            self._pool.copy(tier, key, at_least_one=at_least_one)
            if isinstance(key.of, Object):
                key.of.places.add((key.group, int(key.name)))

    def _copy_lost(self, event: Event, keys: list[Key], effect: Effect) -> None:
        tier = event.tier or _HOST
        if event.block_ids:
            self._named_by_keys(event, keys)
        if event.tier is not None and not (keys or effect.direct):
            self._tier_lost(tier, effect)
            return
        for key in keys:
            self._pool.drop(tier, key)
        if keys:
            return
        for claim in effect.direct:
            if not claim.copies.get(tier, 0):
                text = "facts contradict: a copy is lost that was not there"
                raise Contradiction(Code.COPY_NOT_THERE, text)
            claim.copies[tier] -= 1

    def _tier_lost(self, tier: str, effect: Effect) -> None:
        """A tier lost all that it had."""
        self._pool.clear(tier)
        for claims in self._objects.on.values():
            for claim in claims:
                if claim.copies.pop(tier, 0):
                    effect.direct.add(claim)
