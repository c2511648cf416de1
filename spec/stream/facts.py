"""Takes facts about blocks and copies into the pool, and finds what they did to claims."""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from spec.claims.predicates import MAX_BLOCKS
from spec.events.alphabet import BLOCKS_GONE, Kind
from spec.events.canonical import Event
from spec.stream.breaks import Contradiction
from spec.stream.codes import Code
from spec.stream.generate import AT
from spec.stream.pool import FULL, GPU, Block, Key, Object, Pool, Touch

if TYPE_CHECKING:
    from spec.stream.breaks import Limits
    from spec.stream.capacity import Capacity
    from spec.stream.claim import Claim
    from spec.stream.objects import Objects

__all__ = ["FACTS_ABOUT_BLOCKS", "Effect", "Facts", "of_tier"]

_CACHED: Final = Kind.BLOCK_CACHED
_LOADED: Final = Kind.LOAD_FINISHED
_STORES: Final = frozenset({Kind.STORE_FINISHED, Kind.HOST_COPY_FOUND})
_COPIES: Final = _STORES | {Kind.HOST_COPY_LOST}
_OF_GPU: Final = BLOCKS_GONE | {_CACHED}
FACTS_ABOUT_BLOCKS: Final = frozenset(
    {
        *(*_OF_GPU, *_COPIES, _LOADED, Kind.LOAD_FAILED),
        *(Kind.PREFIX_LOOKUP, Kind.PREFIX_REUSED, Kind.REQUEST_ROUTED, Kind.REUSE_SERVED),
    }
)
_MOST_LOADED: Final = 2**20
"""The most blocks of a load of which their number alone is stated."""
_HOST: Final = "cpu"
"""The tier of facts that state none."""

_IN_TIERS: Final = {
    Kind.BLOCK_CACHED: Kind.STORE_FINISHED,
    Kind.BLOCK_EVICTED: Kind.HOST_COPY_LOST,
    Kind.BLOCK_LOST: Kind.HOST_COPY_LOST,
}
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
    """An event, and what it means for claims if it is a fact about blocks.

    Attributes:
        direct: the claims that it names or means, and not only shares content with.
        touched: what it did to the blocks of claims.
    """

    def __init__(self, event: Event) -> None:
        self.event, self.kind = event, event.kind
        self.direct: set[Claim] = set()
        self.touched: dict[Claim, Touch] = defaultdict(Touch)


