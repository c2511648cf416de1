"""Requests of an honest runtime: they fit or meet an action, use claims, wait, fail and end."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from spec.alphabet import Kind
from spec.claims import Mode
from spec.events import CapacityProof, Event
from tests.honest import REQUESTS, USABLE, Promise, Runtime

__all__ = ["Server"]

_BY_ACTION: Final = (
    Kind.REQUEST_ROUTED_ELSEWHERE,
    Kind.REQUEST_BOUNDED,
    Kind.REQUEST_OFFLOADED,
    Kind.REQUEST_SPLIT,
)


class Server(Runtime):
    """A runtime with requests in hand; `computed` are the claims that each computed itself."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.computed: dict[str, set[str]] = {}
        self.turned_away: set[str] = set()  # for failed restores; they do not come again

    # Room.

    def room(self, claims: list[Promise]) -> int:
        """Blocks of these claims, each once."""
        return len({key for claim in claims for key in claim.keys})

    @property
    def kept(self) -> list[Promise]:
        return [claim for claim in self.claims if claim.responsible]

    def blockers(self, needed: int) -> tuple[str, ...]:
        """Claims without which the request fits, and none too many."""
        named = self.chance.sample(self.kept, len(self.kept))
        for claim in list(named):
            others = [c for c in self.kept if c not in named or c is claim]
            if needed + self.room(others) <= USABLE:
                named.remove(claim)
        if self.cheats():
            named = self.chance.sample(self.claims, self.chance.randint(0, len(self.claims)))
        return tuple(claim.name for claim in named)

    def proof(self, needed: int) -> CapacityProof | None:
        """The sums, right; active blocks are the request's, and some of the others'."""
        if self.chance.random() < 0.5:
            return None
        resident, others = self.room(self.kept), sum(self.needs.values())
        resident += self.cheats()
        active = needed + self.chance.randint(0, others)
        total = resident + active
        return CapacityProof(resident, active, total, USABLE, max(0, total - USABLE))

    def arrive(self, request: str) -> None:
        """A request comes: it fits, or an action is told, or claims give way."""
        if request in self.needs or request in self.turned_away:
            return
        resident, chance = self.room(self.kept), self.chance
        full = USABLE - resident
        needed = chance.choice((0, 1, 1, 2, full, full + 1, chance.randint(1, USABLE + 1)))
        self.say(Kind.REQUEST_ARRIVED, request_id=request, needed=needed, usable=USABLE)
        self.computed[request] = set()
        if needed <= USABLE < needed + resident:
            self._conflict(request, needed)
        elif needed > USABLE:
            self.act(Kind.REQUEST_REFUSED, request, needed, ())
            self.say(Kind.REQUEST_FINISHED, request_id=request)
        elif USABLE < needed + resident + sum(self.needs.values()):
            self._wait(request, needed)
        else:
            self.needs[request] = needed

    def act(self, kind: Kind, request: str, needed: int, names: tuple[str, ...]) -> None:
        """An action is told, in these names."""
        proof = self.proof(needed)
        self.say(kind, request_id=request, blocking_claim_ids=names, proof=proof)

    def _conflict(self, request: str, needed: int) -> None:
        """What does not fit beside the claims is refused or waits, or claims give way."""
        fate = self.chance.random()
        if self.cheats():
            pass  # it is served, and nobody is told how
        elif fate < 0.5:
            self.act(Kind.REQUEST_REFUSED, request, needed, self.blockers(needed))
        elif fate < 0.65:
            self.act(self.chance.choice(_BY_ACTION), request, needed, self.blockers(needed))
        elif fate < 0.8:
            names = self.chance.choice(((), self.blockers(needed)))
            self.act(Kind.REQUEST_DEFERRED, request, needed, names)
            if not names:
                self._wait_for_claims(request, needed)
                return
        else:
            for claim in self.kept:
                self.demote(claim)
        self.say(Kind.REQUEST_FINISHED, request_id=request)

    def _wait_for_claims(self, request: str, needed: int) -> None:
        """A deferral that named nobody: the claims leave, or they are named in the end."""
        if self.chance.random() < 0.4:
            for claim in self.kept:
                self.release(claim)
        elif not self.cheats():
            self.act(Kind.REQUEST_REFUSED, request, needed, self.blockers(needed))
        self.say(Kind.REQUEST_FINISHED, request_id=request)

    def _wait(self, request: str, needed: int) -> None:
        """Beside other requests there is no room: it waits in silence, or is turned away."""
        fate, kept = self.chance.random(), [c for c in self.kept if self._share(c)]
        if fate < 0.5:
            self.needs[request] = needed
        else:
            names = (self.chance.choice(kept).name,) if kept and fate < 0.8 else ()
            kind = Kind.REQUEST_REFUSED if fate < 0.9 else Kind.REQUEST_DEFERRED
            self.act(kind, request, needed, names)
            if kind is Kind.REQUEST_REFUSED:
                self.say(Kind.REQUEST_FINISHED, request_id=request)
            else:
                self.needs[request] = needed

    def _share(self, claim: Promise) -> int:
        return self.room(self.kept) - self.room([c for c in self.kept if c is not claim])

    def finish(self, request: str) -> None:
        """A request in hand ends, and what it waits for before."""
        if request not in self.needs:
            return
        for claim in self.claims:
            if claim.restoring == request:
                self.load(claim)
                if request not in self.needs:
                    return
        del self.needs[request]
        self.say(Kind.REQUEST_FINISHED, request_id=request)

    # Using claims.

    def use(self, claim: Promise, request: str) -> None:
        """A request in hand looks for a claim's blocks, and finds, restores or computes them."""
        if request not in self.needs or not claim.registered:
            return
        about: dict[str, Any] = {"claim_id": claim.name, "request_id": request}
        start, lead = claim.span.start, 0
        while start + lead in claim.held:
            lead += 1
        asked = self.chance.choice((len(claim.keys), len(claim.keys), claim.span.start + 1, None))
        found = lead if asked is None else min(lead, max(0, asked - start))
        stated = None if self.chance.random() < 0.1 else found
        self.say(Kind.PREFIX_LOOKUP, **about, held=stated, asked=asked)
        if lead >= len(claim.span):
            if claim.name not in self.computed[request] and claim.restoring != request:
                self.say(Kind.PREFIX_REUSED, **about)
        elif claim.copied and claim.responsible and not claim.restoring:
            self._restore(claim, request)
        elif not claim.restoring:
            self.fill(claim, request)

    def fill(self, claim: Promise, request: str | None) -> None:
        """A request computes what is missing, unless a copy is to be restored instead."""
        beside = [c for c in self.claims if set(c.keys) & set(claim.keys) and c.live]
        if any(c.copied and (c.restoring or len(c.held) < len(c.keys)) for c in beside):
            return
        if request is not None:
            self.computed[request] |= {c.name for c in self.claims}
        elif len(self.needs) == 1:
            self.computed[next(iter(self.needs))] |= {c.name for c in self.claims}
        elif self.needs:
            return  # nobody could tell which of them computed it
        self.compute(claim, request)

    def _restore(self, claim: Promise, request: str) -> None:
        if claim.mode is not Mode.OFFLOADABLE:
            self._load_quietly(claim, request)
            return
        if self.cheats():
            self._go_without(claim, request)
            return
        claim.restoring = request
        self.of(Kind.CLAIM_RESTORE_REQUIRED, claim, request_id=request)
        if self.chance.random() < 0.6:
            self.load(claim)

    def _missing(self, claim: Promise) -> dict[int, str]:
        return {at: key for at, key in enumerate(claim.keys) if not self.blocks.get(key)}

    def _load_quietly(self, claim: Promise, request: str) -> None:
        """In modes that promise nothing of the tier a load is told by what it brings."""
        gained = self.place(claim, self._missing(claim), Kind.LOAD_FINISHED, request)
        self.look(gained)

    def load(self, claim: Promise) -> None:
        """What was waited for comes back, or does not."""
        request, claim.restoring = claim.restoring, None
        if request is None or not claim.responsible or self.cheats():
            return
        if self.chance.random() < 0.45:
            self._fail(claim, request)
            return
        gained = self.place(claim, self._missing(claim), Kind.LOAD_FINISHED, request)
        if not gained:  # another request brought it back meanwhile
            self.of(Kind.LOAD_FINISHED, claim, request_id=request, held=len(claim.span))
        if not self.cheats():
            self.of(Kind.CLAIM_RESTORED, claim, request_id=request, from_tier=not self.cheats())
        claim.said = True
        self.look([c for c in gained if c is not claim])
        self.look([claim])
        if self.chance.random() < 0.8:
            self.of(Kind.PREFIX_REUSED, claim, request_id=request)

    def _fail(self, claim: Promise, request: str) -> None:
        """A restore failed: an outcome names the claim before anything else is done."""
        fate = self.chance.choice(("refusal", "refusal", "demotion", "harm", "release"))
        self.of(Kind.LOAD_FAILED, claim, request_id=request)
        said: dict[str, Any] = {"request_id": request, "outcome_claim_id": claim.name}
        if self.cheats():
            self._brush_aside(claim, request)
            return
        if fate == "release":
            self.demote(claim)
            return
        if fate == "harm" and self.chance.random() < 0.3:
            self.of(Kind.CLAIM_HARMED, claim)
            self.of(Kind.CLAIM_RESTORATION_FAILED, claim, outcome=fate, **said)
            return
        if self.chance.random() < 0.8 or fate != "refusal":
            self.of(Kind.CLAIM_RESTORATION_FAILED, claim, outcome=fate, **said)
        if fate == "refusal":
            names = (claim.name,)
            self.say(
                Kind.REQUEST_REFUSED, request_id=request, blocking_claim_ids=names, restore=True
            )
            if self.chance.random() < 0.3:
                self.of(Kind.CLAIM_RESTORATION_FAILED, claim, outcome=fate, echo=True, **said)
            self.needs.pop(request, None)
            self.turned_away.add(request)
            self.say(Kind.REQUEST_FINISHED, request_id=request)
        elif fate == "harm":
            self.of(Kind.CLAIM_HARMED, claim)
        else:
            self.demote(claim)

    # What must not be.

    def _go_without(self, claim: Promise, request: str) -> None:
        """What should be restored is computed, loaded unsaid, or used though it is not there."""
        fate = self.chance.randrange(4)
        if fate == 0:
            self.place(claim, self._missing(claim), Kind.BLOCK_CACHED, request)
        elif fate == 1:
            self.of(Kind.CLAIM_RESTORE_REQUIRED, claim, request_id=request)
            self.place(claim, self._missing(claim), Kind.LOAD_FINISHED, request)
        elif fate == 2:
            self.of(Kind.CLAIM_RESTORED, claim, request_id=request, from_tier=True)
        self.of(Kind.PREFIX_REUSED, claim, request_id=request)

    def _brush_aside(self, claim: Promise, request: str) -> None:
        """A failed load is answered in part, or in another name, or not at all."""
        said: dict[str, Any] = {"claim_id": claim.name, "request_id": request}
        other, outcome = self.chance.choice(self.claims), self.chance.choice(("refusal", "harm"))
        steps = [
            Event(kind=Kind.PREFIX_REUSED, **said),
            Event(
                kind=Kind.CLAIM_RESTORATION_FAILED,
                **said,
                outcome=self.chance.choice((outcome, outcome, "fallback_recompute")),
                outcome_claim_id=self.chance.choice((claim.name, other.name)),
            ),
            Event(
                kind=Kind.REQUEST_REFUSED,
                request_id=request,
                blocking_claim_ids=(claim.name, other.name)[self.chance.randrange(2) :],
                restore=True,
            ),
            Event(kind=Kind.CLAIM_HARMED, claim_id=claim.name),
            Event(kind=Kind.PREFIX_REUSED, **said),
            Event(kind=Kind.REQUEST_FINISHED, request_id=request),
        ]
        for step in steps:
            if self.chance.random() < 0.5:
                self.told.append(msgspec.structs.replace(step, time_ns=self.now))
        if self.told[-1].kind is Kind.REQUEST_FINISHED:
            self.needs.pop(request, None)

    # The tier.

    def store(self, claim: Promise) -> None:
        """The claim is copied to the tier, or is found there."""
        if claim.restoring or claim.copied or not claim.live:
            return
        if claim.there and claim.said:
            self.of(Kind.STORE_FINISHED, claim)
        elif self.chance.random() < 0.3:
            self.of(Kind.HOST_COPY_FOUND, claim)
        else:
            return
        claim.copied = True
        if claim.mode is Mode.OFFLOADABLE:
            self.of(Kind.CLAIM_OFFLOADED, claim)

    def drop_copy(self, claim: Promise) -> None:
        """The copy is gone; with it the claim, if it was nowhere else."""
        if not claim.copied or claim.restoring:
            return
        claim.copied = False
        self.of(Kind.HOST_COPY_LOST, claim)
        lost = claim.mode is self.mode is Mode.OFFLOADABLE and not claim.said
        if lost and claim.responsible:
            self.of(Kind.CLAIM_HARMED, claim)

    # Routes.

    def route(self, claim: Promise, request: str) -> None:
        """A request is sent to a worker for the claim, and hits or misses; all of it is told."""
        if request not in self.needs or not claim.live:
            return
        cost, worker = self.chance.randint(0, 9), self.chance.choice(("w:1", "w:2"))
        hit = self.chance.random() < 0.5
        about: dict[str, Any] = {"claim_id": claim.name, "request_id": request}
        self.say(Kind.REQUEST_ROUTED, **about, cost=cost, worker=worker)
        if not self.cheats():
            self.say(Kind.ROUTE_COST_REPORTED, **about, cost=cost + self.cheats())
        if not self.cheats():
            other = "w:3" if self.cheats() else worker
            self.say(Kind.ROUTE_PLACEMENT_REPORTED, **about, worker=other)
        if self.chance.random() < 0.7:
            self.say(Kind.REUSE_SERVED, **about, hit=hit)
            if not self.cheats():
                self.say(Kind.ROUTE_REUSE_REPORTED, **about, hit=hit is not self.cheats())

    # What happens too fast to be told in between.

    def hurry(self, claim: Promise, request: str) -> None:
        """Blocks come and go, by nobody's choice, before anything can be said of it."""
        beside = [c for c in self.claims if c is not claim and c.registered]
        alone = not any(set(c.keys) & set(claim.keys) for c in beside)
        if not (alone and claim.live and not claim.restoring and claim.keys):
            return
        tiered = claim.mode is self.mode is Mode.OFFLOADABLE
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

    def end(self) -> None:
        """What is in hand ends, and what is owed is told; most claims are given up."""
        self.tick()
        for request in list(self.needs):
            self.finish(request)
        for claim in self.claims:
            if self.chance.random() < 0.4:
                self.release(claim)
