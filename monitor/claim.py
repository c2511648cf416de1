"""One claim under observation: its ledgers, its observers, and what they have concluded."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from monitor.compile import CLAIM_REGISTERS
from monitor.doubt import RIVALS, without
from monitor.positions import Positions
from spec.machine import Guard
from spec.states import ClaimState, next_state
from spec.verdicts import Verdict, pool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from monitor.compile import Compiled, Registers
    from monitor.doubt import Step
    from monitor.records import At, Trail
    from monitor.view import Constants, View
    from spec.machine import Rule
    from spec.predicates import MaterializationPredicate

__all__ = ["UNSTATED", "ClaimRun", "Finding"]

UNSTATED = 2**63
"""The threshold of a predicate that nobody stated: it never holds."""

ENDED_KEPT = 16  # requests that touched a claim stay in hand this long after their end
TRAIL_KEPT = 8  # events of one occasion that a finding names, the last ones

_REGISTERED = CLAIM_REGISTERS.index("registered")
_RESPONSIBLE = CLAIM_REGISTERS.index("responsible")
_COMMITTED = CLAIM_REGISTERS.index("committed")
_DECLARED = CLAIM_REGISTERS.index("declared")
_LEAD = CLAIM_REGISTERS.index("lead")


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict of one obligation, the event that decided it, and why, for people.

    `trail` are the events of the occasion that was decided, from what was owed on, in their order.
    """

    verdict: Verdict
    at: At | None
    why: str
    allowed: str = ""
    trail: Trail = ()


@dataclass(frozen=True, slots=True)
class _Watch:
    """One observer in one scope (the claim itself or one request), as its last step left it."""

    state: int
    own: Registers
    at: At | None = None
    rule: int = -1
    trail: Trail = ()


@dataclass(slots=True)
class _Request:
    facts: Registers
    watches: list[_Watch]
    touched: bool = False
    ended: bool = False


