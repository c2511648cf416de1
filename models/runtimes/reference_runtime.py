"""Models a runtime that keeps every obligation of every mode: the contract can be implemented.

It is no real runtime. A request finds or computes a shared object, and its own blocks, which are
not cached. One that does not fit beside the claims is deferred in their name, and may be refused
later; a demotable claim yields to it. Blocks of claims are never victims in hard_protected,
demotable and expiring, and in offloadable until the tier has a copy; in soft_priority the lowest
rank goes first. A duration may end between any two actions. Names are not interchangeable: claims
and requests come in a fixed order. Left out: tokens within a block, preemption, time of loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple

from models.framework.blocks import Slot, hits
from models.framework.claims import WATCHED, Claim, Moment, blocks_of, least
from models.framework.model import Action, Model, Next
from spec.claims.states import Mode
from spec.events.alphabet import Kind

__all__ = ["TAKES", "VARIANTS", "ReferenceRuntime", "Request", "State", "Step"]


class Request(NamedTuple):
    """A request for shared blocks and own ones; then its stated need, its worker, its blocks."""

    name: str
    object_id: str
    shared: int
    own: int
    needed: int = 0
    worker: int | None = None
    blocks: tuple[int, ...] = ()


class State(NamedTuple):
    """What blocks cache, live claims, unfinished requests, objects with a copy; how many came."""

    cached: tuple[Slot, ...]
    live: tuple[Claim, ...] = ()
    requests: tuple[Request, ...] = ()
    copies: tuple[str, ...] = ()
    came: int = 0


class Step(Moment[State]):
    """A step of an owner, a client, the clock, the tier or the scheduler, named as its action."""

    def __init__(self, mode: Mode, size: int, state: State) -> None:
        super().__init__(state)
        self.mode, self.size, self.watched = mode, size, mode in WATCHED

    def holds(self, claim: Claim) -> bool:
        """Whether the predicate of a claim is true."""
        return {*claim.contents} <= {*self.state.cached}

    def on(self, object_id: str) -> list[Claim]:
        """The live claims on an object."""
        return [each for each in self.state.live if each.object_id == object_id]

    @property
    def kept(self) -> list[Claim]:
        """The claims that keep blocks from requests."""
        return [] if self.watched else [*self.state.live]

    def _claim(self, claim: Claim) -> None:
        """Accept a claim that fits beside the others and every request, or reject it."""
        self.change(came=self.state.came + 1)
        self.of(claim, Kind.CLAIM_REGISTERED, **claim.terms)
        if not self.watched:
            needed = max((each.needed for each in self.state.requests), default=0)
            if len(blocks_of([*self.kept, claim])) + needed > self.size:
                self.of(claim, Kind.CLAIM_REJECTED)
                return
            self.of(claim, Kind.CLAIM_COMMITTED, content_keys=claim.keys, **claim.terms)
            self.of(claim, Kind.CLAIM_ACCEPTED, **claim.terms)
        self.change(live=(*self.state.live, claim))
        if self.holds(claim):
            self.of(claim, Kind.CLAIM_MATERIALIZED)
        if claim.object_id in self.state.copies:
            self.of(claim, Kind.HOST_COPY_FOUND, Kind.CLAIM_OFFLOADED)

    def _release(self, claim: Claim) -> None:
        self._end(claim, Kind.CLAIM_RELEASED, claim.owner)

    def _expire(self, claim: Claim) -> None:
        self.of(claim, Kind.DURATION_ELAPSED)
        self._end(claim, Kind.CLAIM_EXPIRED, "runtime")

    def _end(self, claim: Claim, how: Kind, by: str) -> None:
        self.change(live=tuple(each for each in self.state.live if each is not claim))
        self.of(claim, Kind.CLAIM_RETIRED, how, by=by)

    def blockers(self, request: Request) -> list[Claim]:
        """A least set of claims without which a request fits; empty where it fits beside all."""
        named = sorted(self.kept, key=lambda claim: claim.object_id == request.object_id)
        return least(named, self.kept, self.size - request.needed)

    def _report(self, kind: Kind, request: Request) -> None:
        named = self.blockers(request)
        self.conflict(kind, request.name, request.needed, self.size, self.kept, named)

    def _arrive(self, request: Request) -> None:
        """A request arrives; where it does not fit, claims yield to it, or it is deferred."""
        shared = {(request.object_id, position) for position in range(request.shared)}
        needed = request.own + len(shared - blocks_of(self.kept))
        worker = None if self.mode is Mode.ROUTED_REUSE else 0
        request = request._replace(needed=needed, worker=worker)
        self.change(requests=(*self.state.requests, request), came=self.state.came + 1)
        self.say(Kind.REQUEST_ARRIVED, request_id=request.name, needed=needed, usable=self.size)
        blockers = self.blockers(request)
        if self.mode is Mode.DEMOTABLE and not {*blockers} & {*self.on(request.object_id)}:
            for claim in blockers:
                self._end(claim, Kind.CLAIM_DEMOTED, "runtime")
        self._report(Kind.REQUEST_DEFERRED, request)

    def _refuse(self, request: Request) -> None:
        self._report(Kind.REQUEST_REFUSED, request)
        self._finish(request)

    def _finish(self, request: Request) -> None:
        self.change(requests=tuple(each for each in self.state.requests if each is not request))
        self.say(Kind.REQUEST_FINISHED, request_id=request.name)

    def _put(self, request: Request, **values: Any) -> Request:
        new = request._replace(**values)
        self.change(requests=tuple(new if e is request else e for e in self.state.requests))
        return new

    def _route(self, request: Request, worker: int) -> None:
        """A request goes to a worker; what it costs is what is to be computed there."""
        found, _ = self.place(self._put(request, worker=worker))
        of, to = {"request_id": request.name}, str(worker)
        about: dict[str, Any] = {"cost": request.shared + request.own - len(found), **of}
        self.say(Kind.REQUEST_ROUTED, worker=to, object_id=request.object_id, **about)
        for claim in self.on(request.object_id):
            self.of(claim, Kind.ROUTE_COST_REPORTED, **about)
            self.of(claim, Kind.ROUTE_PLACEMENT_REPORTED, worker=to, **of)

    def _rank(self, block: int) -> int:
        """The highest priority of a claim on a block; 0 if unclaimed, -1 if empty."""
        cached = self.state.cached[block]
        on = (each.priority or 0 for each in self.state.live if cached in each.contents)
        return max(on, default=0) if cached else -1

    def place(self, request: Request) -> tuple[list[int], list[int]]:
        """The blocks with the first positions of its object, and those to take, in order."""
        cached, first = self.state.cached, self.size * (request.worker or 0)
        places = ((request.object_id, position) for position in range(request.shared))
        found = [first + at for at in hits(cached[first : first + self.size], places)]
        used = {*found}.union(*(each.blocks for each in self.state.requests))
        kept = blocks_of(c for c in self.kept if c.object_id not in self.state.copies)
        free = [b for b in range(first, first + self.size) if not (b in used or cached[b] in kept)]
        free.sort(key=lambda block: (self._rank(block), -(cached[block] or ("", 0))[1]))
        return found, free[: request.shared + request.own - len(found)]

    def away(self, request: Request) -> list[Claim]:
        """The claims that have to come back from the tier before a request may run."""
        on = self.on(request.object_id) if request.object_id in self.state.copies else []
        return [each for each in on if not self.holds(each)]

    def _admit(self, request: Request) -> None:
        """Take the blocks, reuse what is there, and load or compute the rest of the object."""
        (found, taken), of = self.place(request), {"request_id": request.name}
        about: dict[str, Any] = {"object_id": request.object_id, **of}
        for block in (each for each in taken if self.state.cached[each]):
            rank = self._rank(block)
            low = {"lowest_priority": rank} if rank and self.mode is Mode.SOFT_PRIORITY else {}
            self._lose(Kind.BLOCK_EVICTED, [block], block_ids=(block,), **low, **of)
        if request.shared:
            self.say(Kind.PREFIX_LOOKUP, held=len(found), asked=request.shared, **about)
        for claim in self.on(request.object_id):
            if self.mode is Mode.ROUTED_REUSE:
                hit = claim.size <= len(found)
                self.of(claim, Kind.REUSE_SERVED, Kind.ROUTE_REUSE_REPORTED, hit=hit, **of)
            if claim.size <= len(found):
                self.of(claim, Kind.PREFIX_REUSED, **of)
        away, before = self.away(request), [each for each in self.state.live if self.holds(each)]
        self.of_each(away, Kind.CLAIM_RESTORE_REQUIRED, **of)
        places = ((request.object_id, position) for position in range(len(found), request.shared))
        new = dict(zip(taken, places, strict=False))
        self.change(cached=tuple(new.get(at, each) for at, each in enumerate(self.state.cached)))
        self._put(request, blocks=(*found, *taken))
        placed = {"block_ids": tuple(new), "positions": tuple(at for _, at in new.values())}
        if new and not away:
            self.say(Kind.BLOCK_CACHED, **placed, **about)
        self.of_each(away, Kind.LOAD_FINISHED, **of, **placed)
        self.of_each(away, Kind.CLAIM_RESTORED, from_tier=True, **of)
        self.of_each(away, Kind.PREFIX_REUSED, **of)
        new_ones = (c for c in self.state.live if c not in (*away, *before) and self.holds(c))
        self.of_each(new_ones, Kind.CLAIM_MATERIALIZED)

    def _fail(self, request: Request) -> None:
        """A load fails: the request is refused for the claims that do not come back."""
        self.of_each(self.away(request), Kind.CLAIM_RESTORE_REQUIRED, request_id=request.name)
        self.not_restored(request.name, self.away(request))
        self._finish(request)

    def _reset(self) -> None:
        self._lose(Kind.BLOCK_LOST, range(len(self.state.cached)))

    def _lose(self, kind: Kind, blocks: Iterable[int], **fields: Any) -> None:
        """Blocks lose what they cached: it is reported of each claim that loses by it."""
        gone = {block: self.state.cached[block] for block in blocks}
        held = [each for each in self.state.live if self.holds(each)]
        left = (None if at in gone else each for at, each in enumerate(self.state.cached))
        self.change(cached=tuple(left))
        self.say(kind, **fields)
        for claim in self.state.live:
            lost = tuple(block for block in gone if gone[block] in claim.contents)
            fell = claim in held and not self.holds(claim)
            if fell and claim.object_id not in self.state.copies:
                self.of(claim, Kind.CLAIM_UNMATERIALIZED if self.watched else Kind.CLAIM_HARMED)
            elif lost and self.mode is Mode.SOFT_PRIORITY:
                self.of(claim, Kind.CLAIM_BLOCK_LOST, block_ids=lost)

    def _store(self, name: str) -> None:
        self.change(copies=(*self.state.copies, name))
        self.of_each(self.on(name), Kind.STORE_FINISHED, Kind.CLAIM_OFFLOADED)

    def _drop(self, name: str) -> None:
        self.change(copies=tuple(each for each in self.state.copies if each != name))
        for claim in self.on(name):
            harmed = () if self.holds(claim) else (Kind.CLAIM_HARMED,)
            self.of(claim, Kind.HOST_COPY_LOST, *harmed)


class ReferenceRuntime(Model[State]):
    """A runtime that keeps every obligation of a mode; `blocks` are those of each worker."""

    name: ClassVar = "reference_runtime"
    about: ClassVar = "A runtime that keeps every obligation of every mode."
    source: ClassVar = "none: the witness that the contract can be implemented"
    left_out: ClassVar = "tokens within a block, preemption, the time that a load takes"

    def __init__(self, mode: Mode, blocks: int, comes: Iterable[Claim | Request]) -> None:
        self.mode, self.size, self.comes = mode, blocks, tuple(comes)
        self.holders = tuple(each.holder for each in self.comes if isinstance(each, Claim))
        self.requests = tuple(each.name for each in self.comes if isinstance(each, Request))

    def initial(self) -> Iterator[State]:
        """Nothing is cached, and there were no claims and requests; a router has two workers."""
        yield State((None,) * (self.size * (1 + (self.mode is Mode.ROUTED_REUSE))))

    def actions(self, state: State) -> Iterator[Action]:
        """What owners, clients, the clock, the tier and the scheduler may do next."""
        now = Step(self.mode, self.size, state)
        for asked in self.comes[state.came : state.came + 1]:
            yield Action("claim" if isinstance(asked, Claim) else "arrive", asked[:1])
        for claim in state.live:
            yield Action("expire" if self.mode is Mode.EXPIRING else "release", (claim.holder,))
        for each in state.requests:
            if each.worker is None:
                yield from (Action("route", (each.name, worker)) for worker in (0, 1))
            elif not each.blocks and now.blockers(each):
                yield Action("refuse", (each.name,))
            elif not each.blocks and sum(map(len, now.place(each))) == each.shared + each.own:
                yield Action("admit", (each.name,))
                if now.away(each):
                    yield Action("fail", (each.name,))
            yield Action("finish", (each.name,))
        if any(state.cached):
            yield Action("reset")
        yield from (Action("drop", (name,)) for name in state.copies)
        for name in dict.fromkeys(each.object_id for each in state.live):
            whole = all(map(now.holds, now.on(name))) and name not in state.copies
            if self.mode is Mode.OFFLOADABLE and whole:
                yield Action("store", (name,))

    def apply(self, state: State, action: Action) -> Next[State]:
        """The state after an action, and what happened and is reported of it."""
        named = {each[0]: each for each in (*self.comes, *state.requests)}
        now = Step(self.mode, self.size, state)
        what = (named.get(str(each), each) for each in action.what)
        getattr(now, f"_{action.name}")(*what)
        return Next(now.state, tuple(now.emits))


TAKES: Final = tuple(Mode)
_PRESSURE: Final = {
    Mode.SOFT_PRIORITY: (Request("r2", "b", 1, 0), Request("r3", "", 0, 1)),  # who goes first
    Mode.OFFLOADABLE: (Request("r2", "", 0, 2), Request("r3", "a", 1, 0)),  # what is to come back
}


def _usual(mode: Mode) -> ReferenceRuntime:
    """Two blocks, three claims, of which two are on one object, and requests that need more."""
    lasts, ranked = "9 steps" if mode is Mode.EXPIRING else None, mode is Mode.SOFT_PRIORITY
    c1, c2, c3 = (
        Claim(name, on, 1, mode, rank if ranked else None, lasts, name)
        for name, on, rank in (("c1", "a", 1), ("c2", "b", 5), ("c3", "a", 3))
    )
    pressure = _PRESSURE.get(mode, (Request("r2", "b", 1, 1),))
    return ReferenceRuntime(mode, 2, (c1, Request("r1", "a", 1, 0), c3, c2, *pressure))


VARIANTS: Final = {str(mode): partial(_usual, mode) for mode in TAKES}
