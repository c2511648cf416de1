"""Steps the reference projection for one claim by itself, where nothing else can matter to it.

What the frame theorem says of a claim that others share a pool with (`spec.projection.delivery`),
this uses for a search: where an obligation reads nothing of other claims, events that concern
neither the claim nor what is owed are left out, and so is what the pool knows of them. States that
differ in that alone are one.
"""

from __future__ import annotations

from typing import Final

from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import BLOCKS_GONE, CONFLICT_ACTIONS, Kind
from spec.events.canonical import Event
from spec.events.fields import IDENTITY
from spec.language.verdicts import Verdict
from spec.projection.blocks import PLACES
from spec.projection.cone import cone_of
from spec.projection.lines import Line
from spec.projection.pool import Object, Placed, Request
from spec.projection.stepper import Followed, Frozen, Shared, Stepper
from spec.projection.unknown import FAILURES, POOL

__all__ = ["Alone", "Shared", "stands_alone"]

_RANKS: Final = frozenset({"lower_priority_available", "higher_priority_kept"})
_OF_REQUESTS: Final = FAILURES | {"restore"}


def stands_alone(followed: Followed) -> bool:
    """Whether the obligations read nothing of other claims."""
    fields = cone_of(followed.obligations).fields
    return not (MODES[followed.mode].constants["ranked"] or fields & (POOL | _RANKS))


class Alone(Stepper):
    """The projection of one claim, without the others.

    Args:
        followed: whom a whole projection would follow; its obligations stand alone.
        about: the object of the tracked claim.
    """

    def __init__(self, followed: Followed, about: str) -> None:
        names = followed.obligations
        one = Followed(followed.mode, followed.tracked, names, (), followed.requests)
        super().__init__(one)
        self._tracked, self._about = followed.tracked, about
        self._keys: set[str] = set()  # in whatever run: it is enough that one shares them
        self._others: set[str] = set()
        self._named: dict[str, dict[str, object]] = {}
        scoped = any(OBLIGATIONS[name].per_request for name in names)
        self._of_requests = scoped or bool(_OF_REQUESTS & cone_of(names).fields)
        self._arrive()

    def take(self, event: Event) -> None:
        """Take in the next event, if it can matter.

        Raises:
            SpecError: it contradicts those before it.
            Shared: it is of another claim, or accuses one.
        """
        if not self._matters(event):
            return
        if self._of_requests:
            super().take(event)
            return
        self._event(event, Line(1, (event,)))
        self.left = None
        self._arrive()

    def _arrive(self) -> None:
        """Without requests, each is taken to be in hand: what it does is never out of turn."""
        if not self._of_requests:
            self.pool.requests.update({name: Request() for name in self.requests})

    def _matters(self, event: Event) -> bool:
        accused = {*event.accused} - {self._tracked} if self._of_requests else set()
        if accused:
            raise Shared(min(accused))
        if self._meets(event):
            raise Shared(event.claim_id or event.object_id)
        if event.claim_id == self._tracked:
            if event.object_id not in (None, self._about):
                raise Shared(event.claim_id)
            self._keys.update(event.content_keys)
            if self._keys & self._others:
                raise Shared(event.claim_id)
            return True
        if event.claim_id is not None:
            self._others.update(event.content_keys)
            if self._is_torn(event.claim_id, event):
                raise Shared(event.claim_id)
            shares = event.object_id == self._about or self._keys & self._others
            if shares or (self._of_requests and event.request_id):
                raise Shared(event.claim_id)
            return False
        if event.request_id is not None and self._of_requests:
            return True
        if event.object_id is not None:
            return event.object_id == self._about
        if event.kind in BLOCKS_GONE:
            return not event.block_ids or self._touches(event)
        if event.kind is Kind.REQUEST_ARRIVED:
            return False
        if event.kind in CONFLICT_ACTIONS | {Kind.REQUEST_FINISHED}:
            return self._tracked in event.accused or Verdict.PENDING in self.verdicts().values()
        return True

    def _meets(self, event: Event) -> bool:
        """Whether a fact may be of blocks of this claim's object and of another's."""
        if event.claim_id == self._tracked or event.kind not in PLACES | BLOCKS_GONE:
            return False
        held = {each.block for each in self._ours()}
        if event.claim_id is None and event.object_id is None:
            return event.kind in PLACES or (None in held and bool(event.block_ids))
        if event.object_id == self._about and event.claim_id is None:
            return False
        return bool(held) and (not event.block_ids or not held.isdisjoint({None, *event.block_ids}))

    def _touches(self, event: Event) -> bool:
        return not {each.block for each in self._ours()}.isdisjoint(event.block_ids)

    def _is_torn(self, claim: str, event: Event) -> bool:
        """Whether another claim is named by two objects, in whatever runs: where both are in one,
        what is held and in hand is unknown from then on.
        """
        known = self._named.setdefault(claim, {})
        stated = {name: value for name in IDENTITY if (value := getattr(event, name)) is not None}
        return any(known.setdefault(name, value) != value for name, value in stated.items())

    def _ours(self) -> frozenset[Placed]:
        """What is held for the claim, or for its object."""
        return frozenset(
            each
            for each in self.pool.placed
            if each.owner == self._tracked
            or (isinstance(each.owner, Object) and each.owner.object_id == self._about)
        )

    def frozen(self) -> Frozen:
        """All that decides what later events come to."""
        _, claims, requests, cases, before = super().frozen()
        if not self._of_requests:
            requests, before = (), before and ((), before[1])
        return self._ours(), claims, requests, cases, before

    def thaw(self, frozen: Frozen) -> None:
        """Go on from what `frozen` returned."""
        super().thaw(frozen)
        self._arrive()
