"""Follows what each block of a pool holds in a trace, to find what prompts begin with.

A content is what a block holds: the object, or the prompt of which it is an own part, and the
position in the prompt. What a request did not compute it found, so its prompt begins like an
earlier one of which all these blocks are cached. There may be several, which are options. What is
cached of none is new: whether it was there once before shows nowhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from models.framework.blocks import Content
from models.framework.joins import Joins
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.errors import SpecError

__all__ = ["Beginning", "Guess", "Prompt", "own_part"]

_Chain: TypeAlias = tuple[Content, ...]

_OWN = "own "


def own_part(owner: str) -> str | None:
    """The request of which an owner of contents is the own part; None where it is an object."""
    return owner.removeprefix(_OWN) if owner.startswith(_OWN) else None


class Beginning(NamedTuple):
    """An option: the first contents of a prompt, and whose the contents behind them are.

    `size` is the number of its whole blocks, where nothing shows it later.
    """

    first: _Chain
    owner: str
    size: int | None = None


@dataclass
class Prompt:
    """What a trace shows of a request: its need, and what it looked up, computed and loaded.

    `start` is the first position that it computed or loaded, `size` the number of its whole blocks.
    """

    name: str
    object_id: str
    needed: int
    there: frozenset[int]  # the positions of its object that were cached when it arrived
    claims: frozenset[str]  # those that were live when it arrived: its need leaves out their blocks
    spared: int = 0  # blocks of claims, which its need leaves out
    shares: int = 0  # blocks that it shares with claims
    start: int | None = None
    size: int = 0
    begins: Beginning | None = None
    before: frozenset[Content] = frozenset()  # what was cached when it took blocks
    took: bool = False
    ended: bool = False

    @property
    def blocks(self) -> int:
        """All its blocks."""
        return self.needed + self.spared

    @property
    def contents(self) -> _Chain:
        """What its whole blocks hold, as far as it is known."""
        return tuple(map(self.content, range(self.size)))

    def content(self, at: int) -> Content:
        """What its block at a position holds."""
        if self.begins is None:
            raise SpecError(f"what request {self.name} begins with is undetermined")
        first, owner, _ = self.begins
        return first[at] if at < len(first) else (owner, at)

    def spare(self, asked: int) -> None:
        """Its need leaves out the first blocks that claims own, as the plugin's ledger counts them.

        A claimed block behind a gap is there, but the request cannot reach it, and needs its own.
        """
        gap = min({*range(asked)} - self.there, default=asked)
        behind = sum(gap < at < asked for at in self.there)
        self.spared = max(self.spared, asked - behind)


class Guess:
    """What blocks hold after some facts, by what was chosen where a trace leaves something open."""

    def __init__(self, joins: Joins) -> None:
        self._joins = joins
        self._holds: dict[int | str, Content] = {}
        self._taken: dict[int | str, str] = {}  # the request that a block was evicted for
        self._live: set[str] = set()
        self.prompts: dict[str, Prompt] = {}

    def copy(self) -> Guess:
        """Another one, for another option."""
        other = copy(self)
        other._holds, other._taken = dict(self._holds), dict(self._taken)
        other._live = set(self._live)
        other.prompts = {name: copy(each) for name, each in self.prompts.items()}
        return other

    def options(self, event: Event) -> list[Beginning | None]:
        """What the prompt that a fact is about may begin with; [None] where it opens nothing."""
        prompt = self._fills(event)
        if prompt is not None and prompt.begins is None:
            return [*self._of_first(prompt, event.positions[0])]
        if event.kind is Kind.REQUEST_FINISHED:
            prompt = self.prompts.get(event.request_id or "")
            if prompt is not None and prompt.begins is None:
                return [*dict.fromkeys(self._of_nothing(prompt))]
        return [None]

    def take(self, event: Event, option: Beginning | None) -> None:
        """Take in a fact, with one of its options.

        Raises:
            SpecError: a look-up is for no claim of the trace.
        """
        name = event.request_id or ""
        prompt, filled = self.prompts.get(name), self._fills(event)
        if filled is not None:
            filled.begins = filled.begins or option
            at = event.positions[0]
            filled.start = at if filled.start is None else min(filled.start, at)
            filled.size = max(filled.size, at + 1)
            self._holds[event.block_ids[0]] = filled.content(at)
        elif event.kind is Kind.REQUEST_ARRIVED:
            own = self._joins.object_of(f"request {name}")
            there = frozenset(at for owner, at in self._holds.values() if owner == own)
            needed, live = self._joins.needs[name], frozenset(self._live)
            self.prompts[name] = Prompt(name, own, needed, there, live)
        elif event.kind is Kind.CLAIM_REGISTERED:
            self._live.add(event.claim_id or "")
        elif event.kind is Kind.CLAIM_RETIRED:
            self._live.discard(event.claim_id or "")
        elif event.kind in (Kind.BLOCK_EVICTED, Kind.BLOCK_LOST):
            if prompt is not None and not prompt.took:
                prompt.took, prompt.before = True, frozenset(self._holds.values())
            for block in event.block_ids or tuple(self._holds):
                self._holds.pop(block, None)
                self._taken[block] = name
        elif event.kind is Kind.PREFIX_LOOKUP and prompt is not None:
            self._look_up(prompt, event)
        elif event.kind is Kind.REQUEST_FINISHED and prompt is not None:
            prompt.ended = True
            if option is not None:
                prompt.begins, prompt.size = option, option.size or 0

    def _look_up(self, prompt: Prompt, event: Event) -> None:
        asked, claim = event.asked or 0, self._joins.claims.get(event.claim_id or "")
        if claim is None:
            said = f"a look-up of {prompt.name} is for no claim that the stream registers"
            raise SpecError(said)
        prompt.shares = max(prompt.shares, asked)
        left_out = event.claim_id in prompt.claims and prompt.name not in self._joins.whole
        if claim.spares and left_out:
            prompt.spare(asked)

    def _fills(self, event: Event) -> Prompt | None:
        """The request by which or for which a block holds something from now on."""
        if not event.positions:
            return None
        if event.kind is Kind.BLOCK_CACHED:
            return self.prompts.get(event.request_id or "")
        if event.kind is not Kind.LOAD_FINISHED:
            return None
        by = self.prompts.get(self._taken.get(event.block_ids[0], ""))
        if by is None or by.ended:
            return next((each for each in self.prompts.values() if not each.ended), None)
        return by

    # What a prompt may begin with.

    def _of_first(self, prompt: Prompt, at: int) -> Iterator[Beginning]:
        """The options of a prompt of which the first block that was not found is this one."""
        own, cached = prompt.object_id, {*self._holds.values()}
        limit, certain = self._joins.limits.get(prompt.name, (-1, False))
        limited = Beginning(tuple((own, n) for n in range(limit)), f"{_OWN}{prompt.name}")
        if certain and at <= limit:
            yield limited
            return
        chains = self._cached(at, cached)
        if own in self._joins.objects.values():
            chains = [each for each in chains if each[:1] in ((), ((own, 0),))]
            chains = chains or [tuple((own, place) for place in range(at))]
        for chain in chains:
            goes_on = chain[-1][0] if chain else own
            if prompt.shares > at:
                yield Beginning(chain, own)
                if limit > at:
                    yield limited
                continue
            next_ones = self._behind(chain, cached | prompt.before)
            last = at + 1 >= prompt.blocks
            if (goes_on, at) not in next_ones:
                yield Beginning(chain, goes_on)
            if last:  # it is computed although it is there
                yield from (Beginning(chain, owner) for owner, _ in next_ones)
            if chain and next_ones:
                yield Beginning(chain, f"{_OWN}{prompt.name}")

    def _cached(self, at: int, cached: Collection[Content]) -> list[_Chain]:
        """The first contents of prompts, so many, where all are cached; the nearest first."""
        found: dict[_Chain, int] = {}
        for each in self.prompts.values():
            contents = each.contents if each.begins is not None else ()
            leading = next((n for n, c in enumerate(contents) if c not in cached), len(contents))
            if leading >= at:
                chain = contents[:at]
                found[chain] = min(leading, found.get(chain, leading))
        return sorted(found, key=found.__getitem__) if at else [()]

    def _behind(self, chain: _Chain, cached: Collection[Content]) -> list[Content]:
        """The contents that are cached behind these first ones."""
        at = len(chain)
        known = (each.contents for each in self.prompts.values() if each.begins is not None)
        longer = (each for each in known if len(each) > at and each[:at] == chain)
        return [*dict.fromkeys(each[at] for each in longer if each[at] in cached)]

    def _of_nothing(self, prompt: Prompt) -> Iterator[Beginning]:
        """The options of a request that ends, and nothing that it computed or loaded was cached.

        Either all its blocks are whole, or the last one is not.
        """
        own, blocks = prompt.object_id, prompt.blocks
        known = [each.contents for each in self.prompts.values() if each.begins is not None]
        away = [each for each in known if len(each) == blocks]
        chains = [*away, *self._cached(blocks - 1, {*self._holds.values()}), ()]
        if own in self._joins.objects.values():
            chains = [(), *(each for each in chains if each[:1] == ((own, 0),))]
        for size in (blocks, blocks - 1):
            for chain in chains if size else ():
                yield Beginning(chain[:size], chain[-1][0] if chain else own, size)
