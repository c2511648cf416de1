"""Judges one claim: its observers, in the scope of the claim and in each request's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from spec.claims.claim import Mode
from spec.claims.states import next_state
from spec.contract.interpret import Look, Value, claim_after, request_after
from spec.contract.ledgers import REQUEST_FACTS
from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.terms import Scope
from spec.language.verdicts import Verdict, pool
from spec.machines import Automaton, mode_machine
from spec.projection.pool import Claim
from spec.projection.unknown import CACHED_BY, without

__all__ = ["Case", "Finding", "Reads", "Turn", "View"]

View: TypeAlias = Mapping[str, Value | None]

_NO_REQUEST: Final[Mapping[str, Value]] = {r.name: r.initial for r in REQUEST_FACTS.registers}


class Finding(NamedTuple):
    """What one obligation of one claim came to: by which event, and by which rule."""

    verdict: Verdict
    at: int | None = None
    rule: str | None = None


@cache
def _automaton(name: str, unknown: frozenset[str] = frozenset()) -> Automaton:
    return Automaton(without(name, unknown) or OBLIGATIONS[name])


@dataclass
class _Watch:
    """Where an observer stands in one scope, since which event and by which rule."""

    state: str
    own: dict[str, Value]
    at: int | None = None
    rule: str | None = None


@dataclass
class _Scope:
    """The claim itself (None), or a request: its registers, and its observers.

    It is `over` once another request has come under its id: no event belongs to it then.
    """

    request: str | None
    watches: dict[str, _Watch]
    facts: dict[str, Value] = field(default_factory=lambda: dict(_NO_REQUEST))
    over: bool = False

    def is_of(self, requests: Container[str]) -> bool:
        """Whether it is the scope of one of these requests."""
        return self.request in requests and not self.over


class Turn(NamedTuple):
    """An event as every scope of a claim takes it in.

    `here` are the requests that it belongs to, `was` and `now` the claim's registers before and
    after it; `moves` says whether it can move an observer. `at` is its line.
    """

    kind: Kind
    views: tuple[View, ...]
    here: Collection[str]
    constants: Mapping[str, Value]
    was: Mapping[str, Value]
    now: Mapping[str, Value]
    moves: bool
    at: int


class Reads(NamedTuple):
    """The registers of a claim's ledgers and of a request's that are followed; None for all."""

    claim: frozenset[str] | None = None
    request: frozenset[str] | None = None


class Case:
    """A claim, judged by the observers of these names.

    `taint` is the event from which on nothing is concluded of it, `open` the same for single
    obligations. `taken` counts rules, each by the names of its observer and itself.

    Args:
        mode: the one that judges.
        requests: the ids of all requests of the stream.
        reads: the registers that are followed; the others keep their first values.
    """

    def __init__(
        self,
        claim: Claim,
        names: Sequence[str],
        mode: Mode,
        requests: Iterable[str],
        reads: Reads = Reads(),  # noqa: B008
    ) -> None:
        self.claim, self.mode, self.reads = claim, mode, reads
        self._steps: dict[str, Automaton | None] = {name: _automaton(name) for name in names}
        self._unknown: frozenset[str] = frozenset()
        self._left: dict[str, Finding] = {}
        self.taint: int | None = None
        self.open: dict[str, int] = {}
        self.taken: Counter[tuple[str, str]] = Counter()
        scoped = [name for name in names if OBLIGATIONS[name].per_request]
        self._own = _Scope(None, _first(names))
        self._scoped = scoped
        self._scopes = [self._own, *(_Scope(request, _first(scoped)) for request in requests)]

    # Events.

    def look(self, views: Sequence[View]) -> Look:
        """The variables that are known before an event is taken in."""
        return _look(views, {Scope.WAS: self.claim.facts, Scope.CLAIM: self._constants()})

    def _constants(self) -> dict[str, Value]:
        return {**MODES[self.claim.goes_by(self.mode)].constants, "threshold": self.claim.threshold}

    def take(
        self,
        kind: Kind,
        views: Sequence[View],
        here: Collection[str],
        at: int,
        *,
        moves: bool = True,
    ) -> None:
        """Take an event into every ledger, and if it `moves` anything into every observer.

        Args:
            views: its fields, at each end of the interval of what is unknown.
            here: the requests that it belongs to.
            at: its line.
        """
        was = self.claim.facts
        now = {**was, **claim_after(kind, self.look(views), self.reads.claim)}
        moves = moves and self.taint is None
        self.turn(Turn(kind, tuple(views), here, self._constants(), was, now, moves, at))
        self.claim.facts = now
        self._follow(kind, views[0])

    def turn(self, turn: Turn) -> None:
        """Take an event into every scope. None reads anything of the others."""
        for scope in self._scopes:
            self._step(scope, turn)

    def _step(self, scope: _Scope, turn: Turn) -> None:
        kind, views = turn.kind, turn.views
        seen = [{**view, "here": scope.is_of(turn.here)} for view in views]
        known: dict[Scope, Mapping[str, Value]] = {
            Scope.CLAIM: turn.constants,
            Scope.WAS: turn.was,
            Scope.NOW: turn.now,
            Scope.REQ_WAS: scope.facts,
        }
        after = dict(_NO_REQUEST)
        if scope.request is not None:
            found = request_after(kind, _look(seen, known), self.reads.request)
            after = {**scope.facts, **found}
        if turn.moves:
            whole = {**known, Scope.REQ: after}
            ends, between = [_look([view], whole) for view in seen], _look(seen, whole)
            for name in scope.watches:
                self._observe(name, scope, ends, between, kind, turn.at)
        scope.facts = after

    def _observe(
        self, name: str, scope: _Scope, ends: Sequence[Look], between: Look, kind: Kind, at: int
    ) -> None:
        """One step of an observer. Where the ends disagree it is unknown which holds; nor where
        they agree on a breach that need not be one between them. Where they agree the first end has
        the rule.
        """
        automaton, watch = self._steps[name], scope.watches[name]
        if automaton is None:
            return
        steps = [automaton.steps(watch.state, watch.own, look, kind)[0] for look in ends]
        rule, state, own = steps[0]
        if len(ends) > 1 and OBLIGATIONS[name].state(state).verdict is Verdict.VIOLATED:
            steps += automaton.steps(watch.state, watch.own, between, kind)
        if any(step[1:] != steps[0][1:] for step in steps):
            self.leave_open([name], at)
        elif rule is not None:
            self.taken[name, rule.name] += 1
            if state != watch.state and self._finding(name, watch).verdict is Verdict.SATISFIED:
                self._left.setdefault(name, self._finding(name, watch))
            scope.watches[name] = _Watch(state, own, at, rule.name)

    def _follow(self, kind: Kind, view: View) -> None:
        following = next_state(self.claim.state, kind)
        if following is not None and view["named"] and view["mine"]:
            self.claim.state = following

    def renew(self, request: str) -> None:
        """Another request comes under the id of one that has ended: it is followed by itself."""
        for scope in [each for each in self._scopes if each.is_of({request})]:
            scope.over = True
            watches = {name: self._own.watches[name] for name in self._scoped}
            self._scopes.append(_Scope(request, watches))

    def measure(self) -> None:
        """What the claim holds turns out to be otherwise than was known, and was so before."""
        self.remeasure(self.claim.facts["lead"] < self.claim.threshold)

    def remeasure(self, away: bool) -> None:
        """The claim was away all the time, or was not."""
        for scope in self._scopes:
            scope.facts["away"] = away and scope.facts["seen"]

    # What is not known.

    def distrust(self, at: int | None) -> None:
        """From here on, if it is anywhere, nothing more is concluded of the claim."""
        self.taint = self.taint or at

    def leave_open(self, names: Iterable[str], at: int) -> None:
        """From here on nothing more is concluded of these obligations."""
        for name in names:
            if name in self._steps:
                self._steps[name] = None
                self.open.setdefault(name, at)

    def doubt(self, fields: frozenset[str], at: int) -> None:
        """From here on these fields and registers are unknown."""
        if fields <= self._unknown:
            return
        self._unknown |= fields
        for name, automaton in self._steps.items():
            if automaton is not None and without(name, self._unknown) is not None:
                self._steps[name] = _automaton(name, self._unknown)
                self.open.setdefault(name, at)

    def attribute(self, event: Event, among: Sequence[str], at: int) -> None:
        """An event about the claim belongs to one of these requests.

        Where a claim that was away was computed by one of several, nobody knows which of them may
        reuse it.
        """
        away = self.claim.facts["lead"] < self.claim.threshold
        if event.kind is Kind.BLOCK_CACHED and len(among) > 1 and away and self.claim.responsible:
            self.doubt(CACHED_BY, at)

    # As a value.

    def frozen(self) -> tuple[Any, ...]:
        """All that decides what later events come to, without line numbers."""
        return (
            self.claim.state,
            self.taint is not None,
            tuple(self.open),
            self._unknown,
            tuple(name for name, step in self._steps.items() if step is None),
            tuple(self._left),
            tuple(_frozen_scope(scope) for scope in self._scopes),
        )

    def thaw(self, frozen: tuple[Any, ...]) -> None:
        """Go on from what `frozen` returned for a claim of the same observers and requests."""
        self.claim.state, tainted, opened, self._unknown, unknown, left, scopes = frozen
        self.taint = 1 if tainted else None
        self.open = dict.fromkeys(opened, 1)
        self._left = dict.fromkeys(left, Finding(Verdict.SATISFIED))
        for name in self._steps:
            self._steps[name] = None if name in unknown else _automaton(name, self._unknown)
        self._scopes = [_thawed_scope(scope) for scope in scopes]
        self._own = self._scopes[0]

    # What it came to.

    @property
    def names(self) -> tuple[str, ...]:
        """The obligations that it is judged by."""
        return tuple(self._steps)

    @property
    def settled(self) -> bool:
        """Whether the end of the claim was told, and nothing is owed of it."""
        owed = any(found.verdict is Verdict.PENDING for _, found in self.findings())
        return not (self.claim.alive or owed)

    def findings(self) -> Iterator[tuple[str, Finding]]:
        """Each obligation with what it came to so far: the heaviest of all scopes.

        What was satisfied stays so when its state is left. Of several breaches the first counts; of
        anything else what the claim itself comes to now, then what it was when that was satisfied,
        and then the requests.
        """
        for name in self._steps:
            watches = (scope.watches.get(name) for scope in self._scopes)
            found = [self._finding(name, watch) for watch in watches if watch is not None]
            if name in self._left:
                found.insert(1, self._left[name])
            verdict = pool(each.verdict for each in found)
            since = self.open.get(name) if self.taint is None else self.taint
            if since is not None and verdict is not Verdict.VIOLATED:
                yield name, Finding(Verdict.INCONCLUSIVE, since)
            else:
                heaviest = [each for each in found if each.verdict is verdict]
                breaks = verdict is Verdict.VIOLATED
                yield name, min(heaviest, key=_line) if breaks else heaviest[0]

    def _finding(self, name: str, watch: _Watch) -> Finding:
        verdict = OBLIGATIONS[name].state(watch.state).verdict
        if verdict is Verdict.UNEXERCISED:
            return Finding(verdict)
        return Finding(verdict, watch.at, watch.rule)


def _look(views: Sequence[View], known: Mapping[Scope, Mapping[str, Value]]) -> Look:
    """The variables of an event, and of what is known besides."""

    def look(scope: Scope, name: str) -> tuple[Value, ...]:
        if scope is Scope.EVENT:
            return tuple([view[name] or 0 for view in views])
        return (known[scope][name],)

    return look


def _line(finding: Finding) -> int:
    """Where it was found."""
    return finding.at or 0


def _frozen_scope(scope: _Scope) -> tuple[Any, ...]:
    watches = tuple((n, w.state, tuple(w.own.items())) for n, w in scope.watches.items())
    return scope.request, scope.over, tuple(scope.facts.items()), watches


def _thawed_scope(frozen: tuple[Any, ...]) -> _Scope:
    request, over, facts, watches = frozen
    return _Scope(
        request, {name: _Watch(state, dict(own)) for name, state, own in watches}, dict(facts), over
    )


def _first(names: Iterable[str]) -> dict[str, _Watch]:
    initial = mode_machine(tuple(names)).initial
    return {name: _Watch(state, _automaton(name).first) for name, state in initial.items()}
