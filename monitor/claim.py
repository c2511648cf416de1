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
    from collections.abc import Iterator

    from monitor.compile import Compiled, Registers
    from monitor.doubt import Step
    from monitor.records import At
    from monitor.view import Constants, View
    from spec.machine import Rule
    from spec.predicates import MaterializationPredicate

__all__ = ["UNSTATED", "ClaimRun", "Finding"]

UNSTATED = 2**63
"""The threshold of a predicate that nobody stated: it never holds."""

ENDED_KEPT = 16  # requests that touched a claim stay in hand this long after their end

_REGISTERED = CLAIM_REGISTERS.index("registered")
_RESPONSIBLE = CLAIM_REGISTERS.index("responsible")
_COMMITTED = CLAIM_REGISTERS.index("committed")
_DECLARED = CLAIM_REGISTERS.index("declared")
_LEAD = CLAIM_REGISTERS.index("lead")


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict of one obligation, the event that decided it, and why, for people."""

    verdict: Verdict
    at: At | None
    why: str
    allowed: str = ""


@dataclass(slots=True)
class _Watch:
    """One observer in one scope (the claim itself or one request)."""

    state: int
    own: Registers
    at: At | None = None
    rule: int = -1

    def copy(self) -> _Watch:
        return _Watch(self.state, self.own, self.at, self.rule)


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
    of the pool. `registered_at` and `lost_at` count the stream's events: when the claim was
    registered, and when it last lost a block to eviction.
    """

    stream: str
    claim_id: str
    compiled: Compiled
    constants: Constants
    predicate: MaterializationPredicate | None = None
    binding: dict[str, str] = field(default_factory=dict)
    declared_mode: str | None = None
    owner_scope: str | None = None
    duration: str | None = None
    priority: int | None = None
    registered: bool = False
    registered_at: int = 0
    lost_at: int | None = None
    accepted: bool = False
    elapsed: bool = False
    state: ClaimState = ClaimState.SUBMITTED
    held: Positions = field(default_factory=Positions)
    taint: tuple[At | None, str] | None = None
    facts: Registers = ()
    base: list[_Watch] = field(default_factory=list)
    requests: dict[str, _Request] = field(default_factory=dict)
    _ended: deque[str] = field(default_factory=deque)
    _kept: dict[int, Finding] = field(default_factory=dict)
    _unknown: frozenset[str] = frozenset()
    _doubts: dict[int, tuple[At | None, str]] = field(default_factory=dict)
    _steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        self.facts = self.compiled.claim_initial
        self._steps = self.compiled.steps
        self.base = [
            _Watch(0, tuple(r.initial for r in o.registers)) for o in self.compiled.observers
        ]

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
        watches = [w.copy() for w in self.base]
        self.requests[request_id] = _Request(self.compiled.request_initial, watches)
        return True

    def touch(self, request_id: str) -> None:
        """The request has had to do with this claim itself, not only with its pool."""
        self.requests[request_id].touched = True

    def close_request(self, request_id: str) -> None:
        """The request ended. If it touched the claim it is kept a while: reports may come late."""
        request = self.requests[request_id]
        if request.ended:
            return
        request.ended = True
        if not request.touched:
            self._forget(request_id)
            return
        self._ended.append(request_id)
        if len(self._ended) > ENDED_KEPT:
            self._forget(self._ended.popleft())

    def _forget(self, request_id: str) -> None:
        request = self.requests.pop(request_id)
        for index, watch in enumerate(request.watches):
            self._keep(index, self._finding(index, watch))

    def _keep(self, index: int, finding: Finding) -> None:
        """Remember a finding whose state is left or forgotten: what is still owed stays owed."""
        kept = self._kept[index].verdict if index in self._kept else Verdict.UNEXERCISED
        if pool((kept, finding.verdict)) is not kept:
            self._kept[index] = finding

    # Stepping.

    def step(self, view: View) -> None:
        """Take one event into every ledger and observer of this claim."""
        was = self.facts
        now = self.compiled.claim(view, self.constants, was)
        self.facts = now
        self._follow(view)
        if self.taint is not None:
            return
        view.here = False
        empty = self.compiled.request_initial
        self._observe(self.base, view, was, now, empty, empty)
        for request_id, request in self.requests.items():
            view.here = request_id == view.request_id
            self._step_request(request, view, was, now)

    def step_request(self, request_id: str, view: View) -> None:
        """Take one event into one request alone (its arrival, told late)."""
        if self.taint is None:
            view.here = True
            self._step_request(self.requests[request_id], view, self.facts, self.facts)

    def _step_request(self, request: _Request, view: View, was: Registers, now: Registers) -> None:
        after = self.compiled.request(view, self.constants, was, now, request.facts)
        self._observe(request.watches, view, was, now, request.facts, after)
        request.facts = after

    def compare(self, *views: View) -> None:
        """Take the losses of this claim and one other into the observers of ranks, by themselves.

        What a pair shows is kept; each pair begins anew, so that no third claim hides it.
        """
        empty = self.compiled.request_initial
        for index, observer in enumerate(self.compiled.observers):
            if self.taint is not None or without(observer.name, RIVALS) is None:
                continue
            watch = _Watch(0, tuple(register.initial for register in observer.registers))
            for view in views:
                watch.state, watch.own, rule = self._steps[index](
                    watch.state,
                    watch.own,
                    view,
                    self.constants,
                    self.facts,
                    self.facts,
                    empty,
                    empty,
                )
                watch.at, watch.rule = view.at, rule
            self._keep(index, self._finding(index, watch))

    def _observe(
        self,
        watches: list[_Watch],
        view: View,
        was: Registers,
        now: Registers,
        req_was: Registers,
        req: Registers,
    ) -> None:
        for index, (watch, step) in enumerate(zip(watches, self._steps, strict=True)):
            state, own, rule = step(
                watch.state, watch.own, view, self.constants, was, now, req_was, req
            )
            if rule >= 0:
                if state != watch.state and index not in self._kept:
                    left = self._finding(index, watch)
                    if left.verdict is Verdict.SATISFIED:
                        self._keep(index, left)
                watch.state, watch.own, watch.at, watch.rule = state, own, view.at, rule

    def _follow(self, view: View) -> None:
        if view.named and view.mine:
            following = next_state(self.state, view.kind)
            if following is not None:
                self.state = following

    def distrust(self, at: At | None, why: str, only: frozenset[str] = frozenset()) -> None:
        """From here on nothing new is concluded about this claim, or of the obligations `only`."""
        if not only:
            self.taint = self.taint or (at, why)
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
            candidates += [self._finding(index, r.watches[index]) for r in self.requests.values()]
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
        return Finding(state.verdict, watch.at, shown, rule.allowed)


def _unmoved(state: int, own: Registers, *_: object) -> tuple[int, Registers, int]:
    """The step of an observer that concludes nothing any more."""
    return state, own, -1
