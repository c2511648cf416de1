"""Delivers an event to a claim: to the claim itself, and to the requests that it follows.

Which scopes must take in an event are terms (`DELIVERY`), and the frame theorem shows that nothing
else changes anything.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from spec.contract.ledgers import REQUEST_FACTS
from spec.language.verdicts import Verdict
from spec.stream.claim import AT, Claim, Finding, Scope, Stand, verdicts_of
from spec.stream.codes import Code, Reason
from spec.stream.fields import FIELDS, Moment
from spec.stream.generate import Compiled, Values, Watch, compiled, outcomes
from spec.stream.request import Request

__all__ = ["REQ", "UNKNOWN", "Delivery"]

REQ: Final = {register.name: place for place, register in enumerate(REQUEST_FACTS.registers)}
_FIRST: Final = [register.initial for register in REQUEST_FACTS.registers]
UNKNOWN: Final = ("away", "asks", "loaded", "failed", "broke", "routed", "served")
"""What is not known of a request that arrived before what is known begins."""


class Delivery:
    """One event on its way to one claim.

    Args:
        here: the requests that it belongs to; of those in `perhaps` that is unknown.
        place: the place of its line.
        moves: whether it can move an observer at all.
        exercised: whether what it moves counts as exercised, and can violate anything.
    """

    def __init__(
        self,
        claim: Claim,
        at: Moment,
        here: Collection[str],
        perhaps: Collection[str],
        place: object,
        *,
        moves: bool = True,
        exercised: bool = True,
    ) -> None:
        self.claim, self.at, self.place = claim, at, place
        self.here, self.perhaps, self.exercised = here, perhaps, exercised
        self.moves = moves and claim.unclear is None
        self.kind: Compiled = compiled(at.event.kind, claim.mode, claim.bundle)
        self.e = {name: FIELDS[name](at, claim) for name in self.kind.reads}
        self.was, self.t = claim.facts, claim.threshold
        self.partial = None in self.e.values() or None in self.was
        self.now = self._ledger()
        self.opened: list[str] = []
        self.moved = False

    def _ledger(self) -> Values:
        if self.kind.claim is None:
            return self.was
        update = self.kind.claim.three if self.partial else self.kind.claim.two
        return update(self.e, False, self.t, self.was, None, None, None, None)

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
        self.opened.append(name)
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
        if not self.moves:
            return
        claim, stands = self.claim, scope.stands
        for watch in watches:
            stand = stands[watch.place]
            if stand is None:
                continue
            name = claim.names[watch.place]
            if name in claim.open:
                continue
            if not partial:
                found = watch.step(*inputs, (stand.state, stand.own))
                if found is None:
                    continue
                rule, state, own = found
            else:
                steps = outcomes(watch, stand.state, stand.own, *inputs)
                if len(steps) > 1:
                    claim.leave_open(name, self._unknown(name))
                    self.at.moved[claim] = None
                    self.moved = True
                    continue
                ((state, own), number), *_ = steps.items()
                if number is None:
                    continue
                rule = number
            self._move(
                scope, watch.place, name, Stand(state, own, self.place, rule, self.exercised)
            )

    def _move(self, scope: Scope, place: int, name: str, after: Stand) -> None:
        before = scope.stands[place]
        if not self.exercised and verdicts_of(name)[after.state] is Verdict.VIOLATED:
            return  # what led to a restated event, and would allow it, is not known
        if before is not None and before.state != after.state and before.exercised:
            verdict = verdicts_of(name)[before.state]
            if verdict is Verdict.SATISFIED:
                self.claim.note_satisfied(name, before)
        scope.stands[place] = after
        if verdicts_of(name)[after.state] is Verdict.VIOLATED:
            self.claim.keep(name, Finding(Verdict.VIOLATED, after.at, after.rule))
        self.at.moved[self.claim] = None
        self.moved = True

    def _unknown(self, name: str) -> Reason:
        unknown = sorted(field for field, value in self.e.items() if value is None)
        what = f" ({', '.join(unknown)})" if unknown else ""
        text = f"what {self.at.event.kind} does not state decides {name}{what}"
        return Reason(Code.NEXT_STEP_UNKNOWN, text, self.place)
