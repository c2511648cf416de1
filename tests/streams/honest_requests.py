"""Whole stories of an honest runtime: what happens in it, one thing after another."""

from __future__ import annotations

from typing import Any

from spec.claims.states import Mode
from spec.events.alphabet import Kind
from tests.streams.honest import REQUESTS, USABLE, Promise
from tests.streams.honest_tier import Tier

__all__ = ["Server"]


class Server(Tier):
    """A runtime in which things happen by chance."""

    # Routes.

    def route(self, claim: Promise, request: str) -> None:
        """A request is sent to a worker for the claim, perhaps once more to another one, and hits
        or misses; all of it is reported, in the order in which it happened.
        """
        if request not in self.needs or not claim.live:
            return
        about: dict[str, Any] = {"claim_id": claim.name, "request_id": request}
        if self.cheats():
            self._tell_route(about, 1, "w:1")
        routes = [
            (self.chance.randint(0, 9), self.chance.choice(("w:1", "w:2")))
            for _ in range(self.chance.choice((1, 1, 1, 2, 3)))
        ]
        late = self.chance.random() < 0.5
        for cost, worker in routes:
            self.say(Kind.REQUEST_ROUTED, **about, cost=cost, worker=worker)
            if not late:
                self._tell_route(about, cost, worker)
        for cost, worker in routes[:: -1 if self.cheats() else 1] if late else ():
            self._tell_route(about, cost, worker)
        if self.cheats():
            self._tell_route(about, routes[-1][0] + 1, "w:3")
        served = [self.chance.random() < 0.5 for _ in range(self.chance.choice((0, 1, 1, 2)))]
        for hit in served:
            self.say(Kind.REUSE_SERVED, **about, hit=hit)
        for hit in served:
            if not self.cheats():
                self.say(Kind.ROUTE_REUSE_REPORTED, **about, hit=hit is not self.cheats())
        if served and self.cheats():
            self.say(Kind.ROUTE_REUSE_REPORTED, **about, hit=not served[-1])

    def _tell_route(self, about: dict[str, Any], cost: int, worker: str) -> None:
        if not self.cheats():
            self.say(Kind.ROUTE_COST_REPORTED, **about, cost=cost + self.cheats())
        if not self.cheats():
            other = "w:3" if self.cheats() else worker
            self.say(Kind.ROUTE_PLACEMENT_REPORTED, **about, worker=other)

    # What happens too fast to be told in between.

    def hurry(self, claim: Promise, request: str) -> None:
        """Blocks come and go, by nobody's choice, before anything can be said of it."""
        beside = [c for c in self.claims if c is not claim and c.registered]
        alone = not any(set(c.keys) & set(claim.keys) for c in beside)
        if not (alone and claim.live and not claim.restoring and claim.keys):
            return
        tiered = self.keeps(claim, Mode.OFFLOADABLE)
        if tiered and claim.copied and not claim.said and claim.responsible:
            self._drop_twice(claim)
        elif not claim.said and not tiered and not claim.held:
            self._flash(claim)
        elif claim.said and claim.copied and not tiered and request in self.needs:
            self._lose_twice(claim, request)

    def _swap(self, claim: Promise, kind: Kind, **about: Any) -> None:
        """All blocks of the claim come, or go."""
        if kind is Kind.BLOCK_LOST:
            gone = [self.blocks.pop(key) for key in claim.keys if self.blocks.get(key)]
            blocks = tuple(block for each in gone for block in each)
            self.free += blocks
            self.say(kind, block_ids=blocks)
            claim.held = set()
            return
        pairs = {at: self.free.pop(0) for at in range(len(claim.keys))}
        self.blocks |= {claim.keys[at]: {block} for at, block in pairs.items()}
        claim.held = set(pairs)
        self.of(kind, claim, block_ids=tuple(pairs.values()), positions=tuple(pairs), **about)

    def _flash(self, claim: Promise) -> None:
        self._swap(claim, Kind.BLOCK_CACHED, found=True)
        self._swap(claim, Kind.BLOCK_LOST)
        claim.there = True
        if claim.responsible:
            self.of(Kind.CLAIM_HARMED, claim)
        elif claim.live:
            self.of(Kind.CLAIM_UNMATERIALIZED, claim)

    def _drop_twice(self, claim: Promise) -> None:
        for kind in (Kind.HOST_COPY_LOST, Kind.HOST_COPY_FOUND, Kind.HOST_COPY_LOST):
            self.of(kind, claim)
        claim.copied = False
        self.of(Kind.CLAIM_HARMED, claim)
        self.of(Kind.CLAIM_HARMED, claim)

    def _lose_twice(self, claim: Promise, request: str) -> None:
        self._swap(claim, Kind.BLOCK_LOST)
        self._swap(claim, Kind.LOAD_FINISHED, request_id=request)
        if claim.responsible and self.chance.random() < 0.5:
            self._swap(claim, Kind.BLOCK_LOST)
            self.of(Kind.CLAIM_HARMED, claim)
            claim.said = False
        if claim.responsible:
            self.of(Kind.CLAIM_HARMED, claim)
        elif claim.mode is Mode.SOFT_PRIORITY:
            self.of(Kind.CLAIM_BLOCK_LOST, claim)
        if claim.said:
            self.of(Kind.CLAIM_MATERIALIZED, claim)

    # A whole story.

    def begin(self) -> None:
        """Most claims are there from the start, and cached."""
        for claim in self.claims:
            if self.chance.random() < 0.7:
                self.submit(claim)
            if self.chance.random() < 0.6:
                self.fill(claim, None)

    def send_away(self, claim: Promise, request: str) -> None:
        """The claim is copied, leaves the GPU, and is asked for."""
        if claim.said and not claim.restoring and self.mode is not Mode.SOFT_PRIORITY:
            self.store(claim)
            keys, beside = set(claim.keys), [c for c in self.claims if c is not claim and c.live]
            if claim.mode is Mode.OFFLOADABLE and not any(keys & set(c.keys) for c in beside):
                self.lose(claim.keys, Kind.BLOCK_EVICTED)
            self.arrive(request)
            self.use(claim, request)

    def act_once(self) -> None:
        """One thing happens."""
        self.tick()
        chance = self.chance
        claim, request = chance.choice(self.claims), chance.choice(REQUESTS)
        if not claim.registered:
            self.submit(claim)
            return
        things = {
            "fill": lambda: self.fill(claim, None),
            "arrive": lambda: self.arrive(request),
            "use": lambda: self.use(claim, request),
            "finish": lambda: self.finish(request),
            "store": lambda: self.store(claim),
            "evict": lambda: self.evict(claim),
            "reset": self.reset,
            "copy": lambda: self.copy(claim),
            "drop": lambda: self.drop_copy(claim),
            "load": lambda: self.load(claim),
            "route": lambda: self.route(claim, request),
            "send away": lambda: self.send_away(claim, request),
            "hurry": lambda: self.hurry(claim, request),
            "release": lambda: self.release(claim),
            "demote": lambda: self.demote(claim),
        }
        weights = {"fill": 3, "arrive": 4, "use": 5, "finish": 2, "store": 3, "evict": 3}
        weights["hurry"], weights["route"] = 2, 4 if self.mode is Mode.ROUTED_REUSE else 1
        less = {"reset": 0.6, "release": 0.4, "demote": 0.3}
        weighed = [weights.get(name, less.get(name, 1)) for name in things]
        chance.choices(list(things.values()), weighed)[0]()

    def leave_hanging(self) -> None:
        """A request that was refused does not end, all claims do, and it comes again."""
        needed = USABLE - self.room(self.kept) + 1
        if self.counts and self.kept and needed <= USABLE:
            arrived: dict[str, Any] = {"request_id": "request:again", "usable": USABLE}
            self.say(Kind.REQUEST_ARRIVED, needed=needed, **arrived)
            self.act(Kind.REQUEST_REFUSED, "request:again", needed, self.blockers(needed))
            for claim in self.kept:
                self.release(claim)
            self.say(Kind.REQUEST_ARRIVED, needed=0, **arrived)

    def end(self) -> None:
        """What is in hand ends, and what is owed is reported; most claims are given up."""
        self.tick()
        for request in list(self.needs):
            self.finish(request)
        for claim in self.claims:
            if self.chance.random() < 0.4:
                self.release(claim)
