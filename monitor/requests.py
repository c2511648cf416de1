"""A request of a stream: what it needs, which restores failed for it, and who is named for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monitor.claim import ClaimRun
    from monitor.records import At
    from monitor.view import View
    from spec.events import Event

__all__ = ["OUTCOMES", "Blame", "Request", "tell_outcome"]

OUTCOMES = frozenset({"refusal", "demotion", "expiry", "harm"})


@dataclass(slots=True)
class Request:
    """One request, whatever claims it has to do with.

    `needed` and `usable` are in blocks; as long as no arrival stated them, it needs more than is
    usable at all, and so is in conflict with nobody. `failed` names the known claims whose restore
    failed for it; `lacks` says that somebody was responsible for one of them. `whole` says that it
    was seen from its arrival on and nothing has been missing since.
    """

    at: At | None = None
    needed: int = 1
    usable: int = 0
    arrived: bool = False
    whole: bool = False
    lacks: bool = False
    failed: set[str] = field(default_factory=set)

    @classmethod
    def arriving(cls, event: Event, at: At) -> Request:
        """The request as its arrival states it."""
        if event.needed is None:
            return cls(at, whole=True)
        return cls(at, event.needed, event.usable or 0, arrived=True, whole=True)

    def tell(self, view: View) -> None:
        """What the request needs, of what."""
        view.needed, view.usable = self.needed, self.usable


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
