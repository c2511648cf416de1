"""Finds which claims and requests of a trace begin alike, by what looked up or found what.

Claims and requests that begin alike are of one object. How many blocks a request has of it shows
where a claim found no more of them, or a look-up asked for no more. What does not show is open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, groupby
from typing import NamedTuple

from spec.claims.predicates import parse_predicate
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import Event
from spec.language.errors import SpecError

__all__ = ["Asked", "Joins", "asked_by", "claims_of"]


class Asked(NamedTuple):
    """The first blocks that a claim asks for; `spares` says that needs leave them out."""

    size: int
    spares: bool


def asked_by(event: Event) -> Asked:
    """What a claim asks for, by its registration; raises SpecError if it is no leading prefix."""
    predicate = parse_predicate(event.predicate or "")
    if event.claim_id is None or event.mode not in set(Mode) or predicate.start:
        raise SpecError(f"claim {event.claim_id} is not on a leading prefix in a known mode")
    return Asked(predicate.end, not MODES[Mode(event.mode)].constants["watched"])


def claims_of(events: Sequence[Event]) -> dict[str, Asked]:
    """The claims of a trace that were not rejected, in the order in which they come."""
    rejected = {event.claim_id for event in events if event.kind is Kind.CLAIM_REJECTED}
    return {
        event.claim_id or "": asked_by(event)
        for event in events
        if event.kind is Kind.CLAIM_REGISTERED and event.claim_id not in rejected
    }


class Joins:
    """What begins alike in a trace with these claims.

    `limits` has how many blocks of its object a request has, and whether that is certain; `open`
    says why other prompts are possible than those that follow, if they are. `needs` is what
    requests need as they arrive, `whole` has those whose need leaves out nothing.
    """

    def __init__(self, events: Sequence[Event], claims: Mapping[str, Asked]) -> None:
        self.claims, self.open = claims, ""
        self.limits: dict[str, tuple[int, bool]] = {}
        arrivals = (event for event in events if event.kind is Kind.REQUEST_ARRIVED)
        self.needs = {event.request_id or "": event.needed or 0 for event in arrivals}
        self.whole = {e.request_id for e in events if e.kind is Kind.REQUEST_DEFERRED}
        self._like: dict[str, str] = {}  # an earlier member that begins like another
        # By which request, and at which position of its prompt, a block was filled.
        self._of: dict[int | str, tuple[str, int]] = {}
        self._sizes: dict[str, int] = {}  # the whole blocks that requests filled
        self._asked: dict[str, dict[str, int]] = {}  # those that look-ups could use of a claim
        self._keys: dict[str, tuple[int | str, ...]] = {}  # names of contents of claims
        for claim, some in groupby(events, lambda each: each.claim_id if each.found else None):
            together = list(some)
            for event in together:
                self._take(event)
            if claim in claims and all(event.request_id is None for event in together):
                self._find(str(claim), [block for event in together for block in event.block_ids])
        for request, asked in self._asked.items():
            self._limit(request, asked)
        self.objects = {name: self.object_of(f"claim {name}") for name in claims}
        for one, other in combinations(claims, 2):
            if self.objects[one] == self.objects[other] and not self._nested(one, other):
                self.open = self.open or f"claims {one} and {other} may be of different prompts"

    def object_of(self, member: str) -> str:
        """The object of `claim NAME` or `request NAME`: the first of those that begin alike."""
        while member in self._like:
            member = self._like[member]
        return member

    def _join(self, one: str, other: str) -> None:
        first, second = self.object_of(one), self.object_of(other)
        if first != second:
            self._like[second] = first

    def _take(self, event: Event) -> None:
        request, claim = event.request_id, event.claim_id if event.claim_id in self.claims else None
        if event.kind in (Kind.BLOCK_EVICTED, Kind.BLOCK_LOST):
            for block in event.block_ids or tuple(self._of):
                self._of.pop(block, None)
        elif request is not None:
            for block, at in zip(event.block_ids, event.positions, strict=False):
                self._of[block] = request, at
                self._sizes[request] = max(self._sizes.get(request, 0), at + 1)
            if claim is not None and event.kind in FACTS:  # reports are on trial
                self._join(f"claim {claim}", f"request {request}")
            if claim is not None and event.kind is Kind.PREFIX_LOOKUP:
                asked = self._asked.setdefault(request, {})
                asked[claim] = max(asked.get(claim, 0), event.asked or 0)
        elif claim is not None and event.contents:
            self._keys[claim] = event.contents

    def _find(self, claim: str, blocks: Sequence[int | str]) -> None:
        """A claim found these blocks, stated one after another, and none that hold what comes
        next of it.
        """
        shares: dict[str, int] = {}
        for block in blocks:
            if block in self._of:
                request, at = self._of[block]
                self._join(f"claim {claim}", f"request {request}")
                shares[request] = max(shares.get(request, 0), at + 1)
        for request, size in shares.items():
            if size >= min(self.claims[claim].size, self._sizes.get(request, 0)):
                continue
            if (request, size) in self._of.values():
                self.limits[request] = size, True
            else:
                self.open = f"whether claim {claim} is on all blocks of {request} does not show"

    def _limit(self, request: str, asked: Mapping[str, int]) -> None:
        """A request shares no more with a claim than a look-up asks for, if its prompt is longer.

        The block with the last token is never asked for.
        """
        most = max(asked.values())
        for claim, size in asked.items():
            if size < min(most, self.claims[claim].size):
                self.open = self.open or f"{request} shares more with others than with {claim}"
        more = any(size == most < self.claims[claim].size for claim, size in asked.items())
        behind = self._sizes.get(request, 0) - most
        if more and behind > 0 and request not in self.limits:
            self.limits[request] = most, behind > 1

    def _nested(self, one: str, other: str) -> bool:
        """Whether it shows that one claim is on the first blocks of the other."""
        size = min(self.claims[one].size, self.claims[other].size)
        if one in self._keys and other in self._keys:
            return self._keys[one][:size] == self._keys[other][:size]
        both = [each for each in self._asked.values() if {one, other} <= each.keys()]
        return any(min(each[one], each[other]) >= size for each in both)
