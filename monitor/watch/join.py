"""Joins the KV events of one engine with a registry of claims.

A claim is registered with the judge once every key that its prefix needs was stated, and not before
it is in the registry. From then on each change of its predicate is reported for it, at the end of
the event that changed it. The judge compares these reports with the facts that the engine states.
Source: Fail-Closed Lowering of Resident KV Claims, table 5.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from monitor.input.kv_events.facts import Content
from monitor.input.kv_events.joined import Piece
from monitor.input.kv_events.runtimes import UNKNOWN
from monitor.input.records import Doubt
from monitor.watch.holdings import GONE, Copies, Holdings
from monitor.watch.prefixes import Prefixes
from monitor.watch.standing import Standing, State, ranges
from spec.claims.states import Mode
from spec.contract.facts import facts_of
from spec.contract.modes import MODES
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.stream.pool import FULL, GPU, Group, groups_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from monitor.input.kv_events.facts import Batch
    from monitor.watch.holdings import Stamp
    from monitor.watch.prefixes import Key, Node, Tree
    from monitor.watch.registry import Watching
    from spec.events.canonical import CacheGroup

__all__ = ["Change", "Join"]

_OBSERVES: Final = frozenset().union(*map(facts_of, MODES[Mode.BEST_EFFORT].bundle()))
"""The kinds of facts of which a join states each one, at its observation point: the end of each KV
event (docs/decisions/0031).
"""

_VEILED: Final = "blocks are stored without tokens, under hashes that belong to no known prefix"
_CONTRADICTED: Final = "a block that was not held was removed"


class Change(NamedTuple):
    """The state of a claim changed with a batch, or it is the first; `lost`: this is a loss."""

    join: Join
    standing: Standing
    lost: bool = False


@dataclass(slots=True)
class _Touched:
    """A claim as it was before an event, the positions that the event took from it, and whether it
    contradicts what was known of the claim.
    """

    was: State
    held: int
    lost: list[int] = field(default_factory=list)
    contradicted: bool = False


@dataclass(slots=True)
class _Moved:
    """What one batch did to a claim: the positions that it took, whether the cache was cleared, and
    whether the claim was absent in between.
    """

    lost: set[int] = field(default_factory=set)
    is_cleared: bool = False
    was_absent: bool = False
    contradicted: bool = False


class _Pieces:
    """The events of a batch, cut where a claim becomes inconclusive."""

    def __init__(self) -> None:
        self._done: list[Piece] = []
        self.events: list[Event] = []

    def cut(self, *claims: Doubt) -> None:
        """Claims are inconclusive after the events so far."""
        self._done.append(Piece(tuple(self.events), claims))
        self.events.clear()

    def all(self) -> list[Piece]:
        """The pieces, with the rest of the events as the last."""
        return [*self._done, Piece(tuple(self.events))]


class Join:
    """One stream of KV events, and the claims on its engine.

    Args:
        tree: the prefixes of the claims.
        on_change: called with each change.

    Attributes:
        standings: what is known of each claim, by its id.
        prefixes: the keys of the registered prefixes, as far as the stream states them.
        holdings: the blocks of registered prefixes that the engine holds, by tier.
        breaks: how often batches were missing, or not understood; `first_break` says why, first.
        contradictions: how often hashes contradicted each other; `last_contradiction` says how.
        doubts: how often a claim became inconclusive alone.
        runtime: the one that published the last batch.
        joined: stores of blocks that belong to registered prefixes.
        now_ns: the time of the last batch, on the engine's wall clock; 0 before the first.
        is_open: whether a batch was read that is not older than the registry.
        paused: why batches may be missing after the last one; empty if there is no such reason.
        hides: what the events do not state of the content of blocks; empty if there is no such
            thing.
    """

    observes = _OBSERVES

    def __init__(
        self, watching: Watching, tree: Tree, stream: str, on_change: Callable[[Change], None]
    ) -> None:
        self.stream, self._on_change = stream, on_change
        self._since_ns, self._paths = watching.since_ns, tree.paths
        self.prefixes = Prefixes(tree)
        self.standings = {name: Standing(claim) for name, claim in watching.claims.items()}
        self.holdings, self.runtime = Holdings(), UNKNOWN
        self.breaks, self.first_break = 0, ""
        self.contradictions, self.last_contradiction = 0, ""
        self.joined = self.doubts = self.now_ns = 0
        self.is_open = self._is_settled = False
        self.paused = self.hides = ""
        self._groups: dict[int, Group] = {0: FULL}
        self._touched: dict[Standing, _Touched] = {}

    # What is known.

    def begin(
        self, batch: Batch, groups: Iterable[CacheGroup], unknown: str, *, again: bool
    ) -> None:
        """Begin a run of the stream.

        Args:
            batch: the first one of the run.
            groups: the groups of caches of the engine.
            unknown: why the contents of the cache are not known; empty if the cache is empty.
            again: the engine was restarted, so it lost its cache and may hash with another seed.
        """
        self._groups = groups_of(groups)
        if again:
            self.prefixes.forget()
        self._forget(batch, unknown)
        if self._is_settled:  # the first change is that of the first batch
            self._settle(unknown or "the engine was started again")

    def lose(self, batch: Batch, why: str) -> None:
        """Forget the contents of the cache: batches are missing, or one was not understood."""
        self.breaks += 1
        self.first_break = self.first_break or why
        self.is_open |= (batch.time_ns or 0) >= self._since_ns
        self._forget(batch, why)
        self._settle(why)

    def pause(self, why: str) -> None:
        """Make every claim unknown until the next batch: others may be missing before it."""
        self.paused = self.paused or why
        for standing in self.standings.values():
            if standing.pause(self.now_ns, why):
                self._on_change(Change(self, standing))

    def learn(self, batch: Batch) -> str:
        """Learn the keys of prefixes from a batch.

        Returns:
            Why keys contradict each other, or why the batch cannot be compared with the prefixes;
            otherwise an empty text.
        """
        self.runtime = batch.runtime
        if batch.runtime.hides:
            self.hides = f"{batch.runtime.name} states no {batch.runtime.hides}"
        contents = batch.contents
        if contents is None:  # the form states keys alone
            stores = [each for each in batch.events if each.kind is Kind.BLOCK_CACHED]
            contents = [Content(e.keys, None, (), 0, e.group or 0, None) for e in stores]
        blind, veiled = len(self.prefixes.blind), len(self.prefixes.veiled)
        why = self.prefixes.learn(contents)
        if why and len(self.prefixes.blind) == blind:
            self.contradictions += 1
            self.last_contradiction = why
            self.prefixes.forget()
        named = self.prefixes.named()
        if why:  # everything is counted again
            return why
        if len(self.prefixes.veiled) > veiled:
            self.now_ns = max(self.now_ns, batch.time_ns or 0)
            self._recount()  # a claim that the judge knows needs no block that is veiled
            if self._is_settled:
                self._settle(_VEILED)
            return ""
        for group in self.prefixes.veiled & self._groups.keys():
            for node in named:
                self._count(group, node, None, self._has(group, node))
        return ""

    def _forget(self, batch: Batch, unknown: str) -> None:
        self.now_ns = max(self.now_ns, batch.time_ns or 0)
        self.holdings.read(batch.time_ns, None)
        self.holdings.forget(unknown)
        for standing in self.standings.values():
            standing.registered, standing.doubted = False, ""
            standing.tiers.clear()
        self._recount()

    def _recount(self) -> None:
        """Count the blocks of every claim again.

        With windows, a hit on a longer part of a prefix may be possible where one on the needed
        part is not: a claim on a part is not evaluated then.
        """
        windows = any(group.kind != "full" for group in self._groups.values())
        for name, standing in self.standings.items():
            path = self._paths[name]
            standing.undecidable = windows and standing.claim.is_part
            found = [
                self._has(number, path[at])
                for number, group in self._groups.items()
                for at in group.needs(0, len(path))
            ]
            standing.needed = len(found)
            standing.held, standing.gone = found.count(True), found.count(False)
            if standing.undecidable:
                standing.held = standing.gone = 0

    def _settle(self, why: str) -> None:
        for standing in self.standings.values():
            self._move(standing, why)

    def _copies(self, group: int, node: Node) -> Copies:
        key = self.prefixes.key(node)
        found = None if key is None else self.holdings.copies(group, key)
        if found is None:
            hidden = self.holdings.unknown or self.prefixes.hides(group, node)
            return Copies.PERHAPS if hidden else Copies.NONE
        return found

    def _has(self, group: int, node: Node) -> bool | None:
        """Whether the GPU has a block; None where that is not known."""
        return self._copies(group, node).is_held

    def has(self, tier: str, key: Key) -> bool | None:
        """Whether a tier has the block of a key that a registered prefix has, or had in the run
        before, in the first group of caches; None if that is not known.
        """
        hidden = tier == GPU and 0 in self.prefixes.blind and self.holdings.copies(0, key) is None
        return None if self.paused or hidden else self.holdings.has(tier, 0, key)

    @property
    def has_one_group(self) -> bool:
        """Whether the engine has one group of caches, with full attention."""
        return [*self._groups] == [0] and self._groups[0].kind == "full"

    @property
    def is_whole(self) -> bool:
        """Whether the engine was read from its beginning, or from a reset of its cache, on, with
        no gap, and was judged meanwhile.
        """
        prefixes = self.prefixes
        hidden = self.holdings.unknown or prefixes.faults or prefixes.veiled
        return self.is_open and not (hidden or self.breaks or self.paused)

    def why_unjudged(self, standing: Standing) -> str:
        """Why a claim was never registered with the judge."""
        if not self.is_open:
            return f"all batches of {self.stream} are older than the registry"
        if standing.undecidable:
            return "with sliding windows, a claim needs its whole prefix: leave out predicate"
        faults = (
            next((fault.why for fault in self.prefixes.faults), "")
            or self.first_break
            or self.paused
        )
        veiled = _VEILED if self.prefixes.veiled else ""
        return faults or veiled or "not all of their blocks were stored"

    # Batches.

    def take(self, batch: Batch, number: int) -> list[Piece]:
        """Return the events of a batch about registered prefixes, with the reports on claims."""
        self.now_ns = max(self.now_ns, batch.time_ns or 0)
        self.holdings.read(batch.time_ns, number)
        pieces = _Pieces()
        if self.paused:
            self.paused = ""
            self._settle("")
        if not self.is_open and (batch.time_ns or 0) >= self._since_ns:
            self.is_open = True
            for standing in self.standings.values():
                standing.restart(self.now_ns)
                self._register(standing, pieces, is_held=standing.now is State.HELD)
        stored = sum(len(e.keys) for e in batch.events if e.kind is Kind.BLOCK_CACHED)
        place, others = f" in batch {number}", f", which stored {stored} blocks" if stored else ""
        moved: dict[Standing, _Moved] = {}
        for event in batch.events:
            mine = self._about_prefixes(event)
            if mine is None:
                continue
            self._apply(mine)
            touched, self._touched = self._touched, {}
            doubtful = [
                each
                for each, found in touched.items()
                if found.contradicted or each.now is State.UNKNOWN
            ]
            if any(found.contradicted for found in touched.values()):
                self.breaks += 1
                self.first_break = self.first_break or _CONTRADICTED
            if doubts := [
                self._doubt(each, touched[each])
                for each in doubtful
                if each.registered and not each.doubted
            ]:
                pieces.cut(*doubts)
            for standing in touched:
                self._register(standing, pieces)
            pieces.events.append(mine)
            for standing, before in touched.items():
                pieces.events += self._reported(standing, before)
                found = moved.setdefault(standing, _Moved())
                found.lost.update(before.lost)
                found.is_cleared |= not mine.keys
                found.contradicted |= before.contradicted
                found.was_absent |= standing.now is State.ABSENT
        for standing, found in moved.items():
            self._move(standing, _why(standing, found, place, others), found.was_absent)
        if not self._is_settled:
            self._is_settled = True
            self._settle(self.holdings.unknown)
        return pieces.all()

    def counts(self, standing: Standing) -> tuple[int, int]:
        """Of the blocks that a claim needs, those that are held, and those that are unknown."""
        if self.paused:
            return 0, standing.needed
        return standing.held, standing.needed - standing.held - standing.gone

    def leading(self, standing: Standing) -> int | None:
        """The blocks that a hit would find, from the first one on; None where groups of caches have
        windows, so that this is another question.
        """
        if self.paused or any(group.kind != "full" for group in self._groups.values()):
            return None
        path = self._paths[standing.claim.claim_id]
        held = (all(self._has(group, node) is True for group in self._groups) for node in path)
        return next((at for at, each in enumerate(held) if not each), len(path))

    def stamps(self, standing: Standing) -> list[Stamp]:
        """When each block that a hit would find changed last, from the first one on."""
        path = self._paths[standing.claim.claim_id][: self.leading(standing) or 0]
        keys = [key for key in map(self.prefixes.key, path) if key is not None]
        return [self.holdings.stamps.of(GPU, 0, key) for key in keys]

    def _about_prefixes(self, event: Event) -> Event | None:
        """The event, as far as it is about blocks of registered prefixes; None where it is not."""
        if not event.keys:
            return event
        self.holdings.stated.add(event.tier or GPU)
        nodes, group = self.prefixes.nodes, event.group or 0
        keys = tuple([key for key in event.keys if key in nodes])
        if event.kind is Kind.HOST_COPY_LOST:  # the judge knows only copies that were stored
            tier = event.tier or ""
            keys = tuple([key for key in keys if self.holdings.has_copy(tier, group, key)])
        return msgspec.structs.replace(event, keys=keys) if keys else None

    def _apply(self, event: Event) -> None:
        group, gone = event.group or 0, event.kind in GONE
        if not event.keys:
            self._clear(event.tier or GPU)
        for key in event.keys:
            node = self.prefixes.nodes[key]
            if event.tier is None:
                before = self._copies(group, node)
                if gone and before is Copies.NONE:  # a copy of it was missed
                    for name in node.claims:
                        self._touch(self.standings[name]).contradicted = True
                self._put(group, key, before.removed() if gone else before.stored())
            else:
                self._copy(event.tier, group, node, key, add=not gone)
        self.joined += 0 if gone else len(event.keys)

    def _put(self, group: int, key: Key, copies: Copies) -> None:
        """The GPU has so many copies of a key."""
        node = self.prefixes.nodes[key]
        was = self._has(group, node)
        self.holdings.put(group, key, copies)
        self._count(group, node, was, self._has(group, node))

    def _count(self, group: int, node: Node, was: bool | None, now: bool | None) -> None:
        """The GPU has a block, or not, or perhaps; before, it was otherwise."""
        for name in node.claims if was is not now else ():
            path = self._paths[name]
            if node.position in self._groups.get(group, FULL).needs(0, len(path)):
                standing = self.standings[name]
                if standing.undecidable:
                    continue
                touched = self._touch(standing)
                standing.held += (now is True) - (was is True)
                standing.gone += (now is False) - (was is False)
                if was is True:
                    touched.lost.append(node.position)

    def _copy(self, tier: str, group: int, node: Node, key: Key, *, add: bool) -> None:
        """Another tier has a copy of a key, or has none any more."""
        changed = self.holdings.copy(tier, group, key, add=add)
        for name in node.claims if changed else ():
            tiers = self.standings[name].tiers
            tiers[tier] = tiers.get(tier, 0) + (1 if add else -1)
            if not tiers[tier]:
                del tiers[tier]

    def _touch(self, standing: Standing) -> _Touched:
        found = self._touched.get(standing)
        if found is None:
            found = self._touched[standing] = _Touched(standing.now, standing.held)
        return found

    def _clear(self, tier: str) -> None:
        """Empty a tier. When the GPU is cleared, every key is known to be absent from it."""
        if tier != GPU:
            self.holdings.clear(tier)
            for standing in self.standings.values():
                standing.tiers.pop(tier, None)
            return
        for standing in self.standings.values():
            self._touch(standing)
        self.holdings.clear(GPU)
        self._recount()

    # Claims.

    def _register(self, standing: Standing, to: _Pieces, *, is_held: bool = False) -> None:
        """Register a claim, if everything is known that it needs.

        Args:
            is_held: report that it is held, too.
        """
        if standing.registered or not (self.is_open and standing.is_known):
            return
        claim, path = standing.claim, self._paths[standing.claim.claim_id]
        keys = tuple([key for key in map(self.prefixes.key, path) if key is not None])
        if len(keys) < len(path):
            return
        standing.registered = True
        standing.periods += 1
        to.events.append(
            Event(
                kind=Kind.CLAIM_REGISTERED,
                claim_id=claim.claim_id,
                mode=claim.mode,
                owner_scope=claim.owner,
                priority=claim.priority,
                cache_identity=claim.identity,
                object_id=claim.prefix,
                predicate=claim.predicate,
                footprint=len(path),
                keys=keys,
            )
        )
        if is_held:
            to.events.append(_report(Kind.CLAIM_MATERIALIZED, standing))
        if claim.mode is Mode.SOFT_PRIORITY:
            to.cut(_open(standing))

    def _reported(self, standing: Standing, before: _Touched) -> list[Event]:
        """What is reported of a claim that the judge knows, after an event."""
        if not standing.registered or standing.doubted:
            return []
        was, now = before.was is State.HELD, standing.now is State.HELD
        kind = None
        if now and not was:
            kind = Kind.CLAIM_MATERIALIZED
        elif was and not now:
            kind = Kind.CLAIM_UNMATERIALIZED
        elif standing.claim.mode is Mode.SOFT_PRIORITY and standing.held < before.held:
            kind = Kind.CLAIM_BLOCK_LOST
        return [] if kind is None else [_report(kind, standing)]

    def _doubt(self, standing: Standing, touched: _Touched) -> Doubt:
        """A block may be held or not: one copy was removed, of perhaps several."""
        why = "a removal may be of one of several copies of a block"
        standing.doubted = _CONTRADICTED if touched.contradicted else why
        self.doubts += not touched.contradicted
        return Doubt(standing.doubted, standing.claim.claim_id)

    def _move(self, standing: Standing, why: str, was_absent: bool = False) -> None:
        losses = standing.losses
        if standing.move(self.now_ns, why, was_absent=was_absent):
            lost = self.is_open and standing.losses > losses
            self._on_change(Change(self, standing, lost))


def _open(standing: Standing) -> Doubt:
    """The influence of a priority cannot be judged: it stands in the registry alone."""
    why = "KV events state no priorities, nor which other blocks could have been evicted"
    return Doubt(why, standing.claim.claim_id, frozenset({"priority_influence"}))


def _report(kind: Kind, standing: Standing) -> Event:
    return Event(kind=kind, claim_id=standing.claim.claim_id)


def _why(standing: Standing, moved: _Moved, place: str, others: str) -> str:
    """Why blocks of a claim are not held any more after a batch."""
    if moved.is_cleared:
        return f"all blocks were cleared{place}"
    if moved.contradicted:
        return f"{_CONTRADICTED}{place}"
    if not moved.lost:
        return ""
    blocks = "block" if len(moved.lost) == 1 else "blocks"
    named = f"{blocks} {ranges(moved.lost)}"
    if standing.now is State.UNKNOWN:
        return f"{named}: one copy removed{place}, and another may be left"
    return f"{named} removed{place}{others}"
