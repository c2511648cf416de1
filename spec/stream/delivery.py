"""Delivers an event to the claims that it concerns: to each itself, and to requests it follows.

Which scopes must take in an event are terms (`DELIVERY`), and the frame theorem shows that nothing
else changes anything.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.events.alphabet import BLOCKS_GONE, CONFLICT_ACTIONS, FACTS, Kind
from spec.events.fields import ROUTE_REPORTS
from spec.language.verdicts import Verdict
from spec.stream.claim import Claim, Scope, Stand
from spec.stream.codes import Code, Reason
from spec.stream.facts import FACTS_ABOUT_BLOCKS
from spec.stream.fields import FIELDS, NO_CONCERN, Concern, Moment
from spec.stream.generate import AT, REQ, REQUEST, Values, Watch, compiled, outcomes

if TYPE_CHECKING:
    from spec.events.canonical import Event

__all__ = ["OPENS_MANY", "UNKNOWN", "about", "concerned", "deliver"]

_CLOSES: Final = CONFLICT_ACTIONS | {
    Kind.CLAIM_COMMITTED,
    Kind.BLOCK_EVICTED,
    Kind.CLAIM_RETIRED,
    Kind.PREFIX_REUSED,
    Kind.BLOCK_CACHED,
    Kind.REQUEST_FINISHED,
}
"""The kinds before which something may be due."""

OPENS_MANY: Final = CONFLICT_ACTIONS | {Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED}
"""The kinds of a request that matter to claims which they do not name."""

_OWN: Final = Concern()
_RETIRED: Final = Kind.CLAIM_RETIRED
_ARRIVES: Final = Kind.REQUEST_ARRIVED
_LOADED: Final = Kind.LOAD_FINISHED
_EVICTED: Final = Kind.BLOCK_EVICTED
_LOOKUP: Final = Kind.PREFIX_LOOKUP
_VIOLATED: Final = Verdict.VIOLATED
_PENDING: Final = Verdict.PENDING
_RANKED: Final = frozenset(mode for mode in Mode if MODES[mode].constants["ranked"])
_FIRST: Final = [register.initial for register in REQUEST]
UNKNOWN: Final = ("away", "asks", "loaded", "failed", "broke", "routed", "served")
"""The registers that are unknown for a request whose arrival is restated."""


# Whom an event concerns.


def about(at: Moment, claim: Claim | None) -> dict[Claim, Concern]:
    """The claims that an event is about.

    Args:
        claim: the one that it names, and binds.
    """
    event, kind = at.event, at.kind
    if kind in FACTS_ABOUT_BLOCKS:
        gone = kind in BLOCKS_GONE
        claims = [each for each, touch in at.touched.items() if not gone or touch.lost]
        claims += () if gone else at.direct
        return {each: _OWN for each in claims if not _is_moot(each, event)}
    if claim is None:
        return {}
    if kind in FACTS:
        has_entry = claim.responsible or (claim.committed and not claim.lapses)
        return {claim: _OWN} if has_entry or kind is not _RETIRED else {}
    found = {} if _is_moot(claim, event) else {claim: _OWN}
    if not claim.known and event.object_id is not None:
        for other in at.run.objects.on.get(claim.obj, ()):
            if other is not claim and other.known:
                found[other] = Concern(named=False)
    return found


def _is_moot(claim: Claim, event: Event) -> bool:
    """Whether the claim is over, and the event can be no report or fact that still counts for it.

    Where a claim was only watched, a late report may be true of what happened since its end, so it
    counts only if it is owed. Of other claims the lifecycle judges late reports.
    """
    if event.kind in FACTS:
        return claim.final or (claim.watched and claim.over)
    if not (claim.watched and claim.over):
        return False
    if event.kind in ROUTE_REPORTS:
        return not claim.routes.get((event.request_id or "", event.kind))
    return not claim.owes


def concerned(at: Moment) -> dict[Claim, None]:
    """The claims that an event may change anything of."""
    kind, run, found = at.kind, at.run, dict.fromkeys(at.concerns)
    if kind in _CLOSES:
        found |= run.owing
    for request in at.here:
        found |= run.followers.get(request, {})
    if kind in CONFLICT_ACTIONS:
        found |= dict.fromkeys(run.capacity)
        named = (run.claims.get(name) for name in at.accused)
        found |= {claim: None for claim in named if claim is not None}
    elif kind in OPENS_MANY and at.presses and not (at.event.restated and kind is _ARRIVES):
        found |= dict.fromkeys(run.capacity)
    return found


# How a claim takes it in.


def deliver(at: Moment, claim: Claim) -> None:
    """Deliver an event to the scopes of a claim that it reaches, and follow new requests."""
    run, delivery = at.run, _Delivery(at, claim)
    mine, named = delivery.concern
    if mine or named or claim in run.owing:
        delivery.to_claim()
    for name in claim.requests if mine else claim.requests.keys() & delivery.here:
        delivery.to_request(name, claim.requests[name])
    if mine or at.kind in OPENS_MANY:
        for name in {*delivery.here, *delivery.perhaps} - claim.requests.keys():
            delivery.to_new_request(name)
    if delivery.now is not claim.facts:
        run.update(claim, delivery.now, at.number)
    if delivery.owes:
        run.owe(claim)


def _requests_of(
    at: Moment, claim: Claim, *, mine: bool
) -> tuple[Collection[str], Collection[str]]:
    """The requests that the event belongs to for a claim, and those of which that is unknown.

    A load that may have restored the claim belongs to the requests that wait for that, too.
    """
    here, perhaps = at.here, at.perhaps
    if at.kind is _LOADED and mine:
        if claim in at.direct:
            here = {*here, *claim.waiting}
        else:
            here = claim.waiting if claim.facts[AT["host"]] else ()
    if perhaps and not (mine and _matters_who(claim)):
        perhaps = ()
    return here, perhaps


def _matters_who(claim: Claim) -> bool:
    """Whether it matters which of several requests computed blocks of the claim."""
    lead = claim.facts[AT["lead"]]
    away = lead is None or lead < claim.threshold
    return away and claim.responsible and claim.mode is Mode.OFFLOADABLE


def _may_move(at: Moment, *, mine: bool) -> bool:
    """Whether the event can move an observer.

    Two cannot: a look-up of the claim that does not state what it found, and the eviction of
    another claim's block where no priority counts.
    """
    if at.kind is _EVICTED:
        return mine or any(each.mode in _RANKED for each in at.concerns)
    return at.kind is not _LOOKUP or at.event.held is not None or not mine


class _Delivery:
    """One event on its way to one claim.

    Attributes:
        concern: how it concerns the claim.
        here: the requests of the claim that it belongs to; of those in `perhaps` that is unknown.
        moves: whether it can move an observer.
        e, t, was, now: the fields of the event, the threshold of the claim, and its registers
            before and after it, for functions that `generate` makes.
        unknown: whether any of these is unknown.
        owes: whether an observer began or ceased to owe something.
    """

    def __init__(self, at: Moment, claim: Claim) -> None:
        self.at, self.claim = at, claim
        self.concern = mine, named = at.concerns.get(claim, NO_CONCERN)
        self.here: Collection[str] = at.here
        self.perhaps: Collection[str] = ()
        if at.perhaps or at.kind is _LOADED:
            self.here, self.perhaps = _requests_of(at, claim, mine=mine)
        self.moves = claim.unclear is None and (
            (at.kind is not _EVICTED and at.kind is not _LOOKUP) or _may_move(at, mine=mine)
        )
        self.kind = kind = compiled(at.kind, claim.mode, claim.bundle)
        self.e = e = dict[str, Any](mine=mine, named=named)
        for name in kind.others:
            e[name] = FIELDS[name](at, claim)
        self.was = self.now = was = claim.facts
        self.t = claim.threshold
        self.unknown = None in e.values() or None in was
        if kind.claim is not None:
            update = kind.claim.three if self.unknown else kind.claim.two
            self.now = update(e, False, self.t, was, None, None, None, None)
        self.owes = False

    def to_claim(self) -> None:
        """Deliver it to the claim itself."""
        self._step(self.claim.own, self.kind.own, False, _FIRST, _FIRST, partial=self.unknown)

    def to_request(self, name: str, scope: Scope) -> None:
        """Deliver it to a request that the claim follows."""
        here = None if name in self.perhaps else name in self.here
        was = scope.facts
        partial = self.unknown or here is None or None in was
        scope.facts = self._after(was, here, partial=partial)
        self._step(scope, self.kind.scoped, here, was, scope.facts, partial=partial)

    def to_new_request(self, name: str) -> None:
        """Follow a request of the event from now on, if the event touches the claim."""
        requests = self.at.run.requests
        over = requests.ended(name) is not None
        if over and self.claim.may_forget:
            self.claim.leave_open_of_requests(name, self.at.place)
            return
        here = None if name in self.perhaps else True
        was = self._before(name, over=over)
        partial = self.unknown or here is None or None in was
        opens = self.kind.opens_three if partial else self.kind.opens
        after = self._after(was, here, partial=partial)
        if opens(self.e, here, self.t, self.was, self.now, was, after, None) is False:
            return
        scope = self.claim.follow(name, was)
        scope.ended = over
        self.at.run.followers.setdefault(name, {})[self.claim] = None
        self.to_request(name, scope)

    def _before(self, name: str, *, over: bool) -> Values:
        """The registers of a request that the claim did not follow so far."""
        found, request = _FIRST.copy(), self.at.run.requests.get(name)
        if request is None:
            found[REQ["seen"]] = over
            return found
        if not request.in_hand:
            return found
        facts: dict[str, Any] = {
            "seen": True,
            "arrived": True,
            "needed": request.needed,
            "usable": request.usable,
            "away": None if self.was[AT["lead"]] is None else self.was[AT["lead"]] < self.t,
            "held": self.claim.responsible and self.claim.took <= request.since,
        }
        if request.restated:
            facts |= {**dict.fromkeys(UNKNOWN), "held": False}
        for register, value in facts.items():
            found[REQ[register]] = value
        return found

    def _after(self, was: Values, here: bool | None, *, partial: bool) -> Values:
        """The registers of a request after the event.

        Args:
            partial: whether an input is unknown.
        """
        update = self.kind.request
        if update is None:
            return was
        after = update.three if partial else update.two
        return after(self.e, here, self.t, self.was, self.now, was, None, None)

    def _step(
        self,
        scope: Scope,
        watches: tuple[Watch, ...],
        here: bool | None,
        r: Values,
        q: Values,
        *,
        partial: bool,
    ) -> None:
        """Let the observers of a scope take their steps; its registers go from `r` to `q`."""
        if not (self.moves and watches):
            return
        e, t, was, now, claim, stands = self.e, self.t, self.was, self.now, self.claim, scope.stands
        exercised = not self.at.event.restated
        for watch in watches:
            before = stands[watch.place]
            if before is None or before.state not in watch.sources:
                continue
            stand = before.state, before.own
            if partial:
                found = self._only(watch, stand, here, r, q)
            else:
                found = watch.step(e, here, t, was, now, r, q, stand)
            if found is None or watch.name in claim.open:
                continue
            rule, state, own = found
            left, verdict = watch.verdicts[before.state], watch.verdicts[state]
            if verdict is _VIOLATED and not exercised:
                continue  # what led to a restated event, and would allow it, is not known
            if before.state != state:
                claim.keep(watch.name, left, before)
            self.owes |= _PENDING in (left, verdict)
            stands[watch.place] = after = Stand(state, own, self.at.place, rule, exercised)
            if verdict is _VIOLATED:
                claim.keep(watch.name, verdict, after)
            self.at.moved[claim] = None

    def _only(
        self,
        watch: Watch,
        stand: tuple[int, tuple[Any, ...]],
        here: bool | None,
        r: Values,
        q: Values,
    ) -> tuple[int, int, tuple[Any, ...]] | None:
        """The step that is taken where inputs are unknown; with several, none is."""
        steps = outcomes(watch, *stand, self.e, here, self.t, self.was, self.now, r, q)
        if len(steps) > 1 and watch.name not in self.claim.open:
            self.claim.leave_open(watch.name, self._undecided(watch.name))
            self.at.moved[self.claim] = None
        ((state, own), rule), *others = steps.items()
        return None if others or rule is None else (rule, state, own)

    def _undecided(self, name: str) -> Reason:
        unknown = sorted(field for field, value in self.e.items() if value is None)
        what = f" ({', '.join(unknown)})" if unknown else ""
        text = f"what {self.at.kind} does not state decides {name}{what}"
        return Reason(Code.NEXT_STEP_UNKNOWN, text, self.at.place)
