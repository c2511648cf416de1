"""Checks which claims an action on a request, or a failed restore, names."""

from __future__ import annotations

from heapq import nsmallest
from typing import TYPE_CHECKING, Final, TypeAlias

from monitor.evaluate.event_view import EventView
from monitor.pool.bloom_filter import BloomFilter, digest

if TYPE_CHECKING:
    from collections.abc import Hashable

    from monitor.evaluate.claim import ClaimRun
    from monitor.input.records import At
    from monitor.pool.sums import Sums
    from monitor.requests.request import Request
    from spec.events.canonical import Event

    Unknown: TypeAlias = tuple[frozenset[str], At | None, str]
    _Named: TypeAlias = tuple[EventView, tuple[Unknown, ...], frozenset[str]]

__all__ = ["BLIND", "OUTCOMES", "Blame", "Early", "tell_outcome"]

OUTCOMES: Final = frozenset({"refusal", "demotion", "expiry", "harm"})
_OF_BLAME: Final = frozenset({"blocking_claim_ids", "restoration_failure_outcome"})
EARLY: Final = 10_000
"""Names that are remembered because they were given before anything was known of them."""

BLIND: Final = "the hooks of this stream do not observe all facts that it rests on"
_EARLIER: Final = "an action may have named it before the first event about it"


class Blame:
    """Whom an action on a request names, added up once for all claims that it is delivered to.

    Args:
        sums: of the blocks of the pool.
    """

    def __init__(
        self, event: Event, request: Request, claims: dict[str, ClaimRun], sums: Sums
    ) -> None:
        self._event, self._sums = event, sums
        self.named = frozenset(event.accused)
        blamed = self.named | ({event.outcome_claim_id} if event.outcome_claim_id else set())
        self._restore = event.restore and bool(request.failed)
        self._unfounded_failure = event.restore and not request.failed
        self._blames_unfailed = bool(blamed - request.failed)
        known = [name for name in self.named if name in claims and claims[name].responsible]
        freed = sums.freed(known)
        self._blocks: int = freed.blocks
        shares = self._shares = freed.shares
        self._idle = {name for name in self.named if not shares.get(name)}
        self._least = nsmallest(2, [(blocks, name) for name, blocks in shares.items() if blocks])

    def tell(self, view: EventView, claim: ClaimRun | None, name: str) -> None:
        """What of it concerns one claim, and what concerns all."""
        self.tell_all(view)
        self.tell_one(view, claim, name)

    def part(self, name: str) -> tuple[bool, int, bool, bool]:
        """All that differs between claims of what concerns one, beside what each declared."""
        share, least = self._shares.get(name, 0), self._least
        first = bool(least) and least[0][1] == name
        return name in self.named, share, first, name in self._idle

    def tell_one(self, view: EventView, claim: ClaimRun | None, name: str) -> None:
        """What of it concerns one claim: whether it is named, and what the others named free."""
        share, idle = self._shares.get(name, 0), self._idle
        view.blamed = name in self.named
        view.shared_unblamed = 0 if claim is None else claim.declared - share
        view.blamed_rest = self._blocks - share
        view.blamed_least = 0
        for blocks, other in self._least:
            if other != name:
                view.blamed_least = blocks
                break
        view.invalid_blocker = len(idle) > 1 or (bool(idle) and name not in idle)

    def tell_all(self, view: EventView) -> None:
        """What of it concerns all claims alike."""
        event = self._event
        view.restore, view.blames_unfailed = self._restore, self._blames_unfailed
        view.unfounded_failure = self._unfounded_failure
        view.accuses = bool(self.named)
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

    def __init__(self, seen: BloomFilter) -> None:
        self._named: dict[str, dict[Hashable, _Named]] = {}
        self._seen = seen

    def add(
        self,
        names: list[str],
        event: Event,
        at: At,
        blame: Blame,
        unknown: tuple[Unknown, ...],
        blind: frozenset[str],
    ) -> None:
        """These ids were named in an action on a request; the same is delivered to each. Of
        actions of one kind that say the same of failures the first counts.

        Args:
            unknown: what is unknown of the request.
            blind: the obligations that rest on facts which were not observed any more.
        """
        view: EventView | None = None
        for name in names:
            if name not in self._named and len(self._named) >= EARLY:
                self._seen.add(digest("blamed", name))
                continue
            if view is None:
                view = EventView(event.kind, at, event.request_id)
                blame.tell(view, None, name)
                view.proof = False  # its sums are judged by those who were there
            failure = (view.restore, view.blames_unfailed, view.unfounded_failure)
            action = (view.kind, *failure, bool(unknown))
            self._named.setdefault(name, {}).setdefault(action, (view, unknown, blind))

    def tell(self, claim: ClaimRun, at: At) -> None:
        """The claim is known now: deliver the actions that named it."""
        name = claim.claim_id
        if name not in self._named:
            if self._seen.has("blamed", name):
                claim.distrust(at, _EARLIER, _OF_BLAME)
            return
        for view, unknown, blind in self._named.pop(name).values():
            if blind:
                claim.distrust(None, BLIND, blind)
            for fields, since, why in unknown:
                claim.doubt(fields, since, why)
            request_id = view.request_id or ""
            claim.open_request(request_id)
            claim.step_request(request_id, view)
            claim.close_request(request_id)


def tell_outcome(view: EventView, event: Event, claim_id: str, request: Request) -> None:
    """What a report of a failed restore says of the claim, and whom else it names."""
    blamed = event.blocking_claim_ids
    named = {*(blamed or ()), *([event.outcome_claim_id] if event.outcome_claim_id else [])}
    view.outcome = (
        event.outcome in OUTCOMES
        and event.outcome_claim_id in (None, claim_id)
        and (event.outcome != "refusal" or blamed is None or claim_id in blamed)
    )
    view.refusal = view.outcome and event.outcome == "refusal"
    view.harm = view.outcome and event.outcome == "harm"
    view.blames_unfailed = bool(named - request.failed)
