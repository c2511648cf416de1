"""Steps the reference projection part by part, and remembers what an event makes of each part.

A configuration of `Stepper` is taken apart: the pool and its claims, with blocks under numbers that
say only which is which; the requests; what each request came to under the tracked claim; and which
blocks the numbers stand for. The stepper takes in an event itself. Which requests it read is
observed, so that the result is used again wherever all that it read is the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from spec.events.canonical import Event
from spec.language.verdicts import Verdict
from spec.projection.pool import Request
from spec.projection.scopes import NOTHING, Effect, Entwined, Scopes
from spec.projection.stepper import RANK, UNSAID, Frozen, Stepper
from spec.projection.values import Values

__all__ = ["Config", "Parts"]

_Cell: TypeAlias = tuple[Any, ...] | None
"""A request, with the places of the responsible claims that were there when it arrived."""

_Alike: TypeAlias = tuple[tuple[int, int], ...]
"""Bounds between which numbers of blocks hold the same."""

_STOOD: Final = 1
_IN_HAND: Final = 2
_NOBODY: Final = frozenset[int]()


class Config(NamedTuple):
    """A configuration by the numbers of its parts."""

    world: int
    requests: int
    scopes: int
    blocks: int


class _World(NamedTuple):
    """A pool with its claims, without the order in which claims and requests came.

    `responsible` are the places of the claims for which the runtime is responsible.
    """

    placed: frozenset[Any]
    claims: Frozen
    cases: Frozen
    before: Frozen | None
    responsible: frozenset[int]
    alike: _Alike


class _Change(NamedTuple):
    """Requests that are others after an event, and claims that are not responsible any more."""

    cells: tuple[tuple[int, _Cell], ...]
    gone: frozenset[int]


class _Leaf(NamedTuple):
    """What an event comes to; `order` has of each block the number that it had before."""

    world: int
    change: int
    befell: int
    order: int


class _Read(NamedTuple):
    """What an event comes to, by the value of the request that is read next."""

    at: int
    following: dict[int, Any]


class _Watched(MutableMapping[str, Request]):
    """Requests that remember which of all names were read, in their order, and which written."""

    def __init__(self, known: MutableMapping[str, Request], names: Iterable[str]) -> None:
        self.known, self._names = dict(known), tuple(names)
        self.read: dict[str, None] = {}
        self.written: set[str] = set()

    def __getitem__(self, name: str) -> Request:
        if name in self._names and name not in self.written:
            self.read[name] = None
        return self.known[name]

    def __setitem__(self, name: str, request: Request) -> None:
        self.written.add(name)
        self.known[name] = request

    def __delitem__(self, name: str) -> None:
        self.written.add(name)
        del self.known[name]

    def __iter__(self) -> Iterator[str]:
        self.read_all()
        return iter(self.known)

    def __len__(self) -> int:
        self.read_all()
        return len(self.known)

    def read_all(self) -> None:
        """All of them are read, whether they are known or not."""
        self.read |= dict.fromkeys(name for name in self._names if name not in self.written)


class Parts:
    """A stepper whose configurations are numbers. It follows one obligation of one claim.

    `first` is the configuration before any event.
    """

    def __init__(self, stepper: Stepper) -> None:
        self._stepper = stepper
        self._names = tuple(sorted(stepper.requests))
        self._tracked, self._case = next(iter(stepper.cases.items()))
        self._scopes = Scopes(self._case)
        self._worlds: Values[_World] = Values()
        self._own: Values[Frozen] = Values()
        self._cases: list[int] = []  # of each world that of the tracked claim
        self._cells: Values[_Cell] = Values()
        self._requests: Values[tuple[int, ...]] = Values()
        self._blocks: Values[tuple[int, ...]] = Values()
        self._events: Values[Event] = Values()
        self._changes: Values[_Change] = Values()
        self._roles: Values[Hashable] = Values()
        self._orders: Values[tuple[tuple[int, ...], _Alike]] = Values()
        self._named: dict[tuple[int, int], tuple[int, int]] = {}
        self._ordered: dict[tuple[int, int], int] = {}
        self._renamed: dict[tuple[int, _Alike, tuple[int, ...]], int] = {}
        self._steps: dict[tuple[int, int], Any] = {}  # _Read or _Leaf
        self._changed: dict[tuple[int, int], int] = {}
        self._effects: dict[tuple[int, Effect], int] = {}
        self._verdicts: dict[tuple[int, int], Verdict] = {}
        self.first = self._apart(stepper.frozen(), ())

    def number(self, event: Event) -> int:
        """The number of an event."""
        return self._events.number(event)

    def after(self, config: Config, event: int) -> Config:
        """The configuration after the event of a number; raises what the stepper raises."""
        world, requests, scopes, blocks = config
        local, blocks = self._named.get((blocks, event)) or self._name(blocks, event)
        step = self._steps.get((world, local))
        if not isinstance(step, _Leaf):
            cells = self._requests[requests]
            while isinstance(step, _Read):
                step = step.following.get(cells[step.at])
            if step is None:
                try:
                    step = self._take(config, local)
                except Entwined:
                    return self._take_whole(config, local, blocks)
        world, change, befell, order = step
        scopes, effect = self._scopes.after(scopes, befell)
        if effect is not NOTHING:
            world = self._affected(world, effect)
        changed = self._changed.get((requests, change))
        ordered = self._ordered.get((blocks, order))
        return Config(
            world,
            self._change(requests, change) if changed is None else changed,
            scopes,
            self._in_order(blocks, order) if ordered is None else ordered,
        )

    def verdict(self, config: Config) -> Verdict:
        """What the obligation of the tracked claim comes to."""
        key = self._cases[config.world], config.scopes
        found = self._verdicts.get(key)
        if found is None:
            case, *_ = self._worlds[config.world].cases
            found = self._verdicts[key] = self._scopes.verdict(case, config.scopes)
        return found

    def renamed(self, config: Config, names: tuple[int, ...]) -> Config:
        """The configuration where blocks have these names instead."""
        world, requests, scopes, blocks = config
        alike = self._worlds[world].alike
        key = blocks, alike, names
        found = self._renamed.get(key)
        if found is None:
            named = [names[each] for each in self._blocks[blocks]]
            found = self._renamed[key] = self._blocks.number(_sorted(named, alike))
        return Config(world, requests, scopes, found)

    def relabelled(self, config: Config, names: Mapping[str, str]) -> Config:
        """The configuration where claims, requests and what belongs to them are called so instead.

        Raises:
            Asymmetric: a register has the number of such a name.
        """
        blocks = range(1 + max(self._blocks[config.blocks], default=-1))
        frozen = self._stepper.relabelled(self.frozen(config), names)
        return self._apart(frozen, tuple(blocks))

    def frozen(self, config: Config) -> Frozen:
        """What the stepper would return for it, but for the numbers of claims and requests."""
        return self._stepper.renamed(self._whole(config), self._blocks[config.blocks])

    # An event.

    def _name(self, blocks: int, event: int) -> tuple[int, int]:
        """The event with numbers of blocks, and the blocks with those that it states."""
        stated = self._events[event]
        known = tuple(dict.fromkeys((*self._blocks[blocks], *stated.block_ids)))
        numbers = {block: number for number, block in enumerate(known)}
        ids = tuple(numbers[block] for block in stated.block_ids)
        local = msgspec.structs.replace(stated, block_ids=ids)
        found = self._events.number(local), self._blocks.number(known)
        self._named[blocks, event] = found
        return found

    def _take(self, config: Config, event: int) -> _Leaf:
        """What an event comes to by the stepper, with the claim without scopes.

        Raises:
            Entwined: something reads the scopes.
        """
        old, stepper = self._worlds[config.world], self._stepper
        self._scopes.written()
        stepper.cases[self._tracked] = self._scopes.recorder
        try:
            stepper.thaw(self._whole(config, scoped=False))
            watched = _Watched(stepper.pool.requests, self._names)
            stepper.pool = replace(stepper.pool, requests=watched)
            if old.before is not None:
                watched.read_all()
            stepper.take(self._events[event])
            stepper.pool = replace(stepper.pool, requests=watched.known)
            frozen = stepper.frozen()
        finally:
            stepper.cases[self._tracked] = self._case
        if frozen[-1] is not None:
            watched.read_all()
        world, cells, order = self._world(frozen)
        gone = old.responsible - self._worlds[world].responsible
        before, changes = self._requests[config.requests], []
        for at, (name, cell) in enumerate(zip(self._names, cells, strict=True)):
            if cell == _without(self._cells[before[at]], gone):
                continue
            if name not in watched.read and name not in watched.written:
                raise AssertionError(f"{name} changed, and was not read")
            changes.append((at, cell))
        change = self._changes.number(_Change(tuple(changes), gone))
        numbers = self._orders.number((order, self._worlds[world].alike))
        leaf = _Leaf(world, change, self._scopes.written(), numbers)
        self._remember((config.world, event), [*map(self._names.index, watched.read)], before, leaf)
        return leaf

    def _remember(
        self, key: tuple[int, int], read: list[int], cells: tuple[int, ...], leaf: _Leaf
    ) -> None:
        """The same was read of these requests, in this order, wherever their values are these."""
        if not read:
            self._steps[key] = leaf
            return
        step = self._steps.setdefault(key, _Read(read[0], {}))
        for at in read[1:]:
            step = step.following.setdefault(cells[step.at], _Read(at, {}))
        step.following[cells[step.at]] = leaf

    def _take_whole(self, config: Config, event: int, blocks: int) -> Config:
        """What an event comes to by the stepper, with everything."""
        self._stepper.thaw(self._whole(config))
        self._stepper.take(self._events[event])
        return self._apart(self._stepper.frozen(), self._blocks[blocks])

    def _affected(self, world: int, effect: Effect) -> int:
        key = world, effect
        found = self._effects.get(key)
        if found is None:
            value = self._worlds[world]
            first, *rest = value.cases
            after = value._replace(cases=(effect.on(first), *rest))
            found = self._effects[key] = self._add(after)
        return found

    def _change(self, requests: int, change: int) -> int:
        cells, gone = self._changes[change]
        after = [_without(self._cells[cell], gone) for cell in self._requests[requests]]
        for at, cell in cells:
            after[at] = cell
        found = self._changed[requests, change] = self._number(after)
        return found

    def _in_order(self, blocks: int, order: int) -> int:
        """The blocks by their numbers after an event, of those before."""
        known, (numbers, alike) = self._blocks[blocks], self._orders[order]
        found = self._blocks.number(_sorted([known[number] for number in numbers], alike))
        self._ordered[blocks, order] = found
        return found

    # Parts, and the whole.

    def _apart(self, frozen: Frozen, blocks: tuple[int, ...]) -> Config:
        """The parts of what a stepper returned, where numbers stand for these blocks."""
        placed, claims, requests, ((*head, (own, *scopes)), *others), before = frozen
        cases = ((*head, (own,)), *others)
        world, cells, order = self._world((placed, claims, requests, cases, before))
        number = self._scopes.number(tuple(scopes))
        named = [blocks[each] for each in order]
        known = self._blocks.number(_sorted(named, self._worlds[world].alike))
        return Config(world, self._number(cells), number, known)

    def _number(self, cells: Iterable[_Cell]) -> int:
        return self._requests.number(tuple(map(self._cells.number, cells)))

    def _world(self, frozen: Frozen) -> tuple[int, tuple[_Cell, ...], tuple[int, ...]]:
        """The world and requests of what a stepper returned, and its blocks by their numbers."""
        _, claims, requests, _, _ = frozen
        responsible = frozenset(at for at, claim in enumerate(claims) if claim[RANK])
        known = {
            name: (needs, _stood(rank, claims, responsible) if in_hand else _NOBODY, in_hand, *rest)
            for name, needs, rank, in_hand, *rest in requests
        }
        order, alike = self._numbered(frozen)
        names = {block: number for number, block in enumerate(order)}
        placed, claims, _, cases, before = self._stepper.renamed(frozen, names)
        claims = tuple((*claim[:RANK], 0, *claim[RANK + 1 :]) for claim in claims)
        world = _World(placed, claims, cases, before, responsible, alike)
        cells = tuple(known.get(name) for name in self._names)
        return self._add(world), cells, order

    def _add(self, world: _World) -> int:
        number = self._worlds.number(world)
        if number == len(self._cases):
            self._cases.append(self._own.number(world.cases[0]))
        return number

    def _numbered(self, frozen: Frozen) -> tuple[tuple[int, ...], _Alike]:
        """The blocks in the order of what they are to claims, and the bounds of those alike."""
        placed, claims, _, _, before = frozen
        roles: dict[int | None, list[int]] = {}
        for owner, position, block in placed:
            roles.setdefault(block, []).append(self._roles.number((owner, position)))
        for at, claim in enumerate(claims):
            for block in claim[UNSAID]:
                roles.setdefault(block, []).append(self._roles.number(at))
        for block in before[1] if before is not None else ():
            roles.setdefault(block, []).append(self._roles.number("stale"))
        roles.pop(None, None)
        keys = sorted((sorted(each), block) for block, each in roles.items() if block is not None)
        groups = [tuple(role) for role, _ in keys]
        alike = [
            (groups.index(g), groups.index(g) + groups.count(g)) for g in dict.fromkeys(groups)
        ]
        return tuple(block for _, block in keys), tuple(e for e in alike if e[1] - e[0] > 1)

    def _whole(self, config: Config, *, scoped: bool = True) -> Frozen:
        """What the stepper thaws, with or without the scopes of requests."""
        world = self._worlds[config.world]
        cells = [self._cells[each] for each in self._requests[config.requests]]
        stood = [cell[_STOOD] for cell in cells if cell is not None and cell[_IN_HAND]]
        came = {at: 1 + sum(at not in each for each in stood) for at in world.responsible}
        claims = tuple(
            (*claim[:RANK], came.get(at, 0), *claim[RANK + 1 :])
            for at, claim in enumerate(world.claims)
        )
        requests = tuple(
            (name, cell[0], max((came[at] for at in cell[_STOOD]), default=0), *cell[_IN_HAND:])
            for name, cell in zip(self._names, cells, strict=True)
            if cell is not None
        )
        cases = world.cases
        if scoped:
            (*head, own), *others = cases
            cases = ((*head, (*own, *self._scopes.of(config.scopes))), *others)
        return world.placed, claims, requests, cases, world.before


def _sorted(blocks: list[int], alike: _Alike) -> tuple[int, ...]:
    """Blocks by their numbers, where those that hold the same are in the order of their names."""
    for start, end in alike:
        blocks[start:end] = sorted(blocks[start:end])
    return tuple(blocks)


def _stood(rank: int, claims: Frozen, responsible: frozenset[int]) -> frozenset[int]:
    """The places of the claims that were there when a request came."""
    return frozenset(at for at in responsible if claims[at][RANK] <= rank)


def _without(cell: _Cell, gone: frozenset[int]) -> _Cell:
    """A request once these claims are not responsible any more."""
    if cell is None or gone.isdisjoint(cell[_STOOD]):
        return cell
    return (*cell[:_STOOD], cell[_STOOD] - gone, *cell[_STOOD + 1 :])