class Facts:
    """Reads facts about blocks. A fact that contradicts the pool raises Contradiction.

    Args:
        limits: how many blocks and copies are followed, and tiers of each claim.
    """

    def __init__(self, pool: Pool, objects: Objects, capacity: Capacity, limits: Limits) -> None:
        self._pool, self._objects, self._capacity = pool, objects, capacity
        self._limits = limits

    def take(self, at: Effect, claim: Claim | None) -> None:
        """Take one fact about blocks; `at.direct` and `at.touched` become what it means for claims.

        Args:
            claim: the one that it names.
        """
        event, kind, pool = at.event, at.kind, self._pool
        self._check(event)
        obj = claim.obj if claim is not None else self._objects.meant(event)
        if claim is not None:
            at.direct.add(claim)
        elif obj is not None:
            at.direct.update(self._objects.on.get(obj, ()))
        keys = self._keys(event, claim, obj)
        if obj is None and kind not in _OF_GPU:
            self._named_by_blocks(at, keys)
        pool.changed.clear()
        if kind in BLOCKS_GONE:
            self._gone(at, claim, obj, keys)
        elif kind is _CACHED:
            self._cached(at, keys)
        elif kind is _LOADED:
            self._loaded(at, keys)
        elif kind in _STORES:
            self._stored(at, keys)
        elif kind in _COPIES:
            self._copy_lost(at, keys)
        if pool.count > self._limits.blocks:
            text = f"more than {self._limits.blocks} blocks and copies are held"
            raise Contradiction(Code.BLOCKS_LIMIT, text)
        for tier, key in pool.changed:
            gained = tier == GPU and pool.on_gpu(key)
            for owner, position in self._owners(key):
                touch = at.touched[owner]
                if tier == GPU:
                    (touch.gained if gained else touch.lost).add(position)

    def _check(self, event: Event) -> None:
        """A fact is about a group that the stream has, and a copy about another tier."""
        if (event.group or 0) not in self._pool.groups:
            text = f"group {event.group or 0} is none of the groups of stream_opened"
            raise Contradiction(Code.GROUPS_CONTRADICT, text)
        if event.kind in _COPIES and _is_gpu(event.tier):
            text = f"{event.kind} is about a copy in another tier than the GPU"
            raise Contradiction(Code.COPY_ON_GPU, text)

    def _owners(self, key: Key) -> list[tuple[Claim, int]]:
        """The claims that may need a key, each with the position.

        In a group with a window or a state, no claim needs what lies before the window of the
        shortest prefix that makes its predicate true.
        """
        group, found = self._pool.groups.get(key.group, FULL), self._objects.owners(key)
        if group.kind == "full":
            return found
        return [(c, at) for c, at in found if at >= group.needs(c.start, c.stop).start]

    def _counts(self, key: Key) -> bool:
        """Whether a claim of which reports are owed may need a key."""
        return any(claim.live for claim, _ in self._owners(key))

    def _named_by_blocks(self, at: Effect, keys: list[Key]) -> None:
        """The fact means the claims that hold the keys or the blocks that it states."""
        known = [*keys, *self._of_blocks(at.event)]
        for key in known:
            at.direct.update(owner for owner, _ in self._objects.owners(key))
        if not (known or at.event.tier):
            what = "names no claim, object or key, and no known block"
            raise Contradiction(Code.NOTHING_NAMED, f"{at.kind} {what}")

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

    def _cached(self, at: Effect, keys: list[Key]) -> None:
        if keys:
            self._place(at, keys)
        else:
            for block in at.event.block_ids:
                self._put(at, None, block)

    def _place(self, at: Effect, keys: list[Key]) -> None:
        blocks = at.event.block_ids
        for place, key in enumerate(keys):
            self._put(at, key, blocks[place] if place < len(blocks) else None)
            _note_place(key)

    def _put(self, at: Effect, key: Key | None, block: Block | None) -> None:
        """A block holds a key from now on. If a claim counts on its old key, unite both keys."""
        before = None if block is None else self._pool.blocks.get(block)
        if before is None or before == key or not self._counts(before):
            self._pool.place(key, block)
        elif key is not None:
            self._unite(at, before, key, block)

    def _unite(self, at: Effect, before: Key, key: Key, block: Block | None) -> None:
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
                at.touched[owner].gained.add(position)

    def _loaded(self, at: Effect, keys: list[Key]) -> None:
        """A load brought copies back; raises Contradiction if no tier has them."""
        event = at.event
        if not keys and len(known := self._of_blocks(event)) == len(event.block_ids):
            keys = known
        if not keys and event.held != 0:
            self._load_whole(at)
        copied = any(any(claim.copies.values()) for claim in at.direct)
        for key in keys:
            counts = at.direct or self._objects.owners(key)
            if counts and not (copied or self._pool.in_tiers(key)):
                text = "facts contradict: a load is of blocks of which no tier has a copy"
                raise Contradiction(Code.COPY_NOT_THERE, text)
        self._place(at, keys)
        for key in keys:
            for owner, position in self._owners(key):
                at.touched[owner].brought.add(position)

    @staticmethod
    def _load_whole(at: Effect) -> None:
        """A load does not state what it brought: that is known only of what is there already."""
        for claim in at.direct:
            if not claim.over and claim.facts[AT["lead"]] < claim.threshold:
                text = "a load does not state which blocks it brought back"
                raise Contradiction(Code.UNCLEAR_AMOUNT, text)

    def _gone(self, at: Effect, claim: Claim | None, obj: Object | None, keys: list[Key]) -> None:
        """Blocks of the GPU are gone: those that are stated, or all of a claim, an object or the
        GPU.
        """
        blocks = at.event.block_ids
        if blocks or keys:
            for block, key in zip_longest(blocks, keys):
                self._free(at, block, key, whose=obj is not None)
        elif obj is None:
            self._pool.clear(GPU)
        else:
            most = MAX_BLOCKS if claim is None else claim.extent
            for key in self._keys_of(obj, most):
                self._pool.free_all(key)

    def _free(self, at: Effect, block: Block | None, key: Key | None, *, whose: bool) -> None:
        """A block is gone; raises Contradiction if it held another content than the event states.

        The end of an unknown block is ignored where it cannot be a block of a claim.

        Args:
            whose: the event names the claim or the object that it belonged to.
        """
        pool = self._pool
        if block is None:
            if key is not None:
                pool.free_all(key)
        elif block in pool.blocks:
            held = pool.free(block)
            for owner, _ in () if held is None else self._owners(held):
                at.touched[owner].blocks.add(block)
            if None not in (key, held) and held != key:
                text = f"facts contradict: block {block} did not hold what is said to be gone"
                raise Contradiction(Code.BLOCK_NOT_HELD, text)
        elif key is not None and pool.free_unnamed(key):
            return
        elif whose or any(map(self._counts, pool.unnamed)):
            text = f"facts contradict: block {block} is gone, and no event stated that it was held"
            raise Contradiction(Code.BLOCK_NOT_HELD, text)

    def _keys_of(self, obj: Object, most: int) -> list[Key]:
        """The keys of an object of which a block may be held, of so many positions at most."""
        named = range(min(len(obj.contents), most))
        places = sorted(place for place in obj.places if place[1] < most)
        keys = [obj.key(group, at) for group in self._pool.groups for at in named]
        return [*keys, *(obj.key(group, at) for group, at in places)]

    # Tiers.

    def _stored(self, at: Effect, keys: list[Key]) -> None:
        """A tier has copies of keys, or of all of a claim; blocks of the GPU say what was stored
        from them, and not which copy was found.
        """
        event, once = at.event, at.kind is Kind.HOST_COPY_FOUND
        tier = event.tier or _HOST
        if event.block_ids and not keys:
            keys = [] if once else self._of_blocks(event)
            _check_content(event, keys)
        for key in keys:
            self._pool.copy(tier, key, at_least_one=once)
            _note_place(key)
        for claim in () if keys else at.direct:
            count = claim.copies.get(tier, 0)
            claim.copies[tier] = max(count, 1) if once else count + 1
            if len(claim.copies) > self._limits.tiers:
                text = f"a claim has copies in more than {self._limits.tiers} tiers"
                raise Contradiction(Code.BLOCKS_LIMIT, text)

    def _copy_lost(self, at: Effect, keys: list[Key]) -> None:
        event = at.event
        tier = event.tier or _HOST
        if event.block_ids:
            _check_content(event, keys)
        if event.tier is not None and not (keys or at.direct):
            self._tier_lost(at, tier)
            return
        for key in keys:
            self._pool.drop(tier, key)
        for claim in () if keys else at.direct:
            if not claim.copies.get(tier, 0):
                text = "facts contradict: a copy is lost that was not there"
                raise Contradiction(Code.COPY_NOT_THERE, text)
            claim.copies[tier] -= 1
            if not claim.copies[tier]:
                del claim.copies[tier]

    def _tier_lost(self, at: Effect, tier: str) -> None:
        """A tier lost all that it had."""
        self._pool.clear(tier)
        for claims in self._objects.on.values():
            for claim in claims:
                if claim.copies.pop(tier, 0):
                    at.direct.add(claim)


def _note_place(key: Key) -> None:
    """An object remembers of which positions something was held before their content is stated."""
    if isinstance(key.of, Object):
        key.of.places.add((key.group, int(key.name)))


def _check_content(event: Event, keys: list[Key]) -> None:
    if not keys:
        text = f"the blocks of {event.kind} do not say which content is meant"
        raise Contradiction(Code.NOTHING_NAMED, text)
