"""One claim under judgement: its observers, in the scope of the claim and in each request's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from spec.alphabet import Kind
from spec.events import Event
from spec.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.machines import Automaton
from spec.obligations import OBLIGATIONS
from spec.projection.interpret import MUCH, Look, Loose, Value, follow
from spec.projection.pool import Claim
from spec.projection.unknown import AWAY, unbreakable, unknowable, without
from spec.states import next_state
from spec.terms import Scope
from spec.verdicts import Verdict, pool

__all__ = ["Case", "Finding", "View"]

View: TypeAlias = Mapping[str, Value | None]

_CLAIM: Final = (CLAIM_FACTS, DECLARED)
_REQUEST: Final = (REQUEST_FACTS,)
_REGISTERS: Final = frozenset({Scope.WAS, Scope.NOW, Scope.REQ_WAS, Scope.REQ})
_ANY: Final = Loose((-MUCH, 0, MUCH))  # of a number that nobody knows
_NO_REQUEST: Final[Mapping[str, Value]] = {r.name: r.initial for r in REQUEST_FACTS.registers}


class Finding(NamedTuple):
    """What one obligation of one claim came to: by which event, and by which rule."""

    verdict: Verdict
    at: int | None = None
    rule: str | None = None


@cache
def _automaton(name: str, unknown: frozenset[str] = frozenset()) -> Automaton:
    observer = without(name, unknown) if unknown else None
    return Automaton(observer or OBLIGATIONS[name])


@dataclass
class _Watch:
    """Where an observer stands in one scope, since which event and by which rule."""

    state: str
    own: dict[str, Value]
    at: int | None = None
    rule: str | None = None


@dataclass
class _Scope:
    """The claim itself (None), or a request: its registers, and its observers."""

    request: str | None
    watches: dict[str, _Watch]
    facts: dict[str, Value] = field(default_factory=lambda: dict(_NO_REQUEST))


class Case:
    """A claim, judged by the observers of these names.

    `taint` is the event from which on nothing is concluded of it, `open` the same for single
    obligations. `touched` are the requests that had to do with it; `taken` counts rules, each by
    the names of its observer and itself.

    Args:
        constants: those that the mode fixes.
        requests: the ids of all requests of the stream.
    """

    def __init__(
        self,
        claim: Claim,
        names: Sequence[str],
        constants: Mapping[str, bool],
        requests: Iterable[str],
    ) -> None:
        self.claim, self._constants = claim, constants
        self._steps: dict[str, Automaton | None] = {name: _automaton(name) for name in names}
        self._unknown: frozenset[str] = frozenset()
        self._left: dict[str, Finding] = {}
        self._unset: frozenset[str] = frozenset()  # registers that no fact can set
        self.taint: int | None = None
        self.open: dict[str, int] = {}
        self.touched: set[str] = set()
        self.taken: Counter[tuple[str, str]] = Counter()
        scoped = [name for name in names if OBLIGATIONS[name].per_request]
        self._own = _Scope(None, _first(names))
        self._scopes = [self._own, *(_Scope(request, _first(scoped)) for request in requests)]

    # Events.

    def look(self, views: Sequence[View]) -> Look:
        """The variables that are known before an event is taken in."""
        known = {Scope.WAS: self.claim.facts}
        return self._look(views, known)

    def _look(self, views: Sequence[View], known: Mapping[Scope, Mapping[str, Value]]) -> Look:
        constants = {"threshold": self.claim.threshold, **self._constants}

        def look(scope: Scope, name: str) -> tuple[Value, ...]:
            if scope is Scope.EVENT:
                return tuple(view[name] or 0 for view in views)
            return ((constants if scope is Scope.CLAIM else known[scope])[name],)

        return look

    def _unsure(self, look: Look) -> Look:
        """The same where registers that no observed fact sets may be anything, unless one did."""
        if not self._unset:
            return look

        def unsure(scope: Scope, name: str) -> tuple[Value, ...]:
            found = look(scope, name)
            if scope not in _REGISTERS or name not in self._unset or found[0]:
                return found
            return (False, True) if found[0] is False else _ANY

        return unsure

    def take(
        self, kind: Kind, views: Sequence[View], here: str | None, at: int, *, moves: bool = True
    ) -> None:
        """Take an event into every ledger, and if it `moves` anything into every observer.

        Args:
            views: its fields, at each end of what nobody knows.
            here: the request that it belongs to.
            at: its line.
        """
        was = self.claim.facts
        now = follow(_CLAIM, Scope.NOW, self.look(views), kind)
        for scope in self._scopes:
            seen = [{**view, "here": here is not None and scope.request == here} for view in views]
            known = {Scope.WAS: was, Scope.NOW: now, Scope.REQ_WAS: scope.facts}
            after = dict(_NO_REQUEST)
            if scope is not self._own:
                after = follow(_REQUEST, Scope.REQ, self._look(seen, known), kind)
            if moves and self.taint is None:
                look = self._unsure(self._look(seen, {**known, Scope.REQ: after}))
                for name in scope.watches:
                    self._observe(name, scope, look, kind, at)
            scope.facts = after
        self.claim.facts = now
        self._follow(kind, views[0])

    def _observe(self, name: str, scope: _Scope, look: Look, kind: Kind, at: int) -> None:
        automaton, watch = self._steps[name], scope.watches[name]
        if automaton is None:
            return
        rule, state, own = (steps := automaton.steps(watch.state, watch.own, look, kind))[0]
        if len(steps) > 1:
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
        """From here on nobody knows these fields and registers."""
        if fields <= self._unknown:
            return
        self._unknown |= fields
        for name, automaton in self._steps.items():
            if automaton is not None and without(name, self._unknown) is not None:
                self._steps[name] = _automaton(name, self._unknown)
                self.open.setdefault(name, at)

    def observe(self, observes: frozenset[Kind] | None, at: int) -> None:
        """From here on these facts are observed: what is not is neither kept nor broken."""
        self._unset = unknowable(observes)
        for name in self._steps:
            if unbreakable(name, observes):
                self.open.setdefault(name, at)

    def attribute(self, event: Event, among: Sequence[str], at: int) -> None:
        """An event about the claim belongs to one of these requests.

        Where a claim that was away was computed by one of several, nobody knows which of them may
        reuse it.
        """
        away = self.claim.facts["lead"] < self.claim.threshold
        if event.kind is Kind.BLOCK_CACHED and len(among) > 1 and away and self.claim.responsible:
            self.leave_open(AWAY, at)

    def forget(self, request: str) -> None:
        """The request is over, or another of its name begins."""
        self.touched.discard(request)

    # What it came to.

    def findings(self) -> Iterator[tuple[str, Finding]]:
        """Each obligation with what it came to so far: the heaviest of all scopes.

        What was satisfied stays so when its state is left.
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
                yield name, next(each for each in found if each.verdict is verdict)

    def _finding(self, name: str, watch: _Watch) -> Finding:
        verdict = OBLIGATIONS[name].state(watch.state).verdict
        unexercised = watch.rule is None or verdict is Verdict.UNEXERCISED
        return Finding(verdict) if unexercised else Finding(verdict, watch.at, watch.rule)


def _first(names: Iterable[str]) -> dict[str, _Watch]:
    return {n: _Watch(OBLIGATIONS[n].initial, _automaton(n).first) for n in names}