@dataclass(slots=True)
class ClaimRun:
    """The life of one claim in one stream.

    `taint` is the first reason why what is seen of the claim can no longer be trusted; from then on
    nothing is concluded beyond what was violated before, and only the ledger is kept, for the sake
    of the pool. `owes` says that something is owed in the scope of the claim itself. Numbers of the
    stream's events: `registered_at`, `took` and `left` say when the claim was registered, and when
    responsibility for it last began and ended; `lost_at` when it last lost a block to eviction,
    `passed` when it did though one of this lower priority (None: of any) could be taken. `entry`
    is the event that registered it.
    """

    stream: str
    claim_id: str
    compiled: Compiled
    constants: Constants
    predicate: MaterializationPredicate | None = None
    binding: dict[str, str] = field(default_factory=dict)
    declared_mode: str | None = None
    other_mode: str | None = None
    owner_scope: str | None = None
    duration: str | None = None
    priority: int | None = None
    registered: bool = False
    registered_at: int = 0
    entry: Trail = ()
    lost_at: int | None = None
    passed: dict[int | None, int] = field(default_factory=dict)
    accepted: bool = False
    elapsed: bool = False
    state: ClaimState = ClaimState.SUBMITTED
    held: Positions = field(default_factory=Positions)
    taint: tuple[At | None, str] | None = None
    owes: bool = False
    took: int = 0
    left: int = 0
    facts: Registers = ()
    base: list[_Watch] = field(default_factory=list)
    requests: dict[str, _Request] = field(default_factory=dict)
    _ended: deque[str] = field(default_factory=deque)
    _kept: dict[int, Finding] = field(default_factory=dict)
    _unknown: frozenset[str] = frozenset()
    _doubts: dict[int, tuple[At | None, str]] = field(default_factory=dict)
    _steps: tuple[Step, ...] = ()
    _empty: Registers = ()
    _all: Sequence[int] = ()
    _scoped: list[int] = field(default_factory=list)
    _pending: list[set[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.facts = self.compiled.claim_initial
        self._steps, self._empty = self.compiled.steps, self.compiled.request_initial
        observers = self.compiled.observers
        self._all = range(len(observers))
        self._scoped = [index for index in self._all if observers[index].per_request]
        self._pending = [
            {i for i, state in enumerate(o.states) if state.verdict is Verdict.PENDING}
            for o in observers
        ]
        self.base = [_Watch(0, tuple(r.initial for r in o.registers)) for o in observers]

    @property
    def responsible(self) -> bool:
        return bool(self.facts[_RESPONSIBLE])

    @property
    def known(self) -> bool:
        """Whether a registry holds or held the claim, an auditor's or the runtime's."""
        return bool(self.facts[_REGISTERED])

    @property
    def committed(self) -> bool:
        return bool(self.facts[_COMMITTED])

    @property
    def declared(self) -> int:
        """Blocks that the claim adds to its pool's ledger: what it declared, while responsible."""
        return int(self.facts[_DECLARED]) if self.responsible else 0

    def fix_predicate(self, predicate: MaterializationPredicate) -> None:
        """The predicate is fixed once; blocks seen before it are measured anew."""
        if self.predicate is None:
            self.predicate = predicate
            self.constants.threshold = predicate.threshold
            self.held.start = predicate.start
            self.facts = (*self.facts[:_LEAD], self.held.lead, *self.facts[_LEAD + 1 :])

    # Requests in hand.

    def open_request(self, request_id: str) -> bool:
        """Follow a request; False if it was in hand already. It starts where the claim stands."""
        if request_id in self.requests:
            return False
        watches = [self.base[index] for index in self._scoped]
        self.requests[request_id] = _Request(self._empty, watches)
        return True

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
        if not request.touched:
            return [self._forget(request_id)]
        self._ended.append(request_id)
        return [self._forget(self._ended.popleft())] if len(self._ended) > ENDED_KEPT else []

    def _forget(self, request_id: str) -> str:
        request = self.requests.pop(request_id)
        for index, watch in zip(self._scoped, request.watches, strict=True):
            if watch.rule >= 0:
                self._keep(index, self._finding(index, watch))
        return request_id

    def _keep(self, index: int, finding: Finding) -> None:
        """Remember a finding whose state is left or forgotten: what is still owed stays owed."""
        kept = self._kept[index].verdict if index in self._kept else Verdict.UNEXERCISED
        if pool((kept, finding.verdict)) is not kept:
            self._kept[index] = finding

    # Stepping.

    def step(self, view: View) -> None:
        """Take one event into every ledger and observer of this claim.

        An event that is not about the claim moves no request but its own: what else it puts an
        end to, such as the time for a report, is the same in the scope of the claim itself.
        """
        was = self.facts
        now = self.compiled.claim(view, self.constants, was)
        self.facts = now
        self._follow(view)
        if self.taint is not None:
            return
        view.here = False
        empty = self._empty
        if self._observe(self._all, self.base, view, was, now, empty, empty):
            states = zip(self.base, self._pending, strict=True)
            self.owes = any(watch.state in pending for watch, pending in states)
        if view.mine:
            for request_id, request in self.requests.items():
                view.here = request_id == view.request_id
                self._step_request(request, view, was, now)
        elif view.request_id in self.requests:
            view.here = True
            self._step_request(self.requests[view.request_id], view, was, now)

    def step_request(self, request_id: str, view: View) -> None:
        """Take one event into one request alone (its arrival, told late)."""
        if self.taint is None:
            view.here = True
            self._step_request(self.requests[request_id], view, self.facts, self.facts)

    def _step_request(self, request: _Request, view: View, was: Registers, now: Registers) -> None:
        after = self.compiled.request(view, self.constants, was, now, request.facts)
        self._observe(self._scoped, request.watches, view, was, now, request.facts, after)
        request.facts = after

    def compare(self, *views: View) -> None:
        """Take the losses of this claim and one other into the observers of ranks, by themselves.

        What a pair shows is kept; each pair begins anew, so that no third claim hides it.
        """
        empty = self._empty
        for index, observer in enumerate(self.compiled.observers):
            if self.taint is None and without(observer.name, RIVALS) is not None:
                watches = [_Watch(0, tuple(register.initial for register in observer.registers))]
                for view in views:
                    self._observe([index], watches, view, self.facts, self.facts, empty, empty)
                self._keep(index, self._finding(index, watches[0]))

    def _observe(
        self,
        places: Sequence[int],
        watches: list[_Watch],
        view: View,
        was: Registers,
        now: Registers,
        req_was: Registers,
        req: Registers,
    ) -> bool:
        """Take one event into the observers at these places; whether any of them moved."""
        moved = False
        for place, index in enumerate(places):
            watch = watches[place]
            state, own, rule = self._steps[index](
                watch.state, watch.own, view, self.constants, was, now, req_was, req
            )
            if rule >= 0:
                if state != watch.state and index not in self._kept:
                    left = self._finding(index, watch)
                    if left.verdict is Verdict.SATISFIED:
                        self._keep(index, left)
                pending = watch.state in self._pending[index]
                earlier = watch.trail[1 - TRAIL_KEPT :] if pending else ()
                watches[place] = _Watch(state, own, view.at, rule, (*earlier, (view.kind, view.at)))
                moved = True
        return moved

    def _follow(self, view: View) -> None:
        if view.named and view.mine:
            following = next_state(self.state, view.kind)
            if following is not None:
                self.state = following

    def distrust(self, at: At | None, why: str, only: frozenset[str] = frozenset()) -> None:
        """From here on nothing new is concluded about this claim, or of the obligations `only`."""
        if not only:
            self.taint, self.owes = self.taint or (at, why), False
            return
        for index, observer in enumerate(self.compiled.observers):
            if observer.name in only:
                self._doubt(index, at, why, _unmoved)

    def doubt(self, fields: frozenset[str], at: At | None, why: str) -> None:
        """From here on nobody knows these fields of events; what reads them is not concluded."""
        if fields <= self._unknown:
            return
        self._unknown |= fields
        for index, observer in enumerate(self.compiled.observers):
            step = without(observer.name, self._unknown)
            if step is not None and self._steps[index] is not _unmoved:
                self._doubt(index, at, why, step)

    def _doubt(self, index: int, at: At | None, why: str, step: Step) -> None:
        self._doubts.setdefault(index, (at, why))
        self._steps = (*self._steps[:index], step, *self._steps[index + 1 :])

    # Conclusions.

    def findings(self) -> Iterator[tuple[str, Finding]]:
        """Each obligation of the bundle with its verdict so far."""
        for index, observer in enumerate(self.compiled.observers):
            candidates = [self._finding(index, self.base[index])]
            if index in self._kept:
                candidates.append(self._kept[index])
            if observer.per_request:
                place = self._scoped.index(index)
                in_hand = (request.watches[place] for request in self.requests.values())
                candidates += [self._finding(index, watch) for watch in in_hand]
            verdict = pool(f.verdict for f in candidates)
            equals = [f for f in candidates if f.verdict is verdict]
            finding = next((f for f in equals if f.why != observer.states[0].says), equals[0])
            doubt = self.taint or self._doubts.get(index)
            if doubt is not None and verdict is not Verdict.VIOLATED:
                finding = Finding(Verdict.INCONCLUSIVE, *doubt)
            yield observer.name, finding

    def _finding(self, index: int, watch: _Watch) -> Finding:
        observer = self.compiled.observers[index]
        state = observer.states[watch.state]
        rule: Rule | None = observer.rules[watch.rule] if watch.rule >= 0 else None
        if rule is None or state.verdict is Verdict.UNEXERCISED:
            return Finding(state.verdict, None, state.says)
        shown = rule.why if rule.guard is not Guard.TOLD else state.says
        return Finding(state.verdict, watch.at, shown, rule.allowed, watch.trail)


def _unmoved(state: int, own: Registers, *_: object) -> tuple[int, Registers, int]:
    """The step of an observer that concludes nothing any more."""
    return state, own, -1
