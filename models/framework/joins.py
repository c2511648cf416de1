"""Finds which claims and requests of a trace begin alike, by what looked up or found what.

Claims and requests that begin alike are of one object. How many blocks a request has of it shows
where a claim found no more of them, or a look-up asked for no more. What does not show is open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, groupby

from models.framework.beginnings import Asked
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import Event

__all__ = ["Joins", "Objects"]


class Objects:
    """Which claims and requests begin alike: each set of them is an object, named by its first."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def name(self, member: str) -> str:
        """The object of a claim or a request."""
        while (above := self._of.get(member, member)) != member:
            member = above
        return member

    def join(self, one: str, other: str) -> None:
        """Two of them begin alike."""
        self._of[self.name(other)] = self.name(one)


class Joins:
    """What begins alike in a trace with these claims.

    `limits` has how many blocks of its object a request has, and whether that is certain; `open`
    says why other prompts are possible than those that follow, if they are.
    """

    def __init__(self, events: Sequence[Event], claims: Mapping[str, Asked]) -> None:
        self.claims, self.objects, self.open = claims, Objects(), ""
        self.limits: dict[str, tuple[int, bool]] = {}
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
        for one, other in self._of_one_object():
            if not self._nested(one, other):
                self.open = self.open or f"claims {one} and {other} may be of different prompts"

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
                self.objects.join(f"claim {claim}", f"request {request}")
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
                self.objects.join(f"claim {claim}", f"request {request}")
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

    def _of_one_object(self) -> Iterator[tuple[str, str]]:
        of: dict[str, list[str]] = {}
        for claim in self.claims:
            of.setdefault(self.objects.name(f"claim {claim}"), []).append(claim)
        for members in of.values():
            yield from combinations(members, 2)

    def _nested(self, one: str, other: str) -> bool:
        """Whether it shows that one claim is on the first blocks of the other."""
        size = min(self.claims[one].size, self.claims[other].size)
        if one in self._keys and other in self._keys:
            return self._keys[one][:size] == self._keys[other][:size]
        both = [each for each in self._asked.values() if {one, other} <= each.keys()]
        return any(min(each[one], each[other]) >= size for each in both)
