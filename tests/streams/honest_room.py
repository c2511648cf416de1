"""Requests of an honest runtime: they fit, or meet an action; they wait, and end."""

from __future__ import annotations

from typing import Any, Final

from spec.events.alphabet import Kind
from spec.events.canonical import CapacityProof
from tests.streams.honest import USABLE, Promise, Runtime

__all__ = ["Rooms"]

_BY_ACTION: Final = (
    Kind.REQUEST_ROUTED_ELSEWHERE,
    Kind.REQUEST_BOUNDED,
    Kind.REQUEST_OFFLOADED,
    Kind.REQUEST_SPLIT,
)


class Rooms(Runtime):
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
        """A request comes: it fits, or an action is reported, or claims give way. Where
        no reader can know what claims take together it needs no blocks, and fits.
        """
        if request in self.needs or request in self.turned_away:
            return
        if not self.counts:
            self.say(Kind.REQUEST_ARRIVED, request_id=request, needed=0, usable=10 * USABLE)
            self.computed[request], self.needs[request] = set(), 0
            return
        resident, chance = self.room(self.kept), self.chance
        full = max(0, USABLE - resident)
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
        """An action is reported, in these names."""
        proof = self.proof(needed)
        self.say(kind, request_id=request, blocking_claim_ids=names, proof=proof)

    def _conflict(self, request: str, needed: int) -> None:
        """What does not fit beside the claims is refused or waits, or claims give way."""
        fate = self.chance.random()
        if self.cheats():
            pass  # it is served, and nobody is told how
        elif fate < 0.5:
            self.act(Kind.REQUEST_REFUSED, request, needed, self.blockers(needed))
        elif fate < 0.6:
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

    def load(self, claim: Promise) -> None:
        """What a request waits for comes back, or does not."""
        raise NotImplementedError
