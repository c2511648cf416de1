"""What becomes of the blocks of claims: cached, held, used, taken, lost; and what is said of it."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Protocol

from runtime_hooks.custody.voice import blocks_of
from runtime_hooks.custody.watch import Watch
from runtime_hooks.enforce.holds import Holding, Holds
from runtime_hooks.enforce.ledger import Ledger
from runtime_hooks.enforce.ranks import Ranking
from runtime_hooks.requests.metadata import name_of
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from runtime_hooks.custody.registry import Registry
    from runtime_hooks.custody.voice import Voice
    from runtime_hooks.enforce.ledger import Entry

__all__ = ["Custody"]


class _Pool(Holding, Ranking, Protocol):
    """What is done with blocks."""


class Custody:
    """The blocks of one pool, as far as claims are concerned; `watch` has those of the claims for
    which nobody is kept out.

    Args:
        tick: called at the beginning of each thing that happens; ends what time has ended.
        in_hand: whether a request came and has not ended.
    """

    def __init__(
        self,
        pool: _Pool,
        registry: Registry,
        voice: Voice,
        tick: Callable[[], None],
        in_hand: Callable[[str], bool],
    ) -> None:
        self.ledger = Ledger()
        self.watch = Watch(pool, registry, voice)
        self._pool, self._holds = pool, Holds(pool)
        self._registry, self._voice = registry, voice
        self._tick, self._in_hand = tick, in_hand

    # What the engine does.

    def cached(self, request_id: str, start: int, pairs: Sequence[tuple[bytes, int]]) -> None:
        """Blocks that a request computed are cached: contents and blocks, at logical positions from
        `start` on.

        Where the request has ended meanwhile nobody in hand computed them: they are found.
        """
        self._tick()
        computed_by = request_id if self._in_hand(request_id) else None
        if self.ledger.claimed or self.watch.ledger.claimed:
            self.place(pairs, computed_by)
        self.tell_unclaimed(start, pairs, computed_by)

    def tell_unclaimed(
        self, start: int, pairs: Sequence[tuple[bytes, int]], computed_by: str | None
    ) -> None:
        """Blocks are cached, from this position on: tell it of those that are no claim's."""
        rest = [
            (at, block) for at, (key, block) in enumerate(pairs, start) if not self.concerned(key)
        ]
        if rest:
            self._voice.fact(Kind.BLOCK_CACHED, **blocks_of(rest, computed_by))

    def evicted(self, blocks: Sequence[int], request_id: str | None = None) -> None:
        """The allocator took cached blocks as victims."""
        named = None if request_id is None else name_of(request_id)
        self._gone(Kind.BLOCK_EVICTED, blocks, {"request_id": named})

    def lost(self, blocks: Sequence[int]) -> None:
        """A failure took cached blocks."""
        self._gone(Kind.BLOCK_LOST, blocks, {})

    def concerned(self, key: bytes) -> bool:
        """Whether the content is a claim's, watched or not."""
        return self.ledger.claims(key) or self.watch.ledger.claims(key)

    def there(self, key: bytes) -> bool:
        """Whether a block of a claim holds this content."""
        both = (self.ledger, self.watch.ledger)
        return any(content.blocks for ledger in both for content in ledger.contents((key,)))

    def look_up(self, request_id: str, keys: Sequence[bytes], found: int) -> None:
        """A request looked for the contents that it can use, and the first of them are there.

        What it computed itself it does not reuse, though it may find it, as after a preemption.
        """
        self._tick()
        for ledger in (self.ledger, self.watch.ledger):
            for entry, asked in ledger.shared(keys).items():
                predicate, lead = entry.claim.materialization_predicate, min(asked, found)
                about = {"claim_id": entry.claim_id, "request_id": name_of(request_id)}
                said = {"asked": min(asked, entry.reach), "held": max(0, lead - predicate.start)}
                self._voice.fact(Kind.PREFIX_LOOKUP, **about, **said)
                if lead >= predicate.end and entry.holds and entry.made_by != request_id:
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

    def clear_way(self, keys: Sequence[bytes], *, claiming: bool = False) -> None:
        """A request comes that will make what it does not find of these contents. Where one is
        missing it finds none behind: those that claims hold there are dropped, so that what it
        makes instead has their room. What the predicate of a claim needs stays.

        Args:
            claiming: a claim on these contents is about to be taken, so those that nobody holds
                are dropped, too: it would have to hold what is there.
        """
        if not keys or not (claiming or self.ledger.claims(keys[0])):
            return
        found = list(self._pool.find(keys))
        there = {key for key, _ in found}
        behind = set(keys[sum(1 for _ in takewhile(there.__contains__, keys)) + 1 :])
        contents = list(self.ledger.contents(behind))
        useless = {block for key, block in found if claiming and key in behind}
        useless.update(*(content.blocks for content in contents if content.wanted))
        for content in contents:
            if any(owner.needs(content.at) for owner in content.owners):
                useless.difference_update(content.blocks)
        if useless:
            self._pool.drop(sorted(useless))

    # What is made of it.

    def add(self, entry: Entry) -> None:
        """From now on the contents of the claim's positions are the claim's."""
        if entry.watched:
            self.watch.add(entry)
        else:
            self.ledger.add(entry)
            self.want(entry)

    def find(self, entry: Entry) -> None:
        """Have a claim that was added gain what is there of its contents."""
        known = list(entry.pairs)
        if known:
            self._voice.cached(entry, known, None)
        self.place(list(self._pool.find(entry.keys)), None)

    def place(
        self,
        pairs: Sequence[tuple[bytes, int]],
        computed_by: str | None,
        *,
        loaded: Container[str] = (),
    ) -> None:
        """Blocks came to hold contents: claims gain them, they are held, and it is told, but for
        the claims that they were loaded for.
        """
        gained = self.ledger.place(pairs)
        self._holds.settle(self.ledger.contents(key for key, _ in pairs))
        for entry, places in gained.items():
            if entry.claim_id not in loaded:
                self._voice.cached(entry, places, computed_by)
        self.watch.place(pairs, computed_by)

    def want(self, entry: Entry) -> None:
        """Of each content of the claim one block is no victim, if it is kept and has no copy
        elsewhere.
        """
        if self._keeps(entry):
            self._holds.want(entry.contents)

    def let_go(self, entry: Entry) -> None:
        """The blocks of a claim that were held may be taken, the last position first."""
        self._holds.unwant(reversed(entry.contents))

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
            touched = [] if part is None else list(self.ledger.holding(part))
            losers = self.ledger.lose(part)
            harmed = [e for e in losers if e.look() == (True, False) and not e.copied]
            self._holds.settle(touched)
            self._voice.fact(kind, **{"block_ids": tuple(part or ()), **fields, **said})
            for entry in harmed:
                self._voice.report(Kind.CLAIM_HARMED, claim_id=entry.claim_id)
            self.watch.gone(part)

    def _keeps(self, entry: Entry) -> bool:
        return self._registry.keeps(entry) and not entry.copied
