"""Who is named for what was done about a request, or for a restore that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.seen import Seen, digest
from monitor.view import View

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monitor.claim import ClaimRun
    from monitor.records import At
    from monitor.requests import Request
    from spec.events import Event

__all__ = ["OUTCOMES", "Blame", "Early", "tell_outcome"]

OUTCOMES: Final = frozenset({"refusal", "demotion", "expiry", "harm"})
EARLY: Final = 10_000
"""Names that are remembered because they were given before anything was known of them."""

_EARLIER: Final = "it may have been named for an action before anything was known of it"


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


class Early:
    """Ids that an action named before anything was known of them, which explains nothing.

    Args:
        seen: knows those beyond `EARLY`.
    """

    def __init__(self, seen: Seen) -> None:
        self._named: dict[str, tuple[View, Blame]] = {}
        self._seen = seen

    def add(self, name: str, event: Event, at: At, blame: Blame) -> None:
        """The id was named in an action on a request."""
        if name in self._named or len(self._named) < EARLY:
            self._named.setdefault(name, (View(event.kind, at, event.request_id), blame))
        else:
            self._seen.add(digest("blamed", name))

    def tell(self, claim: ClaimRun, at: At) -> None:
        """Something is known of the claim now: it hears of what named it."""
        name = claim.claim_id
        if name not in self._named:
            if len(self._named) >= EARLY and digest("blamed", name) in self._seen:
                claim.distrust(at, _EARLIER, frozenset({"blocking_claim_ids"}))
            return
        view, blame = self._named.pop(name)
        blame.tell(view, name)
        view.proof = False  # its sums are judged by those who were there
        request_id = view.request_id or ""
        claim.open_request(request_id)
        claim.step_request(request_id, view)
        claim.close_request(request_id)


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
