"""How an honest runtime uses claims: they are found, restored, loaded, or computed."""

from __future__ import annotations

from typing import Any

import msgspec

from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from tests.streams.honest import Promise
from tests.streams.honest_room import Rooms

__all__ = ["Tier"]


class Tier(Rooms):
    """A runtime with an offload tier."""

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
            if claim.name not in self.computed[request] and not claim.restoring:
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
        fate = self.chance.random()
        if fate < 0.1:  # it is turned away before, for whatever reason
            self.needs.pop(request, None)
            self.say(Kind.REQUEST_REFUSED, request_id=request, blocking_claim_ids=())
            self.say(Kind.REQUEST_FINISHED, request_id=request)
            return
        if fate < 0.5:
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
        lost = self.keeps(claim, Mode.OFFLOADABLE) and not claim.said
        if lost and claim.responsible:
            self.of(Kind.CLAIM_HARMED, claim)
