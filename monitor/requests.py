"""The requests of a stream: what each needs, who has a part in it, and who is named for it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monitor.claim import ClaimRun
    from monitor.records import At
    from monitor.view import View
    from spec.events import Event

__all__ = ["OUTCOMES", "Blame", "Request", "Requests", "tell_outcome"]

OUTCOMES = frozenset({"refusal", "demotion", "expiry", "harm"})
_PAST_KEPT = 10_000  # ended requests of which it is known that a claim had to do with them


@dataclass(slots=True)
class Request:
    """One request, whatever claims it has to do with.

    `needed` and `usable` are in blocks; as long as no arrival stated them, it needs more than is
    usable at all, and so is in conflict with nobody. `since` is the number of the event by which it
    arrived, `pool` the blocks declared then; `again` says that it has arrived before and not ended.
    `failed` names the known claims whose restore failed for it; `lacks` says that somebody was
    responsible for one of them. `whole` says that it was seen from its arrival on and nothing has
    been missing since. `claims` have it in hand; `former` had, and it is too long ago.
    """

    at: At | None = None
    needed: int = 1
    usable: int = 0
    arrived: bool = False
    since: int = 0
    pool: int = 0
    again: bool = False
    whole: bool = False
    lacks: bool = False
    ended: bool = False
    failed: set[str] = field(default_factory=set)
    claims: dict[str, ClaimRun] = field(default_factory=dict)
    former: set[str] = field(default_factory=set)

    def tell(self, view: View) -> None:
        """What the request needs, of what."""
        view.needed, view.usable = self.needed, self.usable


class Requests:
    """The requests of a stream by their ids: those that have not ended, and some that have."""

    def __init__(self) -> None:
        self._requests: dict[str, Request] = {}
        self._past: deque[str] = deque()

    def get(self, request_id: str) -> Request:
        """The request of this id, made on first sight."""
        if request_id not in self._requests:
            self._requests[request_id] = Request()
        return self._requests[request_id]

    def arrive(self, event: Event, at: At, now: int, pool: int) -> None:
        """A request arrives, or another of the same id, which is in hand where that one is."""
        name = event.request_id or ""
        before = self.get(name)
        again = before.arrived and not before.ended
        request = Request(at, since=now, pool=pool, again=again, whole=True, claims=before.claims)
        if again:
            request.since = before.since
        if event.needed is not None:
            request.needed, request.usable, request.arrived = event.needed, event.usable or 0, True
        self._requests[name] = request

    def end(self, request_id: str) -> None:
        """The request ended. What it needed no longer matters; what failed may still be told."""
        request = self._requests[request_id]
        if not request.failed:
            fresh = Request(claims=request.claims, former=request.former)
            self._requests[request_id] = request = fresh
        request.ended = True
        self._settle(request_id)

    def close(self, claim: ClaimRun, request_id: str) -> None:
        """The request ended for a claim, which may put an older one out of hand."""
        for gone in claim.close_request(request_id):
            request = self._requests[gone]
            del request.claims[claim.claim_id]
            if gone != request_id:
                request.former.add(claim.claim_id)
                self._settle(gone)

    def lose_track(self) -> None:
        """Events are missing, or out of order."""
        for request in self._requests.values():
            request.whole = False

    def _settle(self, request_id: str) -> None:
        """Nobody may have an ended request in hand any more: remember it a while if at all."""
        request = self._requests[request_id]
        if not request.ended or request.claims:
            return
        if not request.former and not request.failed:
            del self._requests[request_id]
            return
        self._past.append(request_id)
        if len(self._past) > _PAST_KEPT:
            oldest = self._past.popleft()
            found = self._requests.get(oldest)
            if found is not None and found.ended and not found.claims:
                del self._requests[oldest]


class Blame:
    """Whom an action on a request names, added up once for all claims that hear of it."""

    def __init__(self, event: Event, request: Request, claims: Mapping[str, ClaimRun]) -> None:
        self.named = frozenset(event.blocking_claim_ids or ())
        said = self.named | ({event.outcome_claim_id} if event.outcome_claim_id else set())
        self._event = event
        self._restore = event.restore and request.lacks
        self._smear = bool(said - request.failed)
        self._strangers = {n for n in self.named if n not in claims or not claims[n].responsible}
        self._declared = {n: claims[n].declared for n in self.named if n in claims}
        counted = sorted(blocks for blocks in self._declared.values() if blocks > 0)
        self._sum, self._least = sum(counted), counted[:2]

    def tell(self, view: View, claim_id: str) -> None:
        """What of it concerns one claim: whether it is named, and what the others named hold."""
        event = self._event
        own = self._declared.get(claim_id, 0)
        least = self._least[1:] if own in self._least[:1] else self._least
        view.restore, view.smear = self._restore, self._smear
        view.accuses = bool(self.named)
        view.blamed = claim_id in self.named
        view.blamed_rest, view.blamed_least = self._sum - own, least[0] if least else 0
        view.stranger = bool(self._strangers - {claim_id})
        if event.proof is not None:
            view.proof = True
            view.said_resident, view.said_active = event.proof.resident, event.proof.active
            view.said_total, view.said_usable = event.proof.total, event.proof.usable
            view.said_shortfall = event.proof.shortfall


def tell_outcome(view: View, event: Event, claim_id: str, request: Request) -> None:
    """What a report of a failed restore says of the claim, and whom else it names."""
    blamed = event.blocking_claim_ids
    named = {*(blamed or ()), *([event.outcome_claim_id] if event.outcome_claim_id else [])}
    view.outcome = (
        event.outcome in OUTCOMES
        and event.outcome_claim_id in (None, claim_id)
        and (event.outcome != "refusal" or blamed is None or claim_id in blamed)
    )
    view.smear = bool(named - request.failed)
