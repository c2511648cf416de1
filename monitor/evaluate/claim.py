"""Evaluates compiled observers for one claim and its requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from monitor.evaluate.by_kind import unmoved
from monitor.evaluate.claim_findings import ClaimFindings
from monitor.evaluate.claim_record import NOTHING
from monitor.evaluate.compile import CLAIM_REGISTERS, REQUEST_REGISTERS
from monitor.evaluate.ends import broken_after, reaches
from monitor.evaluate.inlined import TRAIL_KEPT
from monitor.evaluate.observer_state import InHand, ObserverState
from monitor.evaluate.partial_observation import partial
from spec.claims.states import next_state
from spec.contract.facts import ROOM
from spec.events.alphabet import Kind
from spec.language.terms import Scope
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from monitor.evaluate.event_view import EventView
    from monitor.evaluate.observer_state import Registers


__all__ = ["ClaimRun"]

WAYS = 2_000  # in which the requests of a claim may stand
FEW = 8  # requests that are not compared with each other
ENDED_KEPT = 16  # requests that ended, to which a late report may still belong
_SHARED = "it is not stated which blocks the claims share, and the verdict depends on it"
_HOST, _LEAD = CLAIM_REGISTERS.index("host"), CLAIM_REGISTERS.index("lead")
_RESPONSIBLE = CLAIM_REGISTERS.index("responsible")
assert REQUEST_REGISTERS[:6] == ("seen", "arrived", "held", "needed", "usable", "away")
_NOT_KEPT = (Verdict.PENDING, Verdict.UNEXERCISED)


@dataclass(slots=True)
class ClaimRun(ClaimFindings):
    """One claim of one stream, and the observers that judge it."""

    def open_request(self, request_id: str, facts: Registers | None = None) -> bool:
        """Follow a request; False if it was in hand already. It starts where the claim stands.

        Args:
            facts: the registers of the request, if anything is known of it.
        """
        if request_id in self.requests:
            return False
        self.stir()
        watches = [self.base[index] for index in self._scoped]
        request = InHand(self._empty if facts is None else facts, watches)
        self.requests, self._loose = self.requests or {}, self._loose or {}
        self.requests[request_id] = self._loose[request_id] = request
        return True

    def unopened(
        self, seen: bool, arrived: bool, needed: int, usable: int, since: int
    ) -> Registers:
        """The registers of a request that is not tracked (`spec.projection.delivery.DELIVERY`):
        what the pool knows of it, and what follows from the claim's own ledger.

        Args:
            since: the number of the event by which it arrived.
        """
        facts = self.facts
        away = seen and facts[_LEAD] < self.constants.threshold
        held = bool(facts[_RESPONSIBLE]) and seen and self.took <= since
        return (seen, arrived, held, needed, usable, away, *self._empty[6:])

    def opens(self, view: EventView, facts: Registers) -> bool:
        """Whether an event opens a request of these registers, which the claim does not follow."""
        view.here = True
        was, compiled = self.facts, self.compiled
        req = compiled.request(view, self.constants, was, was, facts)
        return compiled.delivers["opens"](view, self.constants, was, was, facts, req, None)

    def touch(self, request_id: str) -> None:
        """The request has had to do with this claim itself, not only with its pool."""
        self.requests[request_id].touched = True

    def close_request(self, request_id: str) -> list[str]:
        """The request ended; the ids of those that are out of hand now.

        If it touched the claim it is kept a while: reports may come late.
        """
        request = self.requests[request_id]
        if request.ended:
            return []
        request.ended = True
        self.waiting -= {request_id}
        if self.owed:
            self.owed.pop(request_id, None)
        if not request.touched:
            return [self._forget(request_id)]
        self._ended = (*self._ended, request_id)
        if len(self._ended) <= ENDED_KEPT:
            return []
        oldest, *rest = self._ended
        self._ended = tuple(rest)
        return [self._forget(oldest)]

    def leave(self, request_id: str) -> None:
        """The request, which ended, is out of hand."""
        self._ended = tuple(name for name in self._ended if name != request_id)
        self._forget(request_id)

    def drop_requests(self) -> list[str]:
        """All requests are out of hand; their ids."""
        self._ended = ()
        return [self._forget(request_id) for request_id in list(self.requests)]

    def _forget(self, request_id: str) -> str:
        request = self.requests.pop(request_id)
        self._loosen(request_id, request)
        del self._loose[request_id]
        self.requests, self._loose = self.requests or NOTHING, self._loose or NOTHING
        self._retire(request.watches)
        return request_id

    def _retire(self, watches: list[ObserverState]) -> None:
        """No event belongs to a request any more. What moves it all the same reads none of its
        registers (`proofs check frame`, "retired requests"), so what stands alike moves alike.
        """
        retired = InHand(self._empty, watches)
        own = InHand(self._empty, [self.base[index] for index in self._scoped])
        if retired.stands not in (own.stands, *self.retired):
            self.retired = self.retired or {}
            self.retired[retired.stands] = retired
            return
        for index, watch in zip(self._scoped, watches, strict=True):
            verdict = self.compiled.observers[index].states[watch.state].verdict
            if verdict in _NOT_KEPT:  # what is owed goes on where it stands alike
                continue
            kept = self.kept.get(index)
            if verdict is Verdict.VIOLATED or kept is None or kept.verdict is not verdict:
                self._keep(index, self._finding(index, watch))

    def step(self, view: EventView) -> None:
        """Take one event into every ledger and observer of this claim.

        An event that is not about the claim moves no request but its own: what else it puts an
        end to, such as the time for a report, is the same in the scope of the claim itself.
        """
        if self._spared is not None:
            self.catch_up()
        kind = self.compiled.kinds[view.kind]
        if self._is_plain(view):
            (kind.about if view.mine else kind.beside).step(self, view)
            return
        was = now = self.facts
        checked = view.mine and view.direct and self.predicate is not None
        if checked and kind.contradicts is not None:
            broken = kind.contradicts(view, self.constants, was)
            if broken >= 0:
                self.contradict(broken, view, was)
        if kind.claim is not None:
            now = self.facts = kind.claim(view, self.constants, was)
        self._follow(view)
        if self.taint is not None:
            return
        view.here = False
        empty = self._empty
        movers = kind.movers if self.steps is self.compiled.steps else self._all
        if self._observe(movers, self.base, view, was, now, empty, empty):
            self.find_owed()
        if view.mine:
            if self.requests or self.retired:
                self.step_requests(view, was, now)
        elif view.request_id in self.requests:
            self.step_own(view.request_id, view, was, now)

    def _is_plain(self, view: EventView) -> bool:
        """Whether the functions of its kind move everything: all that observers read is known, and
        the event is about the claim and names it, or is neither.
        """
        whole = self.steps is self.compiled.steps and view.low is None
        return whole and view.mine is view.named and self.compiled.by_kind

    def find_owed(self) -> None:
        """Whether anything is owed in the scope of the claim itself may have changed."""
        self.owes = False
        for watch, pending in zip(self.base, self._pending, strict=True):
            if watch.state in pending:
                self.owes = True
                return

    def follow(self, kind: Kind) -> None:
        """A report moves the claim along its lifecycle, where there is such a step."""
        self.state = next_state(self.state, kind) or self.state

    def contradict(self, first: int, view: EventView, was: Registers) -> None:
        """Nothing more is concluded where an assumption breaks whose facts are observed."""
        for assumption in broken_after(first, view, self.constants, was):
            unsized = view.unsized and assumption.name == ROOM
            if assumption.rests_on <= self.observed and not unsized:
                self.contradicted = view.at, f"facts contradict: {assumption.broken}"
                self.distrust(*self.contradicted)
                return

    def step_request(self, request_id: str, view: EventView) -> None:
        """Take one event into one request alone."""
        if self.taint is None:
            self.stir()
            view.here = True
            self._step_request(request_id, view, self.facts, self.facts)

    def note(self, view: EventView) -> None:
        """Take an event that moves no observer into the ledger of its request, if that is in hand,
        and into no other.
        """
        request_id = view.request_id or ""
        if (request := self.requests.get(request_id)) is not None:
            self.stir()
            view.here = True
            facts = self.facts
            after = self.compiled.request(view, self.constants, facts, facts, request.facts)
            self.change(request_id, request, after)

    def step_requests(self, view: EventView, was: Registers, now: Registers) -> None:
        """Take an event about the claim into its requests; those that stand alike move alike."""
        if len(self.requests) <= FEW and not self.retired and self._is_plain(view):
            self._step_few(view, was, now)
            return
        self._alike = self._alike or {}
        for request_id, request in self._loose.items():
            request.among = self._alike.setdefault(request.stands, {})
            request.among[request_id] = request
        self._loose = NOTHING
        if len(self._alike) + len(self.retired) > WAYS:
            ways = sum(map(bool, self._alike.values())) + len(self.retired)
            if ways > WAYS:
                why = f"its requests are in more than {WAYS} different states, too many to track"
                self.distrust(view.at, why)
                return
        view.here, empty = False, self._empty
        scoped = self._movers(view)
        moved = [
            stands
            for stands, retired in self.retired.items()
            if self._observe(scoped, retired.watches, view, was, now, empty, empty)
        ]
        for retired in [self.retired.pop(stands) for stands in moved]:
            self._retire(retired.watches)
        waiting = self._awaiting(view, was)
        busy = bool(waiting)
        for stands, among in list(self._alike.items()):
            if not among:
                del self._alike[stands]
            elif not self._is_idle(next(iter(among.values())), view, was, now):
                busy = True
        if busy:
            for request_id in self.requests:
                if request_id == view.request_id or request_id in waiting:
                    self.step_own(request_id, view, was, now)
                else:
                    view.here = False
                    self._step_request(request_id, view, was, now)
        elif view.request_id in self.requests:
            self.step_own(view.request_id, view, was, now)

    def _step_few(self, view: EventView, was: Registers, now: Registers) -> None:
        """The same for few requests, each by itself."""
        move, constants = self.compiled.kinds[view.kind].about, self.constants
        own, waiting = view.request_id, self._awaiting(view, was)
        for request_id, request in self.requests.items():
            if request_id == own or request_id in waiting:
                view.here = True
                move.request(self, request_id, request, view, was, now)
            else:
                view.here = False
                if not move.idle(view, constants, was, now, request.facts, request.watches):
                    move.other(self, request_id, request, view, was, now)

    def _awaiting(self, view: EventView, was: Registers) -> Collection[str]:
        """The requests to which a load belongs because they wait for a restore."""
        loaded = view.kind is Kind.LOAD_FINISHED and (view.direct or was[_HOST])
        return self.waiting if loaded else ()

    def step_own(self, request_id: str, view: EventView, was: Registers, now: Registers) -> None:
        """Take an event that belongs to a request into it."""
        view.here = True
        if self._is_plain(view):
            kind = self.compiled.kinds[view.kind]
            step = (kind.about if view.mine else kind.beside).request
            step(self, request_id, self.requests[request_id], view, was, now)
        else:
            self._step_request(request_id, view, was, now)

    def _is_idle(self, request: InHand, view: EventView, was: Registers, now: Registers) -> bool:
        """Whether an event moves nothing in a request."""
        if view.low is not None:
            return False
        facts, constants, watches = request.facts, self.constants, request.watches
        kind = self.compiled.kinds[view.kind]
        if self._is_plain(view):
            return kind.about.idle(view, constants, was, now, facts, watches)
        if kind.request is not None and kind.request(view, constants, was, now, facts) != facts:
            return False
        steps = kind.steps if self.steps is self.compiled.steps else self.steps
        for place, index in self._movers(view):
            watch = watches[place]
            rest = (view, constants, was, now, facts, facts)
            if steps[index](watch.state, watch.own, *rest)[2] >= 0:
                return False
        return True

    def _movers(self, view: EventView) -> Sequence[tuple[int, int]]:
        """The observers of a request that an event may move: their places there, and in all."""
        whole = self.steps is self.compiled.steps
        return self.compiled.kinds[view.kind].scoped if whole else self._scoped_all

    def _step_request(
        self, request_id: str, view: EventView, was: Registers, now: Registers
    ) -> None:
        request = self.requests[request_id]
        before = after = request.facts
        ledger = self.compiled.kinds[view.kind].request
        if ledger is not None:
            after = ledger(view, self.constants, was, now, before)
        moved = self._observe(self._movers(view), request.watches, view, was, now, before, after)
        if moved or after != before:
            self.change(request_id, request, after)

    def _observe(
        self,
        places: Sequence[tuple[int, int]],
        watches: list[ObserverState],
        view: EventView,
        was: Registers,
        now: Registers,
        req_was: Registers,
        req: Registers,
    ) -> bool:
        """Take one event into the observers at these places; whether any of them moved.

        Args:
            places: the place of each among these watches, and in the bundle.
        """
        moved, steps = False, self.steps
        if steps is self.compiled.steps:
            steps = self.compiled.kinds[view.kind].steps
        pooled = None if view.low is None else self.compiled.pooled
        for place, index in places:
            step = steps[index]
            if step is unmoved:
                continue
            watch = watches[place]
            state, own, rule = step(
                watch.state, watch.own, view, self.constants, was, now, req_was, req
            )
            if view.low is not None and pooled is not None and pooled[index]:
                view.low.here = view.here
                low, low_own, _ = step(
                    watch.state, watch.own, view.low, self.constants, was, now, req_was, req
                )
                sure = low == state and low_own == own
                if sure and state != watch.state and state in self.compiled.violated[index]:
                    known = {Scope.WAS: was, Scope.NOW: now, Scope.REQ_WAS: req_was, Scope.REQ: req}
                    sure = self._is_sure(index, watch, view, state, known)
                if not sure:
                    only = frozenset({self.compiled.observers[index].name})
                    self.distrust(view.at, _SHARED, only)
                    continue
            if rule >= 0:
                if state != watch.state:
                    self.keep_left(index, watch)
                pending = watch.state in self._pending[index]
                earlier = watch.trail[1 - TRAIL_KEPT :] if pending else ()
                events = (*earlier, (view.kind, view.at)) if earlier else view.kind
                watches[place] = ObserverState(state, own, view.at, rule, events)
                moved = True
        return moved

    def _is_sure(
        self,
        index: int,
        watch: ObserverState,
        view: EventView,
        to: int,
        known: Mapping[Scope, Registers],
    ) -> bool:
        """Whether a breach that both ends agree on is one between them, too."""
        observer = self.compiled.observers[index]
        observer = partial(observer.name, self.unknown) or observer
        return reaches(observer, watch, view, self.constants, known) == {observer.states[to].name}

    def _follow(self, view: EventView) -> None:
        if view.named and view.mine:
            self.follow(view.kind)
