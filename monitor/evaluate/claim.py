"""Evaluates compiled observers for one claim and its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.by_kind import unmoved
from monitor.evaluate.claim_requests import ENDED_KEPT, ClaimRequests
from monitor.evaluate.compile import CLAIM_REGISTERS
from monitor.evaluate.ends import broken_after, reaches
from monitor.evaluate.in_hand import InHand
from monitor.evaluate.inlined import TRAIL_KEPT
from monitor.evaluate.nothing import NOTHING
from monitor.evaluate.observer_state import ObserverState
from monitor.evaluate.partial_observation import partial
from spec.claims.states import next_state
from spec.contract.facts import ROOM
from spec.events.alphabet import Kind
from spec.language.terms import Scope

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

    from monitor.evaluate.event_view import EventView
    from monitor.evaluate.observer_state import Registers


__all__ = ["ENDED_KEPT", "WAYS", "ClaimRun"]

WAYS = 2_000  # in which the requests of a claim may stand
FEW = 24  # requests that are not compared with each other
_SHARED = "it is not stated which blocks the claims share, and the verdict depends on it"
_HOST: Final = CLAIM_REGISTERS.index("host")


class ClaimRun(ClaimRequests):
    """One claim of one stream, and the observers that judge it."""

    __slots__ = ()

    def step(self, view: EventView) -> None:
        """Take one event into every ledger and observer of this claim.

        An event that is not about the claim moves no request but its own: what else it puts an
        end to, such as the time for a report, is the same in the scope of the claim itself.
        """
        self.expanded()
        if self.unusual.spared is not None:
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
        if self.unusual.taint is not None:
            return
        view.here = False
        empty = self.compiled.request_initial
        movers = kind.movers if self.steps is self.compiled.steps else self.compiled.places
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
        for watch, pending in zip(self.base, self.compiled.pending, strict=True):
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
        if len(self.requests) + len(self.retired) <= FEW and self._is_plain(view):
            self._step_few(view, was, now)
            return
        opened = self.opened
        alike = opened.alike = opened.alike or {}
        for request_id, request in opened.loose.items():
            request.among = alike.setdefault(request.stands, {})
            request.among[request_id] = request
        opened.loose = NOTHING
        if len(alike) + len(self.retired) > WAYS:
            ways = sum(map(bool, alike.values())) + len(self.retired)
            if ways > WAYS:
                why = f"its requests are in more than {WAYS} different states, too many to track"
                self.distrust(view.at, why)
                return
        self._step_retired(self.retired, view, was, now)
        waiting = self._awaiting(view, was)
        busy = bool(waiting)
        for stands, among in list(alike.items()):
            if not among:
                del alike[stands]
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

    def _step_retired(
        self, among: Iterable[Hashable], view: EventView, was: Registers, now: Registers
    ) -> None:
        """Take an event into retired scopes."""
        view.here, empty, retired = False, self.compiled.request_initial, self.retired
        scoped = self._movers(view)
        moved = [
            stands
            for stands in among
            if self._observe(scoped, retired[stands].watches, view, was, now, empty, empty)
        ]
        for watches in [retired.pop(stands).watches for stands in moved]:
            self._retire(watches)

    def _step_few(self, view: EventView, was: Registers, now: Registers) -> None:
        """The same for few requests, each by itself."""
        move, constants = self.compiled.kinds[view.kind].about, self.constants
        if self.retired:
            empty = self.compiled.request_initial
            busy = [
                stands
                for stands, each in self.retired.items()
                if not move.idle(view, constants, was, now, empty, each.watches)
            ]
            if busy:
                self._step_retired(busy, view, was, now)
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
        return self.compiled.kinds[view.kind].scoped if whole else self.compiled.scoped_places

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
                pending = watch.state in self.compiled.pending[index]
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
