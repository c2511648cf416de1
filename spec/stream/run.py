"""Holds what is known of one run of an engine: what is held, who follows whom, what is in hand."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Final

from spec.events.alphabet import Kind
from spec.stream.capacity import Capacity, Ranks
from spec.stream.claim import TERMS, Claim
from spec.stream.durations import Durations
from spec.stream.facts import Facts
from spec.stream.generate import AT
from spec.stream.objects import Objects
from spec.stream.pool import Pool
from spec.stream.request import OF_REQUESTS, Requests

if TYPE_CHECKING:
    from collections.abc import Set

    from spec.events.canonical import Event
    from spec.stream.breaks import Limits
    from spec.stream.generate import Values
    from spec.stream.request import Request

__all__ = ["Run"]

_takes: Final = itemgetter(AT["responsible"], AT["declared"])
"""The registers that decide how many blocks a claim takes."""


class Run:
    """One run, from its first line or from a restatement.

    Attributes:
        claims: those of the stream that are kept, by id.
        owing: the claims of which a report is due.
        followers: by request, the claims that follow it.

    Args:
        limits: how much of it is kept.
    """

    def __init__(self, claims: dict[str, Claim], limits: Limits) -> None:
        self.claims = claims
        self.pool = Pool()
        self.objects = Objects(self.pool, limits.objects)
        self.capacity, self.ranks = Capacity(self.pool), Ranks()
        self.facts = Facts(self.pool, self.objects, self.capacity, limits)
        self.requests, self.durations = Requests(limits.requests), Durations()
        self.owing: dict[Claim, None] = {}
        self.followers: dict[str, dict[Claim, None]] = {}

    # Objects.

    def place(self, claim: Claim, event: Event) -> bool:
        """Put a claim on the object that it states; return whether keys have other names now.

        Raises:
            Contradiction: what it states is not what was stated of the object.
        """
        if claim.final:
            return False
        renamed, claim.placed = False, True
        if claim.obj.object_id is None and "object_id" in claim.stated:
            renamed = self._move(claim)
        self.objects.join(claim)
        claim.obj.bind(event.cache_identity, event.token_map)
        if event.kind not in TERMS or not event.contents:
            return renamed
        with self.capacity.resized(self.objects.sharing(claim.obj)):
            return self.objects.state(claim.obj, event.contents, self.pool) or renamed

    def _move(self, claim: Claim) -> bool:
        """Move a claim from an object of its own to the one that it states by name."""
        stated = claim.stated
        identity, token_map = stated.get("cache_identity"), stated.get("token_map")
        new = self.objects.called(stated["object_id"], identity, token_map)
        own = claim.obj
        self.objects.leave(claim)
        with self.capacity.resized([claim]):
            claim.obj = new
        places = sorted(own.places)
        self.pool.rename([(own.key(g, at), new.key(g, at)) for g, at in places])
        new.places |= {(g, at) for g, at in places if at >= len(new.contents)}
        return True

    # Requests, and what claims take.

    def begin_request(self, event: Event, observes: Set[Kind]) -> Request | None:
        """Begin the request that an event names, if it is new; return it as before the event.

        Scopes of an earlier request of the same id are dropped.

        Raises:
            Contradiction: the request cannot do or undergo that now.
        """
        name = event.request_id
        if name is None or event.kind not in OF_REQUESTS:
            return None
        ended = self.requests.ended(name)
        request = self.requests.of(name, event, observes)
        if ended is not None and ended is not request:
            for claim in self.followers.pop(name, {}):
                claim.drop_request(name)
        return request

    def pressed(self, observes: Set[Kind]) -> bool | None:
        """Whether a request in hand is in a standing conflict; None if that is unknown."""
        found = [
            self.capacity.conflicts(r.needed, r.usable) for r in self.requests.in_hand.values()
        ]
        unknown = None in found or Kind.REQUEST_ARRIVED not in observes
        return True if True in found else None if unknown else False

    def update(self, claim: Claim, facts: Values, number: int) -> None:
        """An event changes the registers of a claim, and with them what it takes.

        Args:
            number: of the event.
        """
        before, claim.facts = claim.facts, facts
        if _takes(before) == _takes(facts):
            return
        if claim.responsible and not before[AT["responsible"]]:
            claim.took = number
        self.capacity.remove(claim)
        if claim.responsible:
            self.capacity.add(claim)

    def owe(self, claim: Claim) -> None:
        """Note whether a report of a claim is due."""
        if claim.owes:
            self.owing[claim] = None
        else:
            self.owing.pop(claim, None)

    def drop(self, claim: Claim) -> None:
        """A claim is no longer followed."""
        self.objects.leave(claim)
        self.capacity.remove(claim)
        self.ranks.drop(claim)
        self.owing.pop(claim, None)
        self.durations.timed.pop(claim, None)
        for name in claim.requests:
            self.followers.get(name, {}).pop(claim, None)
        claim.copies.clear()
