"""What becomes of the blocks of claims: cached, held, used, taken, lost; and what is said of it."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Protocol

from runtime_hooks.enforce.holds import Holding, Holds
from runtime_hooks.enforce.ranks import Ranking
from runtime_hooks.ledger import Ledger
from runtime_hooks.requests import name_of
from runtime_hooks.watch import Watch
from spec.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from runtime_hooks.ledger import Entry
    from runtime_hooks.registry import Registry
    from runtime_hooks.voice import Voice

__all__ = ["Custody"]


class _Pool(Holding, Ranking, Protocol):
    """What is done with blocks."""


class Custody:
    """The blocks of one pool, as far as claims are concerned; `watch` has those of the claims for
    which nobody is kept out.

    Args:
        tick: called at the beginning of each thing that happens; ends what time has ended.
    """

    def __init__(
        self, pool: _Pool, registry: Registry, voice: Voice, tick: Callable[[], None]
    ) -> None:
        self.ledger = Ledger()
        self.watch = Watch(pool, registry, voice)
        self._pool, self._holds = pool, Holds(pool)
        self._registry, self._voice, self._tick = registry, voice, tick

    # What the engine does.

    def cached(self, start: int, pairs: Sequence[tuple[bytes, int]]) -> None:
        """Computed blocks are cached: contents and blocks, at logical positions from `start` on."""
        self._tick()
        blocks = {block: at for at, (_, block) in enumerate(pairs, start)}
        if self.ledger.claimed or self.watch.ledger.claimed:
            self.place(pairs)
            for ledger in (self.ledger, self.watch.ledger):
                for block in ledger.owned_of(blocks.keys()):
                    del blocks[block]
        if blocks:
            ids, positions = tuple(blocks), tuple(blocks.values())
            self._voice.fact(Kind.BLOCK_CACHED, block_ids=ids, positions=positions)

    def evicted(self, blocks: Sequence[int], request_id: str | None = None) -> None:
        """The allocator took cached blocks as victims."""
        named = None if request_id is None else name_of(request_id)
        self._gone(Kind.BLOCK_EVICTED, blocks, {"request_id": named})

    def lost(self, blocks: Sequence[int]) -> None:
        """A failure took cached blocks."""
        self._gone(Kind.BLOCK_LOST, blocks, {})

    def reuse(
        self,
        request_id: str,
        keys: Sequence[bytes],
        blocks: Sequence[int],
        uncomputed: Container[int] = (),
    ) -> None:
        """A request looked for these contents, and uses these blocks, which hold the first of them.

        A claim may have lost its block for a content of which there is a second copy: that one is
        its block from now on, unless its content is yet to be computed.
        """
        self._tick()
        found = len(blocks)
        self.place([pair for pair in zip(keys, blocks, strict=False) if pair[1] not in uncomputed])
        both = (self.ledger, self.watch.ledger)
        for entry, covered in (each for on in both for each in on.covered(keys, found).items()):
            predicate = entry.claim.materialization_predicate
            about = {"claim_id": entry.claim_id, "request_id": name_of(request_id)}
            self._voice.fact(Kind.PREFIX_LOOKUP, **about, held=max(0, covered - predicate.start))
            if covered >= predicate.end:
                self._voice.fact(Kind.PREFIX_REUSED, **about)

    def before_reset(self) -> None:
        """The whole cache is to be cleared, for which no block may be in use: let go of all.

        Whoever asks for a reset may; where claims are, their harm is told.
        """
        self._holds.suspend()

    def after_reset(self, done: bool) -> None:
        """The cache was cleared, or it was not and the blocks are held again."""
        self._holds.resume(gone=done)
        if done:
            self._gone(Kind.BLOCK_LOST, None, {})

    def clear_way(self, keys: Sequence[bytes]) -> None:
        """A request comes that will make what it does not find of these contents. Where one is
        missing it finds none behind: those that claims hold there are dropped, so that what it
        makes instead has their room.
        """
        if not (keys and self.ledger.on(keys[:1])):
            return
        found = dict(self._pool.find(keys))
        lead = sum(1 for _ in takewhile(found.__contains__, keys))
        useless = [
            block
            for entry, places in self.ledger.on(keys[lead + 1 :]).items()
            if self._keeps(entry)
            for block in (entry.blocks[at] for at in places if at in entry.blocks)
            if not any(owner.needs(at) for owner, at in self.ledger.owners(block).items())
        ]
        if useless:
            self._pool.drop(list(dict.fromkeys(useless)))

    # What is made of it.

    def add(self, entry: Entry) -> None:
        """From now on the contents of the claim's positions are the claim's."""
        (self.watch.ledger if entry.watched else self.ledger).add(entry)

    def place(self, pairs: Sequence[tuple[bytes, int]]) -> None:
        """Blocks came to hold contents: claims gain them, they are held, and it is told."""
        for entry, places in self.ledger.place(pairs).items():
            self.tell_cached(entry, places)
        self.watch.place(pairs)

    def place_found(self, keys: Sequence[bytes]) -> None:
        """Have the claims on these contents gain what is cached of them. Behind a missing one
        nobody finds them: those that a request makes instead shall have the room.
        """
        found = dict(self._pool.find(keys))
        self.place([(key, found[key]) for key in takewhile(found.__contains__, keys)])

    def tell_cached(self, entry: Entry, places: dict[int, int]) -> None:
        """A claim gained blocks at these positions."""
        self.hold(entry, places.values())
        self._voice.cached(entry, places)

    def hold(self, entry: Entry, blocks: Iterable[int]) -> None:
        """These blocks of the claim are no victims, if it is kept and has no copy elsewhere."""
        if self._keeps(entry):
            self._holds.take(blocks)

    def let_go(self, entry: Entry) -> None:
        """The blocks of the claim may be taken, the last position first."""
        self._holds.drop([entry.blocks[at] for at in sorted(entry.blocks, reverse=True)])

    def remove(self, entry: Entry) -> None:
        """The claim is over: its blocks are nobody's."""
        if entry.watched:
            self.watch.remove(entry)
            return
        if self._keeps(entry):
            self.let_go(entry)
        self.ledger.remove(entry)

    def _gone(
        self, kind: Kind, blocks: Sequence[int] | None, fields: dict[str, str | None]
    ) -> None:
        """Cached blocks are gone, or all of them (None)."""
        self._tick()
        for part, said in self.watch.apart(kind, blocks):
            losers = self.ledger.lose(part)
            harmed = [e for e in losers if e.look() == (True, False) and not e.copied]
            if losers:
                self._holds.forget(part)
            self._voice.fact(kind, **{"block_ids": tuple(part or ()), **fields, **said})
            for entry in harmed:
                self._voice.report(Kind.CLAIM_HARMED, claim_id=entry.claim_id)
            self.watch.gone(kind, part)
            for entry in losers if part is not None else ():
                if self._keeps(entry):  # a second copy takes the place
                    self.place_found(entry.keys)

    def _keeps(self, entry: Entry) -> bool:
        return self._registry.keeps(entry) and not entry.copied
