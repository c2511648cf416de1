"""Tracks the requests of a stream: the blocks that each needs, and the claims involved."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from monitor.evaluate.cached_step import drop_requests
from monitor.requests.request import Request
from spec.events.alphabet import FACTS, Kind
from spec.events.fields import REQUEST_KINDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.observer_state import Registers
    from monitor.input.records import At
    from monitor.requests.observability import ObservabilityLoss
    from spec.events.canonical import Event

__all__ = ["ENDED_REQUESTS", "Requests"]

PAIRS: Final = 50_000
"""Unfinished requests that are followed for claims of one stream, each counted once for each claim.
"""

LATE: Final = 100_000
"""The same of requests that ended, about which a report may come late; beyond it the oldest leave.
"""

ENDED_REQUESTS: Final = 10_000
"""Requests of one stream of which it is known that they ended, and what became of them."""

_OF_REQUESTS: Final = REQUEST_KINDS | {Kind.BLOCK_CACHED}
_GONE: Final = (None, "the request may have ended so long ago that it is no longer tracked")


class Requests:
    """The requests of a stream by their ids: those that have not ended, and some that have.

    `given_up` counts those that ended and are forgotten. From the first one on, a request that
    nothing is known of may be one of them; unless its arrival may not have been observed, and then
    nothing is concluded anyway of the obligations that are judged for each request.

    Args:
        track: of the stream.
        ended: how many of those that ended are remembered; by default `ENDED_REQUESTS`.
    """

    def __init__(self, track: ObservabilityLoss, ended: int | None = None) -> None:
        self._track, self._most = track, ENDED_REQUESTS if ended is None else ended
        self.given_up, self.arrivals = 0, True  # whether these are observed
        self._requests: dict[str, Request] = {}
        self._past: deque[str] = deque()
        self._ended: dict[str, tuple[int, bool]] = {}  # the last ones: losses, whether they came
        self._pairs = 0  # of a claim and a request that it has in hand
        self._late_pairs = 0  # those of these whose request has ended
        self._late: dict[str, None] = {}  # these requests, the first to end first
        self.full = ""  # why nothing is concluded of claims with more requests than are followed
        self._in_hand: dict[str, int | None] = {}  # those that came and did not end, with needs
        self._needs = 0  # of all of these
        self._unstated = 0  # those of these whose needs are not stated

    def get(self, request_id: str) -> Request:
        """The request of this id, made on first sight."""
        if request_id not in self._requests:
            self._requests[request_id] = self._unmet(request_id)
        return self._requests[request_id]

    def _unmet(self, request_id: str) -> Request:
        """A request of which no more is known than whether it ended."""
        if (past := self._ended.get(request_id)) is not None:
            losses, came = past
            unmet = Request(losses=losses, came=came)
            unmet.ended = True
            return unmet
        unmet = Request()
        if self.given_up > 0 and self.arrivals:
            unmet.gone, unmet.unnamed = True, _GONE
        return unmet

    def standing(self, request_id: str) -> Request | None:
        """The request of this id, if it came and did not end; then it is not `gone`."""
        return self._requests.get(request_id) if request_id in self._in_hand else None

    def is_new(self, request_id: str) -> bool:
        """Whether nothing is known of a request of this id, not even that one ended."""
        return not (request_id in self._requests or request_id in self._ended or not request_id)

    def __len__(self) -> int:
        """How many requests something is known of."""
        return len(self._requests)

    def drop(self, request_id: str) -> None:
        """Let go of a request of which nothing is known, as of one that was not met."""
        request = self._requests.get(request_id)
        if (
            request is not None
            and not request.arrived
            and request.state == self._unmet(request_id).state
        ):
            del self._requests[request_id]

    def has(self, request_id: str) -> bool:
        """Whether the request came and did not end."""
        return request_id in self._in_hand

    def came_twice(self, request_id: str) -> bool:
        """Whether the request, if it arrived now, would be in hand already, and no end of it can be
        missing.
        """
        return self.has(request_id) and self.get(request_id).missing == self._track.missing

    def is_out_of_hand(self, event: Event) -> bool:
        """Whether an event is of a request before its arrival, or a fact of one that has ended:
        the theorem assumes that there is none. Ends of long ago are forgotten.
        """
        name, kind = event.request_id, event.kind
        if name is None or kind not in _OF_REQUESTS:
            return False
        there = name in self._in_hand
        if kind is Kind.REQUEST_ARRIVED:
            return there
        return not there and (kind in FACTS or name not in self._ended)

    @property
    def in_hand(self) -> Collection[str]:
        """The requests that came and did not end."""
        return self._in_hand.keys()

    def others(self, request_id: str) -> tuple[int, bool]:
        """Blocks that the other requests in hand need, and whether all of them stated it."""
        own = self._in_hand.get(request_id, 0)
        return self._needs - (own or 0), self._unstated == (own is None)

    def renew(self, request_id: str) -> None:
        """Of a request that has ended nothing is left where another of its id begins."""
        before = self._requests.get(request_id)
        if before is not None and before.ended:
            for claim in list(before.claims.values()):
                claim.leave(request_id)
                self._leave(claim, request_id)
            another = self._requests[request_id] = Request()
            another.forgotten = before.forgotten
        self._ended.pop(request_id, None)

    def arrive(self, event: Event, at: At, now: int, *, unsure: bool = False) -> None:
        """A request arrives, or another of the same id, which is followed where that one is.

        Args:
            unsure: its needs are unknown.
        """
        name = event.request_id or ""
        request = Request(at, since=now, losses=self._track.losses, came=True)
        request.unsure, request.missing = unsure, self._track.missing
        if (before := self._requests.get(name)) is not None:
            request.claims, request.forgotten = before.claims, before.forgotten
            request.failed, request.unnamed = before.failed, before.unnamed
            if unsure:  # it contradicts that one, which may go on
                request.losses = before.losses
            if before.ended:
                self._late_pairs -= len(before.claims)
                self._late.pop(name, None)
        if event.needed is not None:
            request.needed, request.usable, request.arrived = event.needed, event.usable or 0, True
        self._requests[name] = request
        self._leave_hand(name)
        self._in_hand[name] = needed = None if unsure else event.needed
        self._needs += needed or 0
        self._unstated += needed is None

    def _leave_hand(self, request_id: str) -> None:
        if request_id in self._in_hand:
            needed = self._in_hand.pop(request_id)
            self._needs -= needed or 0
            self._unstated -= needed is None

    def follow(self, claim: ClaimRun, request_id: str, at: At, facts: Registers) -> bool:
        """A claim has a request in hand from now on, unless there are too many.

        Nothing is concluded of a claim that has too many in hand.

        Args:
            facts: the registers of the request, where the claim does not follow it yet.

        Returns:
            Whether it has it in hand, new or not.
        """
        if request_id in claim.requests:
            return True
        if self._pairs - self._late_pairs >= PAIRS:
            self.full = f"claims have {PAIRS} unfinished requests, and no more are tracked"
            claim.distrust(at, self.full)
        if claim.taint is not None:
            self.leave_all(claim)
            return False
        self._pairs += 1
        request = self.get(request_id)
        request.claims[claim.claim_id] = claim
        claim.open_request(request_id, facts)
        if request.ended:
            self._late_pairs += 1
            self._late.setdefault(request_id)
        return True

    def has_room(self, number: int) -> bool:
        """Whether so many claims more may have a request in hand."""
        return self._pairs - self._late_pairs + number <= PAIRS

    def take_in_hand(self, claim: ClaimRun, request: Request) -> bool:
        """The same, where the claim opens the request itself; False, and nothing, if there are too
        many.
        """
        if self._pairs - self._late_pairs >= PAIRS:
            return False
        self._pairs += 1
        request.claims[claim.claim_id] = claim
        return True

    def put_out_of_hand(self, claim: ClaimRun, request: Request) -> None:
        """The claim has a request, which has not ended for others, in hand no more."""
        del request.claims[claim.claim_id]
        self._pairs -= 1

    def leave_all(self, claim: ClaimRun) -> None:
        """The claim has no request in hand any more."""
        for gone in drop_requests(claim):
            self._leave(claim, gone)
            self._settle(gone)

    def end(self, request_id: str) -> None:
        """The request ended: its need no longer matters; what failed may still be reported."""
        request = self._requests.get(request_id)
        self._leave_hand(request_id)
        if request is None:
            return
        self._ended[request_id] = (request.losses, request.came)
        if len(self._ended) > self._most:
            del self._ended[next(iter(self._ended))]
            self.given_up += 1
        if request.claims and not request.ended:
            self._late_pairs += len(request.claims)
            self._late[request_id] = None
        known = request.claims or request.former or request.forgotten
        if known and not request.failed and request.unnamed is None:
            request.forget_needs()
        request.ended = True
        self._settle(request_id)
        while self._late_pairs > LATE:
            self._let_go(next(iter(self._late)))

    def _let_go(self, request_id: str) -> None:
        """A request that ended is out of hand for every claim."""
        for claim in list(self._requests[request_id].claims.values()):
            claim.leave(request_id)
            self._leave(claim, request_id).leave(claim.claim_id)
        self._settle(request_id)

    def close(self, claim: ClaimRun, request_id: str) -> None:
        """The request ended for a claim, which may put an older one out of hand."""
        self.let_go(claim, claim.close_request(request_id), request_id)

    def let_go(self, claim: ClaimRun, names: Iterable[str], request_id: str) -> None:
        """Requests are out of hand of a claim because one, perhaps of them, ended for it."""
        for gone in names:
            request = self._leave(claim, gone)
            if gone != request_id:
                request.leave(claim.claim_id)
                self._settle(gone)

    def forget(self, claim: ClaimRun) -> None:
        """The claim is forgotten, with the requests that it had in hand."""
        for request_id in drop_requests(claim):
            self._leave(claim, request_id).outlive(claim.claim_id)
            self._settle(request_id)

    def _leave(self, claim: ClaimRun, request_id: str) -> Request:
        request = self._requests[request_id]
        del request.claims[claim.claim_id]
        self._pairs -= 1
        if request.ended:
            self._late_pairs -= 1
            if not request.claims:
                del self._late[request_id]
        return request

    def _settle(self, request_id: str) -> None:
        """No claim tracks the ended request any more: keep it for a while, if at all."""
        request = self._requests[request_id]
        if not request.ended or request.claims:
            return
        if not (request.former or request.forgotten or request.failed or request.unnamed):
            del self._requests[request_id]
            return
        self._past.append(request_id)
        if len(self._past) > self._most:
            oldest = self._past.popleft()
            found = self._requests.get(oldest)
            if found is not None and found.ended and not found.claims:
                del self._requests[oldest]
                self.given_up += self._ended.pop(oldest, None) is not None
