"""Follows blocks in the model of the plugin: held, ranked, cached, evicted, lost."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from models.framework.blocks import Content, filed, freed
from models.framework.claims import WATCHED, Claim, Moment, blocks_of
from models.runtimes.plugin.state import Instance, State
from spec.claims.states import Mode
from spec.events.alphabet import Kind

__all__ = ["Blocks"]


class Blocks(Moment[State]):
    """The state of the plugin within one call, and what it emitted so far."""

    def __init__(self, model: Instance, state: State) -> None:
        super().__init__(state)
        self.model = model

    @property
    def live(self) -> list[Claim]:
        """The live claims, in the order of their acceptance."""
        return [self.model.claims[holder] for holder in self.state.live]

    @property
    def kept(self) -> list[Claim]:
        """The claims that can keep a request out."""
        return [claim for claim in self.live if claim.mode not in WATCHED]

    @property
    def overseen(self) -> list[Claim]:
        """The claims that are watched."""
        return [claim for claim in self.live if claim.mode in WATCHED]

    def copied(self, holder: str) -> bool:
        """Whether the tier has a copy of all blocks of an offloadable claim."""
        claim = self.model.claims[holder]
        copies = dict(self.state.copies).get(claim.object_id, 0)
        return claim.mode is Mode.OFFLOADABLE and copies >= claim.size

    def uncomputed(self) -> set[int]:
        """The blocks that are filed and not computed yet."""
        runs = (run for run in self.state.running if run.how == "runs")
        return {block for run in runs for block in run.blocks[run.start :]}

    def filed(self) -> dict[Content, list[int]]:
        """The blocks that are filed under each content, in that order."""
        return filed(self.state.cached, self.state.again)

    def file(self, contents: Mapping[int, Content]) -> None:
        """File blocks under contents, in this order."""
        there = self.filed()
        self.change(
            cached=tuple(contents.get(block, each) for block, each in enumerate(self.state.cached)),
            again=(*self.state.again, *(b for b, content in contents.items() if content in there)),
        )

    def unfile(self, blocks: Collection[int]) -> None:
        """Blocks hold nothing any more."""
        cached = (None if at in blocks else each for at, each in enumerate(self.state.cached))
        again = tuple(block for block in self.state.again if block not in blocks)
        self.change(cached=tuple(cached), again=again)

    def places(self) -> dict[Content, list[int]]:
        """The blocks that hold each content, in the order in which they were filed."""
        away = self.uncomputed()
        there = {at: [b for b in blocks if b not in away] for at, blocks in self.filed().items()}
        return {content: blocks for content, blocks in there.items() if blocks}

    def holds(self, claim: Claim, places: Collection[Content]) -> bool:
        """Whether a predicate is true of what blocks hold."""
        return all(content in places for content in claim.contents)

    def visible_of(self, name: str) -> int:
        """How many first blocks of an object are cached and computed."""
        places, at = self.places(), 0
        while (name, at) in places:
            at += 1
        return at

    def loading(self, name: str) -> bool:
        """Whether a load of blocks of an object is under way."""
        runs = (run for run in self.state.running if run.how == "loads")
        return any(self.model.prompts[run.name].object_id == name for run in runs)

    # Blocks are excluded from eviction, or ranked: enforce/.

    def _wanted(self) -> set[Content]:
        claims = self.kept if self.model.enforce else []
        return blocks_of(claim for claim in claims if not self.copied(claim.holder))

    def settle(self, contents: Iterable[Content]) -> None:
        """Hold one block of each of these contents that a claim wants kept."""
        wanted, places = self._wanted(), self.places()
        for content in contents:
            blocks = places.get(content, ())
            if content in wanted and blocks and not {*blocks} & {*self.state.held}:
                free = tuple(each for each in self.state.free if each != blocks[0])
                self.change(free=free, held=(*self.state.held, blocks[0]))

    def unhold(self, contents: Iterable[Content]) -> None:
        """Release the blocks of these contents that no claim wants kept any more."""
        wanted, at = self._wanted(), {self.state.cached[block]: block for block in self.state.held}
        gone = [at[content] for content in contents if content in at and content not in wanted]
        self.change(held=tuple(block for block in self.state.held if block not in gone))
        self.release(gone)

    def release(self, blocks: Iterable[int]) -> None:
        """Blocks lose a user; those without one go to the end of the queue, or to its front."""
        used = {*self.state.held, *(b for run in self.state.running for b in run.blocks)}
        back = (block for block in blocks if block not in used)
        self.change(free=freed(self.state.free, self.state.cached, back))

    def _on(self, block: int) -> list[Claim]:
        """The claims with a priority that own a block."""
        if block in self.uncomputed():
            return []
        content, live = self.state.cached[block], self.live
        return [each for each in live if each.priority is not None and content in each.contents]

    def _rank(self, block: int) -> int | None:
        return max((each.priority or 0 for each in self._on(block)), default=None)

    def ranks(self) -> dict[int, int | None]:
        """The ranks of the free blocks."""
        return {block: self._rank(block) for block in self.state.free}

    def rerank(self, before: dict[int, int | None], blocks: Iterable[int]) -> None:
        """Free blocks of which the rank changed go to the end of the queue of their rank."""
        moved = [
            b for b in blocks if self.model.enforce and b in before and before[b] != self._rank(b)
        ]
        self.change(free=(*(b for b in self.state.free if b not in moved), *moved))

    # Blocks are cached and lost: tracking/tracker.py, tracking/watched.py.

    def gain(
        self,
        claim: Claim,
        pairs: Sequence[tuple[Content, int]],
        by: str | None,
        *,
        whole: bool,
    ) -> None:
        """State that a claim gained blocks, and copies of them apart: `report_gained`.

        Args:
            whole: its predicate became true by it.
        """
        parts: list[dict[Content, int]] = []
        for content, block in pairs:
            part = next((part for part in parts if content not in part), None)
            if part is None:
                parts.append(part := {})
            part[content] = block
        for number, part in enumerate(parts):
            self.of(claim, Kind.BLOCK_CACHED, **_cached([*part.items()], by))
            if whole and number == 0:
                self.of(claim, Kind.CLAIM_MATERIALIZED)

    def place(
        self,
        pairs: Sequence[tuple[Content, int]],
        by: str | None,
        before: Collection[Content],
        loaded_for: Collection[str] = (),
    ) -> None:
        """Blocks now hold these contents: BlockTracker.place, and state_unclaimed.

        Args:
            before: the contents that blocks held before.
            loaded_for: the holders whose claims they were loaded for.
        """
        self.own([block for _, block in pairs])
        self.settle(content for content, _ in pairs)
        places = self.places()
        gained = {claim: [p for p in pairs if p[0] in claim.contents] for claim in self.live}
        first = {claim: pairs.index(own[0]) for claim, own in gained.items() if own}
        for claim in sorted(first, key=lambda each: (each.mode in WATCHED, first[each])):
            if claim.holder not in loaded_for:
                whole = self.holds(claim, places) and not self.holds(claim, before)
                self.gain(claim, gained[claim], by, whole=whole)
        owned = blocks_of(self.live)
        rest = [pair for pair in pairs if pair[0] not in owned]
        if rest:
            self.say(Kind.BLOCK_CACHED, **_cached(rest, by))

    def take(self, number: int, spare: Collection[int], name: str) -> tuple[int, ...]:
        """Take blocks from the queue for a request, and evict what they hold: get_new_blocks."""
        free = [block for block in self.state.free if block not in spare]
        ranked = self.model.enforce
        queue = sorted(
            free,
            key=lambda block: (self._rank(block) or 0) + 1 if ranked and self._on(block) else 0,
        )
        taken = tuple(queue[:number])
        victims = [block for block in taken if self.state.cached[block] is not None]
        left = [rank for b in queue[number:] if (rank := self._rank(b)) is not None]
        parts = [tuple(part) for _, part in groupby(victims, self._on)]
        lowest: list[int | None] = []
        for part in reversed(parts):
            ranks = [rank for block in part if (rank := self._rank(block)) is not None]
            left = [*left, *ranks]
            lowest.append(min(left) if ranks else None)
        self.change(free=tuple(block for block in self.state.free if block not in taken))
        for part, rank in zip(parts, reversed(lowest), strict=True):
            more = {} if rank is None else {"lowest_priority": rank}
            self.lose(Kind.BLOCK_EVICTED, part, request_id=name, block_ids=part, **more)
        return taken

    def own(self, blocks: Iterable[int] = ()) -> None:
        """Claims own blocks of their contents, these after those that they had: Ledger.place."""
        away, ledgers = self.uncomputed(), dict[str, tuple[int, ...]]()
        for name, its in (("owned", self.kept), ("watched", self.overseen)):
            contents = blocks_of(its)
            known = (*getattr(self.state, name), *blocks)
            there = (b for b in known if b not in away and self.state.cached[b] in contents)
            ledgers[name] = tuple(dict.fromkeys(there))
        self.change(**ledgers)

    def lose(self, kind: Kind, blocks: Collection[int] | None, **fields: Any) -> None:
        """Blocks (None: all) lose what they hold: state it, and report it: BlockTracker._removed.

        The reports are in the order of the blocks.
        """
        before, cached, state = self.places(), self.state.cached, self.state
        self.unfile(range(len(cached)) if blocks is None else blocks)
        after = self.places()
        self.own()
        self.say(kind, **fields)
        for of, claims in ((state.owned, self.kept), (state.watched, self.overseen)):
            gone = of if blocks is None else [block for block in blocks if block in of]
            pairs = [(block, content) for block in gone if (content := cached[block])]
            for claim, its in _losers(pairs, before, claims).items():
                fell = self.holds(claim, before) and not self.holds(claim, after)
                if claim.mode not in WATCHED:
                    if fell and not self.copied(claim.holder):
                        self.of(claim, Kind.CLAIM_HARMED)
                elif fell:
                    self.of(claim, Kind.CLAIM_UNMATERIALIZED)
                elif claim.priority is not None:
                    self.of(claim, Kind.CLAIM_BLOCK_LOST, block_ids=tuple(its))


def _losers(
    pairs: Iterable[tuple[int, Content]],
    before: Mapping[Content, Sequence[int]],
    claims: Sequence[Claim],
) -> dict[Claim, list[int]]:
    """The claims that lose a content, with the last blocks of such contents: Ledger.lose."""
    losers: dict[Claim, list[int]] = {}
    left = {content: len(there) for content, there in before.items()}
    for block, content in pairs:
        left[content] -= 1
        for claim in claims if not left[content] else ():
            if content in claim.contents:
                losers.setdefault(claim, []).append(block)
    return losers


def _cached(pairs: Sequence[tuple[Content, int]], by: str | None) -> dict[str, Any]:
    fields = {
        "block_ids": tuple(block for _, block in pairs),
        "positions": tuple(position for (_, position), _ in pairs),
    }
    return {**fields, "found": True} if by is None else {**fields, "request_id": by}
