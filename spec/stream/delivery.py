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
_FIRST: Final = [register.initial for register in REQUEST_FACTS.registers]
UNKNOWN: Final = ("away", "asks", "loaded", "failed", "broke", "routed", "served")
"""What is not known of a request that arrived before what is known begins."""


class Delivery:
    """One event on its way to one claim.

    Args:
        here: the requests that it belongs to; of those in `perhaps` that is unknown.
        mine: whether it is about the claim's own; `named` whether it names the claim.
        moves: whether it can move an observer at all.
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
        self.moved = False

    def to_claim(self) -> None:
        """Deliver it to the claim itself."""
        inputs = (self.e, False, self.t, self.was, self.now, _FIRST, _FIRST)
        self._step(self.claim.own, self.kind.own, inputs, self.partial)

    def to_request(self, name: str, scope: Scope) -> None:
        """Deliver it to a request that the claim follows."""
        here = None if name in self.perhaps else name in self.here
        was = scope.facts
        partial = self.partial or here is None or None in was
        scope.facts = after = self._request(was, here, partial=partial)
        inputs = (self.e, here, self.t, self.was, self.now, was, after)
        self._step(scope, self.kind.scoped, inputs, partial)

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
        inputs = (self.e, here, self.t, self.was, self.now, was, after, None)
        if (self.kind.opens_three if partial else self.kind.opens)(*inputs) is False:
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
        self, scope: Scope, watches: tuple[Watch, ...], inputs: tuple[Any, ...], partial: bool
    ) -> None:
        stands, is_open, place = scope.stands, self.claim.open, self.at.place
        exercised = not self.at.event.restated
        for watch in watches if self.moves else ():
            before = stands[watch.place]
            if before is None or before.state not in watch.sources or watch.name in is_open:
                continue
            found: tuple[int, int, tuple[Any, ...]] | None
            if partial:
                found = self._only(watch, before, inputs)
            else:
                found = watch.step(*inputs, (before.state, before.own))
            if found is None:
                continue
            rule, state, own = found
            verdict = watch.verdicts[state]
            if verdict is _VIOLATED and not exercised:
                continue  # what led to a restated event, and would allow it, is not known
            if before.state != state:
                self.claim.keep(watch.name, watch.verdicts[before.state], before)
            stands[watch.place] = after = Stand(state, own, place, rule, exercised)
            if verdict is _VIOLATED:
                self.claim.keep(watch.name, verdict, after)
            self.moved = True

    def _only(
        self, watch: Watch, stand: Stand, inputs: tuple[Any, ...]
    ) -> tuple[int, int, tuple[Any, ...]] | None:
        """The step that is taken where inputs are unknown; with several nothing is concluded."""
        steps = outcomes(watch, stand.state, stand.own, *inputs)
        if len(steps) > 1:
            self.claim.leave_open(watch.name, self._unknown(watch.name))
            self.moved = True
            return None
        (((state, own), rule),) = steps.items()
        return None if rule is None else (rule, state, own)

    def _unknown(self, name: str) -> Reason:
        unknown = sorted(field for field, value in self.e.items() if value is None)
        what = f" ({', '.join(unknown)})" if unknown else ""
        text = f"what {self.at.kind} does not state decides {name}{what}"
        return Reason(Code.NEXT_STEP_UNKNOWN, text, self.at.place)
