"""Models a runtime that keeps every obligation of every mode: the contract can be implemented.

It is no real runtime. A request finds or computes a shared object, and uses blocks of its own,
which are not cached. One that does not fit beside the claims is deferred in their name, and may be
refused later; a demotable claim yields to it. Blocks of claims are never victims in hard_protected,
demotable and expiring, and in offloadable until the tier has a copy; in soft_priority the lowest
rank goes first. The clock may reach the end of a duration between any two actions.

Left out: tokens within a block, preemption, the time that a load takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby, takewhile
from typing import Any, ClassVar

from models.framework.model import Action, Model, Next, fact
from models.framework.shims import claim_of
from models.runtimes.reference_runtime.state import (
    Events,
    Prompt,
    Request,
    State,
    Wanted,
    blocks_of,
    ids_of,
    of_request,
    said,
    usual,
    with_request,
)
from spec.claims.claim import Mode
from spec.contract.modes import MODES
from spec.events.alphabet import Kind
from spec.events.canonical import CapacityProof

__all__ = ["TAKES", "VARIANTS", "ReferenceRuntime"]


class ReferenceRuntime(Model[State]):
    """A runtime that keeps every obligation of a mode.

    Args:
        mode: the mode of all claims.
        blocks: usable blocks of each worker; in routed_reuse there are two, and a router.
        comes: what owners and clients ask for, in this order; each prompt fits the empty pool.
    """

    name: ClassVar = "reference_runtime"
    about: ClassVar = "A runtime that keeps every obligation of every mode."
    source: ClassVar = "none: the witness that the contract can be implemented"
    left_out: ClassVar = "tokens within a block, preemption, the time that a load takes"

    def __init__(self, mode: Mode, blocks: int, comes: Iterable[Wanted | Prompt]) -> None:
        self.mode, self.size, self.routes = mode, blocks, mode is Mode.ROUTED_REUSE
        self._at = range(blocks), range(blocks, 2 * blocks)
        self.watched = MODES[mode].constants["watched"]
        self.comes = tuple(comes)
        self.claims = {each.name: each for each in self.comes if isinstance(each, Wanted)}
        self.prompts = {each.name: each for each in self.comes if isinstance(each, Prompt)}
        self.holders, self.requests = tuple(self.claims), tuple(self.prompts)

    def initial(self) -> Iterator[State]:
        """Nothing is cached, and nobody asked for anything."""
        yield State((None,) * (self.size * (1 + self.routes)))

    def actions(self, state: State) -> Iterator[Action]:
        """What owners, clients, the clock, the tier and the scheduler may do next."""
        for asked in self.comes[state.came : state.came + 1]:
            yield Action("arrive" if asked.name in self.prompts else "claim", (asked.name,))
        for claim in state.live:
            yield Action("expire" if self.mode is Mode.EXPIRING else "release", (claim.name,))
        for each in state.requests:
            name, waits = each.prompt.name, not each.blocks
            if each.worker is None:
                yield from (Action("route", (name, worker)) for worker in (0, 1))
            elif waits and self._blockers(state, each):
                yield Action("refuse", (name,))
            elif waits and len(self._free(state, each)) >= self._lacks(state, each):
                yield Action("admit", (name,))
                if state.away(each):
                    yield Action("admit", (name, "load fails"))
            yield Action("finish", (name,))
        if any(state.cached):
            yield Action("reset")
        for name in dict.fromkeys(claim.object_id for claim in self.claims.values()):
            whole = blocks_of(self.claims.values(), name) <= {*state.cached}
            if name in state.copies:
                yield Action("drop", (name,))
            elif self.mode is Mode.OFFLOADABLE and whole:
                yield Action("store", (name,))

    def apply(self, state: State, action: Action) -> Next[State]:
        """The state after an action, and what happened and is reported of it."""
        after, emits = getattr(self, f"_{action.name}")(state, *action.what)
        return Next(after, emits)

    # Claims.

    def _claim(self, state: State, holder: str) -> tuple[State, Events]:
        """Accept a claim that fits beside the others and every request, or reject it."""
        claim, state = self.claims[holder], state._replace(came=state.came + 1)
        after = state._replace(live=(*state.live, claim))
        terms = claim.terms(self.mode)
        emits = said(claim, Kind.CLAIM_REGISTERED, **terms)
        if not self.watched:
            needed = max((each.needed for each in state.requests), default=0)
            if len(self._declared(after)) + needed > self.size:
                return state, emits + said(claim, Kind.CLAIM_REJECTED)
            emits += said(claim, Kind.CLAIM_COMMITTED, content_keys=claim.keys, **terms)
            emits += said(claim, Kind.CLAIM_ACCEPTED, **terms)
        if state.holds(claim):
            emits += said(claim, Kind.CLAIM_MATERIALIZED)
        if claim.object_id in state.copies:
            emits += said(claim, Kind.HOST_COPY_FOUND, Kind.CLAIM_OFFLOADED)
        return after, emits

    def _release(self, state: State, holder: str) -> tuple[State, Events]:
        return self._end(state, [self.claims[holder]], Kind.CLAIM_RELEASED, f"owner:{holder}")

    def _expire(self, state: State, holder: str) -> tuple[State, Events]:
        after, emits = self._end(state, [self.claims[holder]], Kind.CLAIM_EXPIRED, "runtime")
        return after, said(self.claims[holder], Kind.DURATION_ELAPSED) + emits

    def _end(self, state: State, gone: list[Wanted], how: Kind, by: str) -> tuple[State, Events]:
        live = tuple(each for each in state.live if each not in gone)
        emits = (emit for each in gone for emit in said(each, Kind.CLAIM_RETIRED, how, by=by))
        return state._replace(live=live), tuple(emits)

    # Capacity.

    def _declared(self, state: State, without: Iterable[Wanted] = ()) -> set[Any]:
        """What claims keep from requests, each block once."""
        return blocks_of(each for each in state.live if not self.watched and each not in without)

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
        named, total = ids_of(self._blockers(state, request)), resident + needed
        proof = CapacityProof(resident, needed, total, self.size, total - self.size)
        return of_request(request, kind, blocking_claim_ids=named, proof=proof) if named else ()

    # Requests.

    def _arrive(self, state: State, name: str) -> tuple[State, Events]:
        prompt = self.prompts[name]
        shared = {(prompt.object_id, position) for position in range(prompt.shared)}
        needed = prompt.own + len(shared - self._declared(state))
        request = Request(prompt, needed, None if self.routes else 0)
        after = state._replace(requests=(*state.requests, request), came=state.came + 1)
        emits = of_request(request, Kind.REQUEST_ARRIVED, needed=needed, usable=self.size)
        blockers = self._blockers(state, request)
        if self.mode is Mode.DEMOTABLE and not {*blockers} & {*state.on(prompt.object_id)}:
            after, more = self._end(after, blockers, Kind.CLAIM_DEMOTED, "runtime")
            return after, emits + more
        return after, emits + self._told(state, request, Kind.REQUEST_DEFERRED)

    def _refuse(self, state: State, name: str) -> tuple[State, Events]:
        after, emits = self._finish(state, name)
        return after, self._told(state, state.of(name), Kind.REQUEST_REFUSED) + emits

    def _finish(self, state: State, name: str) -> tuple[State, Events]:
        request = state.of(name)
        requests = tuple(each for each in state.requests if each is not request)
        return state._replace(requests=requests), of_request(request, Kind.REQUEST_FINISHED)

    def _route(self, state: State, name: str, worker: int) -> tuple[State, Events]:
        """A request goes to a worker; what it costs is what is to be computed there."""
        request, to = state.of(name)._replace(worker=worker), str(worker)
        cost, object_id = self._lacks(state, request), request.prompt.object_id
        emits = of_request(request, Kind.REQUEST_ROUTED, object_id=object_id, cost=cost, worker=to)
        for claim in state.on(object_id):
            emits += said(claim, Kind.ROUTE_COST_REPORTED, request_id=name, cost=cost)
            emits += said(claim, Kind.ROUTE_PLACEMENT_REPORTED, request_id=name, worker=to)
        return with_request(state, request), emits

    def _hits(self, state: State, request: Request) -> tuple[int, ...]:
        """The blocks that hold the first positions of its object."""
        blocks, prompt = self._at[request.worker or 0], request.prompt
        at = {state.cached[block]: block for block in blocks}
        places = ((prompt.object_id, position) for position in range(prompt.shared))
        return tuple(at[place] for place in takewhile(at.__contains__, places))

    def _lacks(self, state: State, request: Request) -> int:
        return request.prompt.shared + request.prompt.own - len(self._hits(state, request))

    def _free(self, state: State, request: Request) -> list[int]:
        """The blocks that a request may take, the first victim first."""
        used = {*self._hits(state, request)}.union(*(each.blocks for each in state.requests))
        kept = {each for each in self._declared(state) if each[0] not in state.copies}
        free = set(self._at[request.worker or 0]) - used
        free -= {block for block in free if state.cached[block] in kept}
        return sorted(free, key=lambda b: (state.rank(b), -(state.cached[b] or ("", 0))[1]))

    def _admit(self, state: State, name: str, fails: str = "") -> tuple[State, Events]:
        """Take the blocks, reuse what is there, and load or compute the rest of the object."""
        request = state.of(name)
        hits, prompt = self._hits(state, request), request.prompt
        taken = self._free(state, request)[: self._lacks(state, request)]
        state, emits = self._evict(state, request, [b for b in taken if state.cached[b]])
        on: dict[str, Any] = {"object_id": prompt.object_id, "request_id": name}
        if prompt.shared:
            emits += (fact(Kind.PREFIX_LOOKUP, held=len(hits), asked=prompt.shared, **on),)
        for claim in state.on(prompt.object_id):
            hit = claim.size <= len(hits)
            routed = (Kind.REUSE_SERVED, Kind.ROUTE_REUSE_REPORTED) if self.routes else ()
            emits += said(claim, *routed, request_id=name, hit=hit)
            emits += said(claim, Kind.PREFIX_REUSED, request_id=name) if hit else ()
        away, places = state.away(request), range(len(hits), prompt.shared)
        for claim in away:
            emits += said(claim, Kind.CLAIM_RESTORE_REQUIRED, request_id=name)
        if fails:
            return self._fail(state, request, emits)
        blocks, cached = dict(zip(taken, places, strict=False)), [*state.cached]
        for block, position in blocks.items():
            cached[block] = (prompt.object_id, position)
        after = with_request(state, request._replace(blocks=(*hits, *taken)))
        after = after._replace(cached=tuple(cached))
        placed = {"block_ids": tuple(blocks), "positions": tuple(blocks.values())}
        if blocks and not away:
            emits += (fact(Kind.BLOCK_CACHED, **placed, **on),)
        for claim in away:
            emits += said(claim, Kind.LOAD_FINISHED, request_id=name, **placed)
            emits += said(claim, Kind.CLAIM_RESTORED, request_id=name, from_tier=True)
            emits += said(claim, Kind.PREFIX_REUSED, request_id=name)
        rose = (c for c in after.live if c not in away and after.holds(c) and not state.holds(c))
        return after, emits + tuple(e for c in rose for e in said(c, Kind.CLAIM_MATERIALIZED))

    def _fail(self, state: State, request: Request, emits: Events) -> tuple[State, Events]:
        """A load failed: the request is refused for the claims that did not come back."""
        away, by = state.away(request), {"request_id": request.prompt.name}
        for claim in away:
            emits += said(claim, Kind.LOAD_FAILED, **by)
        for claim in away:
            how = {"outcome": "refusal", "outcome_claim_id": claim_of(claim.name), **by}
            emits += said(claim, Kind.CLAIM_RESTORATION_FAILED, **how)
        named = ids_of(away)
        emits += of_request(request, Kind.REQUEST_REFUSED, blocking_claim_ids=named, restore=True)
        after, more = self._finish(state, request.prompt.name)
        return after, emits + more

    def _evict(self, state: State, request: Request, victims: list[int]) -> tuple[State, Events]:
        """Evict blocks for a request, one rank after the other."""
        emits: Events = ()
        for rank, part in groupby(victims, state.rank):
            blocks = tuple(part)
            low = {"lowest_priority": rank} if rank and self.mode is Mode.SOFT_PRIORITY else {}
            evicted = of_request(request, Kind.BLOCK_EVICTED, block_ids=blocks, **low)
            state, more = self._lose(state, blocks, evicted)
            emits += more
        return state, emits

    def _reset(self, state: State) -> tuple[State, Events]:
        return self._lose(state, range(len(state.cached)), (fact(Kind.BLOCK_LOST),))

    def _lose(self, state: State, blocks: Iterable[int], emits: Events) -> tuple[State, Events]:
        """Blocks lose what they cached: it is reported of each claim that loses by it."""
        gone = {block: state.cached[block] for block in blocks}
        cached = tuple(None if at in gone else each for at, each in enumerate(state.cached))
        after = state._replace(cached=cached)
        for claim in state.live:
            lost = tuple(block for block in gone if gone[block] in blocks_of([claim]))
            fell = state.holds(claim) and not after.holds(claim)
            if fell and claim.object_id not in state.copies:
                kind = Kind.CLAIM_UNMATERIALIZED if self.watched else Kind.CLAIM_HARMED
                emits += said(claim, kind)
            elif lost and self.mode is Mode.SOFT_PRIORITY:
                emits += said(claim, Kind.CLAIM_BLOCK_LOST, block_ids=lost)
        return after, emits

    def _store(self, state: State, name: str) -> tuple[State, Events]:
        kinds = Kind.STORE_FINISHED, Kind.CLAIM_OFFLOADED
        emits = tuple(emit for each in state.on(name) for emit in said(each, *kinds))
        return state._replace(copies=(*state.copies, name)), emits

    def _drop(self, state: State, name: str) -> tuple[State, Events]:
        emits: Events = ()
        for claim in state.on(name):
            harmed = () if state.holds(claim) else (Kind.CLAIM_HARMED,)
            emits += said(claim, Kind.HOST_COPY_LOST, *harmed)
        return state._replace(copies=tuple(each for each in state.copies if each != name)), emits


TAKES = tuple(Mode)

VARIANTS: Mapping[str, Callable[[], ReferenceRuntime]] = {
    str(mode): partial(ReferenceRuntime, mode, 2, usual(mode)) for mode in TAKES
}
"""An instance for each mode, with three claims, two of them on one object."""
