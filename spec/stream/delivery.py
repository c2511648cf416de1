"""Delivers an event to a claim: to the claim itself, and to the requests that it follows.

Which scopes must take in an event are terms (`DELIVERY`), and the frame theorem shows that nothing
else changes anything.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from spec.contract.ledgers import REQUEST_FACTS
from spec.language.verdicts import Verdict
from spec.stream.claim import AT, Claim, Scope, Stand
from spec.stream.codes import Code, Reason
from spec.stream.fields import FIELDS, Moment
from spec.stream.generate import Values, Watch, compiled, outcomes
from spec.stream.request import Request

__all__ = ["REQ", "UNKNOWN", "Delivery"]

REQ: Final = {register.name: place for place, register in enumerate(REQUEST_FACTS.registers)}
_VIOLATED: Final = Verdict.VIOLATED
_PENDING: Final = Verdict.PENDING
_FIRST: Final = [register.initial for register in REQUEST_FACTS.registers]
UNKNOWN: Final = ("away", "asks", "loaded", "failed", "broke", "routed", "served")
"""What is not known of a request that arrived before what is known begins."""


class Delivery:
    """One event on its way to one claim.

    Args:
        here: the requests that it belongs to; of those in `perhaps` that is unknown.
        mine: whether it is about the claim's own; `named` whether it names the claim.
        moves: whether it can move an observer at all.

    Afterwards `moved` says whether an observer moved, `owes` whether one began or ceased to owe.
    """

    def __init__(
        self,
        claim: Claim,
        at: Moment,
        here: Collection[str],
        perhaps: Collection[str],
        *,
        mine: bool,
        named: bool,
        moves: bool,
    ) -> None:
        self.claim, self.at, self.here, self.perhaps = claim, at, here, perhaps
        self.moves = moves and claim.unclear is None
        self.kind = kind = compiled(at.kind, claim.mode, claim.bundle)
        self.e = e = dict[str, Any](mine=mine, named=named)
        for name in kind.others:
            e[name] = FIELDS[name](at, claim)
        self.was = self.now = was = claim.facts
        self.t = claim.threshold
        self.partial = None in e.values() or None in was
        if kind.claim is not None:
            update = kind.claim.three if self.partial else kind.claim.two
            self.now = update(e, False, self.t, was, None, None, None, None)
        self.moved = self.owes = False

    def to_claim(self) -> None:
        """Deliver it to the claim itself."""
        self._step(self.claim.own, self.kind.own, False, _FIRST, _FIRST, partial=self.partial)

    def to_request(self, name: str, scope: Scope) -> None:
        """Deliver it to a request that the claim follows."""
        here = None if name in self.perhaps else name in self.here
        was = scope.facts
        partial = self.partial or here is None or None in was
        scope.facts = self._request(was, here, partial=partial)
        self._step(scope, self.kind.scoped, here, was, scope.facts, partial=partial)

    def _request(self, was: Values, here: bool | None, *, partial: bool) -> Values:
        if self.kind.request is None:
            return was
        update = self.kind.request.three if partial else self.kind.request.two
        return update(self.e, here, self.t, self.was, self.now, was, None, None)

    def opens(self, name: str, request: Request | None, *, over: bool) -> None:
        """Follow the request of the event from now on, if it touches the claim."""
        here = None if name in self.perhaps else True
        was = self._derived(request, over=over)
        partial = self.partial or here is None or None in was
        after = self._request(was, here, partial=partial)
        opens = self.kind.opens_three if partial else self.kind.opens
        if opens(self.e, here, self.t, self.was, self.now, was, after, None) is False:
            return
        scope = self.claim.follow(name, was)
        scope.ended = over
        self.at.run.followers.setdefault(name, {})[self.claim] = None
        self.to_request(name, scope)

    def _derived(self, request: Request | None, *, over: bool) -> Values:
        """The registers of a request that no event followed for the claim so far."""
        found = _FIRST.copy()
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
        for name, value in facts.items():
            found[REQ[name]] = value
        return found

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
        """Let the observers of a scope take their steps, from registers `r` to `q`."""
        e, t, was, now, claim, stands = self.e, self.t, self.was, self.now, self.claim, scope.stands
        exercised = not self.at.event.restated
        for watch in watches if self.moves else ():
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
            self.moved = True

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
            self.claim.leave_open(watch.name, self._unknown(watch.name))
            self.moved = True
        ((state, own), rule), *others = steps.items()
        return None if others or rule is None else (rule, state, own)

    def _unknown(self, name: str) -> Reason:
        unknown = sorted(field for field, value in self.e.items() if value is None)
        what = f" ({', '.join(unknown)})" if unknown else ""
        text = f"what {self.at.kind} does not state decides {name}{what}"
        return Reason(Code.NEXT_STEP_UNKNOWN, text, self.at.place)
