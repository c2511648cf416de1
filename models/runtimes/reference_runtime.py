"""Models a runtime that keeps every obligation of every mode: the contract can be implemented.

It is no real runtime. What it holds back for claims depends on their mode:

* hard_protected, demotable, expiring: the blocks of a live claim are never victims;
* offloadable: the same until the tier has a copy; what is away comes back before it is reused;
* soft_priority: blocks of the lowest rank are victims first;
* best_effort, routed_reuse: nothing is held back; what happens is reported.

A request finds or computes a shared object, and uses blocks of its own, which are not cached. One
that does not fit beside the claims is deferred in their name, and may be refused later; a demotable
claim yields to it. The clock may reach the end of a duration between any two actions.

Left out: tokens within a block, preemption, resets and second loads of an object during a load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby, takewhile
from typing import Any, ClassVar, NamedTuple, TypeAlias

from models.model import Action, Emitted, Model, Next, fact
from models.shims import claim_of
from spec.claims.claim import Mode
from spec.contract.modes import MODES
from spec.events.alphabet import Kind
from spec.events.canonical import CapacityProof

__all__ = ["Prompt", "ReferenceRuntime", "Request", "State", "Wanted"]

Events: TypeAlias = tuple[Emitted, ...]
Content: TypeAlias = tuple[str, int]
"""An object, and a position of it."""


class Wanted(NamedTuple):
    """A claim that an owner will ask for: the first `size` blocks of an object."""

    holder: str
    object_id: str
    size: int
    priority: int


class Prompt(NamedTuple):
    """A request: how many blocks of an object it begins with, and how many of its own it needs."""

    name: str
    object_id: str
    shared: int
    own: int


class Request(NamedTuple):
    """An unfinished request: the need that it stated, its worker, its blocks once it has them.

    `loads` are the positions that a load is bringing for it.
    """

    prompt: Prompt
    needed: int
    worker: int | None = None
    blocks: tuple[int, ...] = ()
    loads: tuple[int, ...] = ()


class State(NamedTuple):
    """What each block caches, the live claims, unfinished requests, the objects that are copied.

    `asked` claims and `arrived` requests came so far.
    """

    cached: tuple[Content | None, ...]
    live: tuple[Wanted, ...] = ()
    requests: tuple[Request, ...] = ()
    copies: tuple[str, ...] = ()
    asked: int = 0
    arrived: int = 0

    def of(self, name: str) -> Request:
        """The unfinished request of this name."""
        return next(each for each in self.requests if each.prompt.name == name)

    def on(self, name: str) -> list[Wanted]:
        """The live claims on an object."""
        return [each for each in self.live if each.object_id == name]

    def holds(self, claim: Wanted) -> bool:
        """Whether the predicate of a claim is true."""
        return _blocks([claim]) <= set(self.cached)


class ReferenceRuntime(Model[State]):
    """A runtime that keeps every obligation of a mode.

    Args:
        mode: the mode of all claims.
        blocks: usable blocks of each worker; in routed_reuse there are two, and a router.
        claims: what owners ask for, in this order.
        prompts: the requests, in the order in which they arrive; each fits the empty pool.
    """

    name: ClassVar = "reference_runtime"
    about: ClassVar = "A runtime that keeps every obligation of every mode."
    source: ClassVar = "none: the witness that the contract can be implemented"
    left_out: ClassVar = "tokens within a block, preemption, resets and second loads during a load"

    def __init__(
        self,
        mode: Mode = Mode.HARD_PROTECTED,
        blocks: int = 3,
        claims: tuple[tuple[str, str, int, int], ...] = (
            *(("c1", "a", 2, 1), ("c2", "b", 1, 5), ("c3", "a", 1, 3)),
        ),
        prompts: tuple[tuple[str, str, int, int], ...] = (
            *(("r1", "a", 2, 0), ("r2", "b", 1, 2), ("r3", "a", 2, 1)),
        ),
    ) -> None:
        self.mode, self.size, self.routes = mode, blocks, mode is Mode.ROUTED_REUSE
        self.watched = MODES[mode].constants["watched"]
        self.claims = {each[0]: Wanted(*each) for each in claims}
        self.prompts = {each[0]: Prompt(*each) for each in prompts}
        self.holders, self.requests = tuple(self.claims), tuple(self.prompts)

    def initial(self) -> Iterator[State]:
        """Nothing is cached, and nobody asked for anything."""
        yield State((None,) * (self.size * (1 + self.routes)))

    def actions(self, state: State) -> Iterator[Action]:
        """What owners, clients, the clock, the tier and the scheduler may do next."""
        for holder in self.holders[state.asked : state.asked + 1]:
            yield Action("claim", (holder,))
        for claim in state.live:
            yield Action("expire" if self.mode is Mode.EXPIRING else "release", (claim.holder,))
        for name in self.requests[state.arrived : state.arrived + 1]:
            yield Action("arrive", (name,))
        for each in state.requests:
            name = each.prompt.name
            if each.worker is None:
                yield from (Action("route", (name, worker)) for worker in (0, 1))
            elif each.loads:
                yield from (Action(how, (name,)) for how in ("loaded", "load_fails"))
            elif not each.blocks and self._blockers(state, each):
                yield Action("refuse", (name,))
            elif not each.blocks and len(self._free(state, each)) >= self._lacks(state, each):
                yield Action("admit", (name,))
            if not each.loads:
                yield Action("finish", (name,))
        loading = [each.prompt.object_id for each in state.requests if each.loads]
        if any(state.cached) and not loading:
            yield Action("reset")
        if self.mode is Mode.OFFLOADABLE:
            for name in dict.fromkeys(claim.object_id for claim in self.claims.values()):
                if name in state.copies and name not in loading:
                    yield Action("drop", (name,))
                wanted = [each for each in self.claims.values() if each.object_id == name]
                if name not in state.copies and all(map(state.holds, wanted)):
                    yield Action("store", (name,))

    def apply(self, state: State, action: Action) -> Next[State]:
        """The state after an action, and what happened and is reported of it."""
        after, emits = getattr(self, f"_{action.name}")(state, *action.what)
        return Next(after, tuple(emits))

    # Claims.

    def _claim(self, state: State, holder: str) -> tuple[State, Iterable[Emitted]]:
        """Accept a claim that fits beside the others and every request, or reject it."""
        claim, state = self.claims[holder], state._replace(asked=state.asked + 1)
        terms: dict[str, Any] = {
            "object_id": claim.object_id,
            "predicate": f"leading_prefix_at_least({claim.size})",
            "mode": str(self.mode),
            "owner_scope": f"owner:{holder}",
            "footprint": claim.size,
            "duration": "9 steps" if self.mode is Mode.EXPIRING else None,
            "priority": claim.priority if self.mode is Mode.SOFT_PRIORITY else None,
        }
        after = state._replace(live=(*state.live, claim))
        kinds = [Kind.CLAIM_REGISTERED]
        if not self.watched:
            needed = max((each.needed for each in state.requests), default=0)
            if len(self._declared(after)) + needed > self.size:
                return state, (_of(claim, *kinds, **terms)) + _of(claim, Kind.CLAIM_REJECTED)
            kinds += [Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED]
        held = _of(claim, Kind.CLAIM_MATERIALIZED) if state.holds(claim) else ()
        emits = _of(claim, *kinds, **terms) + held
        if claim.object_id in state.copies:
            emits += _of(claim, Kind.HOST_COPY_FOUND, Kind.CLAIM_OFFLOADED)
            for each in state.requests:
                if each.loads and each.prompt.object_id == claim.object_id and not held:
                    emits += _of(claim, Kind.CLAIM_RESTORE_REQUIRED, request_id=each.prompt.name)
        return after, emits

    def _release(self, state: State, holder: str) -> tuple[State, Iterable[Emitted]]:
        return self._end(state, [self.claims[holder]], Kind.CLAIM_RELEASED, f"owner:{holder}")

    def _expire(self, state: State, holder: str) -> tuple[State, Iterable[Emitted]]:
        claim = self.claims[holder]
        after, emits = self._end(state, [claim], Kind.CLAIM_EXPIRED, "runtime")
        return after, (*_of(claim, Kind.DURATION_ELAPSED), *emits)

    def _end(self, state: State, gone: list[Wanted], how: Kind, by: str) -> tuple[State, Events]:
        live = tuple(each for each in state.live if each not in gone)
        emits = [emit for each in gone for emit in _of(each, Kind.CLAIM_RETIRED, how, by=by)]
        return state._replace(live=live), tuple(emits)

    # Capacity.

    def _declared(self, state: State, without: Iterable[Wanted] = ()) -> set[Content]:
        """What claims keep from requests, each block once."""
        return _blocks(each for each in state.live if not self.watched and each not in without)

    def _blockers(self, state: State, request: Request) -> list[Wanted]:
        """A least set of claims without which a request fits; empty where it fits beside all."""
        room, own = self.size - request.needed, request.prompt.object_id
        named = sorted(state.live, key=lambda claim: claim.object_id != own)
        for claim in tuple(named):
            fewer = [each for each in named if each is not claim]
            named = fewer if len(self._declared(state, fewer)) <= room else named
        return named

    def _told(self, state: State, request: Request, kind: Kind) -> Events:
        """The report of an action on a request that does not fit; nothing where it does."""
        resident, needed = len(self._declared(state)), request.needed
        total, blockers = resident + needed, self._blockers(state, request)
        named = tuple(claim_of(each.holder) for each in blockers)
        proof = CapacityProof(resident, needed, total, self.size, total - self.size)
        return _by(request, kind, blocking_claim_ids=named, proof=proof) if named else ()

    # Requests.

    def _arrive(self, state: State, name: str) -> tuple[State, Iterable[Emitted]]:
        prompt = self.prompts[name]
        shared = {(prompt.object_id, at) for at in range(prompt.shared)}
        needed = prompt.own + len(shared - self._declared(state))
        request = Request(prompt, needed, None if self.routes else 0)
        after = state._replace(requests=(*state.requests, request), arrived=state.arrived + 1)
        emits = _by(request, Kind.REQUEST_ARRIVED, needed=needed, usable=self.size)
        blockers = self._blockers(state, request)
        if self.mode is Mode.DEMOTABLE and not {*blockers} & {*state.on(prompt.object_id)}:
            after, more = self._end(after, blockers, Kind.CLAIM_DEMOTED, "runtime")
            return after, emits + more
        return after, emits + self._told(state, request, Kind.REQUEST_DEFERRED)

    def _refuse(self, state: State, name: str) -> tuple[State, Iterable[Emitted]]:
        after, emits = self._finish(state, name)
        return after, (*self._told(state, state.of(name), Kind.REQUEST_REFUSED), *emits)

    def _finish(self, state: State, name: str) -> tuple[State, Events]:
        request = state.of(name)
        requests = tuple(each for each in state.requests if each is not request)
        return state._replace(requests=requests), _by(request, Kind.REQUEST_FINISHED)

    def _route(self, state: State, name: str, worker: int) -> tuple[State, Events]:
        """A request goes to a worker; what it costs is what is to be computed there."""
        old = state.of(name)
        request = old._replace(worker=worker)
        routed = {"cost": self._lacks(state, request), "worker": str(worker)}
        emits = _by(request, Kind.REQUEST_ROUTED, object_id=old.prompt.object_id, **routed)
        for claim in state.on(old.prompt.object_id):
            emits += _of(claim, Kind.ROUTE_COST_REPORTED, request_id=name, cost=routed["cost"])
            emits += _of(claim, Kind.ROUTE_PLACEMENT_REPORTED, request_id=name, worker=str(worker))
        return _with(state, request), emits

    def _hits(self, state: State, request: Request) -> tuple[int, ...]:
        """The blocks of its worker that hold the first positions of its object."""
        worker, prompt = request.worker or 0, request.prompt
        blocks = range(worker * self.size, (worker + 1) * self.size)
        at = {state.cached[block]: block for block in blocks}
        places = [(prompt.object_id, position) for position in range(prompt.shared)]
        return tuple(at[place] for place in takewhile(at.__contains__, places))

    def _lacks(self, state: State, request: Request) -> int:
        prompt = request.prompt
        return prompt.shared + prompt.own - len(self._hits(state, request))

    def _rank(self, state: State, block: int) -> int:
        """The highest priority of a claim on a block; 0 where none has one."""
        claims = (each for each in state.live if state.cached[block] in _blocks([each]))
        return max((each.priority for each in claims), default=0)

    def _free(self, state: State, request: Request) -> list[int]:
        """The blocks that a request may take, the first victim first."""
        kept = _blocks(c for c in state.live if not self.watched and c.object_id not in state.copies)
        used = {*self._hits(state, request)}.union(*(each.blocks for each in state.requests))
        worker = request.worker or 0
        free = [
            block
            for block in range(worker * self.size, (worker + 1) * self.size)
            if block not in used and state.cached[block] not in kept
        ]

        def order(block: int) -> tuple[bool, int, int]:
            content = state.cached[block]
            return content is not None, self._rank(state, block), -content[1] if content else 0

        return sorted(free, key=order)

    def _admit(self, state: State, name: str) -> tuple[State, Events]:
        """Take the blocks, reuse what is there, and load or compute the rest of the object."""
        request, emits = state.of(name), tuple[Emitted, ...]()
        object_id, hits = request.prompt.object_id, self._hits(state, request)
        taken = self._free(state, request)[: self._lacks(state, request)]
        victims = [block for block in taken if state.cached[block]]
        for rank, part in groupby(victims, lambda block, at=state: self._rank(at, block)):
            blocks = tuple(part)
            low = {"lowest_priority": rank} if rank and self.mode is Mode.SOFT_PRIORITY else {}
            evicted = _by(request, Kind.BLOCK_EVICTED, block_ids=blocks, **low)
            state, more = self._lose(state, blocks, evicted)
            emits += more
        shared, about = request.prompt.shared, {"object_id": object_id}
        if shared:
            emits += _by(request, Kind.PREFIX_LOOKUP, held=len(hits), asked=shared, **about)
        for claim in state.on(object_id) if self.routes else ():
            served = {"request_id": name, "hit": len(hits) >= claim.size}
            emits += _of(claim, Kind.REUSE_SERVED, Kind.ROUTE_REUSE_REPORTED, **served)
        for claim in state.on(object_id):
            if claim.size <= len(hits):
                emits += _of(claim, Kind.PREFIX_REUSED, request_id=name)
        missing = tuple(range(len(hits), shared))
        request = request._replace(blocks=(*hits, *taken))
        away = [claim for claim in state.on(object_id) if not state.holds(claim)]
        if away and object_id in state.copies:
            for claim in away:
                emits += _of(claim, Kind.CLAIM_RESTORE_REQUIRED, request_id=name)
            return _with(state, request._replace(loads=missing)), emits
        state, more = self._gain(_with(state, request), request, missing, Kind.BLOCK_CACHED)
        return state, emits + more

    def _gain(self, state: State, request: Request, at: tuple[int, ...], how: Kind) -> tuple[State, Events]:
        """Positions of an object are computed or loaded into blocks of a request."""
        if not at:
            return state, ()
        name, object_id = request.prompt.name, request.prompt.object_id
        blocks = request.blocks[at[0] : at[-1] + 1]
        cached = dict(enumerate(state.cached)) | {
            block: (object_id, position) for block, position in zip(blocks, at, strict=True)
        }
        after = _with(state, request._replace(loads=()))._replace(cached=tuple(cached.values()))
        emits = _by(request, how, object_id=object_id, block_ids=blocks, positions=at)
        for claim in state.on(object_id):
            if not state.holds(claim) and how is Kind.BLOCK_CACHED and after.holds(claim):
                emits += _of(claim, Kind.CLAIM_MATERIALIZED)
            elif not state.holds(claim) and after.holds(claim):
                emits += _of(claim, Kind.CLAIM_RESTORED, request_id=name, from_tier=True)
                emits += _of(claim, Kind.PREFIX_REUSED, request_id=name)
        return after, emits

    def _loaded(self, state: State, name: str) -> tuple[State, Events]:
        request = state.of(name)
        return self._gain(state, request, request.loads, Kind.LOAD_FINISHED)

    def _load_fails(self, state: State, name: str) -> tuple[State, Events]:
        """The request is refused for the claims that did not come back, or computes the object."""
        request = state.of(name)
        emits = _by(request, Kind.LOAD_FAILED, object_id=request.prompt.object_id)
        away = [each for each in state.on(request.prompt.object_id) if not state.holds(each)]
        if not away:
            after, more = self._gain(state, request, request.loads, Kind.BLOCK_CACHED)
            return after, emits + more
        for claim in away:
            fields = {"outcome": "refusal", "outcome_claim_id": claim_of(claim.holder)}
            emits += _of(claim, Kind.CLAIM_RESTORATION_FAILED, request_id=name, **fields)
        named = tuple(claim_of(each.holder) for each in away)
        emits += _by(request, Kind.REQUEST_REFUSED, blocking_claim_ids=named, restore=True)
        after, more = self._finish(state, name)
        return after, emits + more

    # Losses, and the tier.

    def _reset(self, state: State) -> tuple[State, Events]:
        return self._lose(state, range(len(state.cached)), (fact(Kind.BLOCK_LOST),))

    def _lose(self, state: State, blocks: Iterable[int], emits: Events) -> tuple[State, Events]:
        """Blocks lose what they cached: it is reported of each claim that loses by it."""
        gone = {block: state.cached[block] for block in blocks}
        cached = tuple(None if at in gone else each for at, each in enumerate(state.cached))
        after = state._replace(cached=cached)
        for claim in state.live:
            lost = tuple(block for block in gone if gone[block] in _blocks([claim]))
            if state.holds(claim) and not after.holds(claim) and claim.object_id not in state.copies:
                kind = Kind.CLAIM_UNMATERIALIZED if self.watched else Kind.CLAIM_HARMED
                emits += _of(claim, kind)
            elif lost and self.mode is Mode.SOFT_PRIORITY:
                emits += _of(claim, Kind.CLAIM_BLOCK_LOST, block_ids=lost)
        return after, emits

    def _store(self, state: State, name: str) -> tuple[State, Events]:
        emits = (fact(Kind.STORE_FINISHED, object_id=name),)
        for claim in state.on(name):
            emits += _of(claim, Kind.CLAIM_OFFLOADED)
        return state._replace(copies=(*state.copies, name)), emits

    def _drop(self, state: State, name: str) -> tuple[State, Events]:
        emits = (fact(Kind.HOST_COPY_LOST, object_id=name),)
        for claim in state.on(name):
            emits += () if state.holds(claim) else _of(claim, Kind.CLAIM_HARMED)
        return state._replace(copies=tuple(each for each in state.copies if each != name)), emits

    @property
    def always(self) -> Mapping[str, Callable[[State], bool]]:
        """The claims and what runs fit the pool."""

        def fits(state: State) -> bool:
            return self.watched or len(self._declared(state)) <= self.size

        return {"claims fit the pool": fits}


def _blocks(claims: Iterable[Wanted]) -> set[Content | None]:
    return {(each.object_id, position) for each in claims for position in range(each.size)}


def _of(claim: Wanted, *kinds: Kind, **fields: Any) -> Events:
    return tuple(fact(kind, claim_id=claim_of(claim.holder), **fields) for kind in kinds)


def _by(request: Request, kind: Kind, **fields: Any) -> Events:
    return (fact(kind, request_id=request.prompt.name, **fields),)


def _with(state: State, request: Request) -> State:
    name = request.prompt.name
    requests = [request if each.prompt.name == name else each for each in state.requests]
    return state._replace(requests=tuple(requests))
