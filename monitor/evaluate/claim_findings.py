"""States what is concluded of one claim so far, and what nothing more is concluded of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.evaluate.by_kind import unmoved
from monitor.evaluate.claim_record import ClaimRecord
from monitor.evaluate.compaction import findings_of
from monitor.evaluate.observer_state import Finding, ObserverState, heaviest
from monitor.evaluate.partial_observation import without
from spec.claims.states import TERMINAL
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from monitor.evaluate.partial_observation import Step
    from monitor.input.records import At
    from spec.language.machine import Rule

__all__ = ["ClaimFindings"]


class ClaimFindings(ClaimRecord):
    """The findings about one claim, as its observers stand."""

    __slots__ = ()

    @property
    def standing(self) -> Hashable:
        """What the next event meets, as far as an event can change it without stirring."""
        self.catch_up()
        watches = tuple((request.facts, *request.watches) for request in self.requests.values())
        retired = tuple(self.retired)
        return (self.facts, self.state, self.taint, self.steps, *self.base, *watches, *retired)

    @property
    def standing_but_places(self) -> Hashable:
        """The same, but for the place of a finding that rests on one event alone."""
        base = tuple(
            (each.state, each.own, each.rule, each.events) if isinstance(each.events, str) else each
            for each in self.base
        )
        watches = tuple((request.facts, *request.watches) for request in self.requests.values())
        return (self.facts, self.state, self.taint, self.steps, base, watches, tuple(self.retired))

    @property
    def settled(self) -> bool:
        """Whether its end was reported, and nothing is owed of it."""
        return not (
            self.alive or any(found.verdict is Verdict.PENDING for _, found in self.findings())
        )

    @property
    def over(self) -> bool:
        """Whether it ended and nothing is owed of it or in hand."""
        if not self.gone:
            return False
        if self.product is not None:
            return self.product.quiet and (self.state in TERMINAL or self.unusual.unwatched)
        if self.taint is not None:
            return all(request.ended for request in self.requests.values())
        return self.is_quiet and (self.state in TERMINAL or self.unwatched or bool(self.broken))

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is owed of it, and each of its requests in hand ended."""
        for request in self.requests.values():
            if not request.ended:
                return False
        if self._is_owing(self.compiled.places, self.base):
            return False
        for followed in (*self.requests.values(), *self.retired.values()):
            if self._is_owing(self.compiled.scoped_places, followed.watches):
                return False
        return True

    def _is_owing(self, places: Iterable[tuple[int, int]], watches: list[ObserverState]) -> bool:
        """Whether something is owed by the observers of one scope, which still move."""
        pending, steps = self.compiled.pending, self.steps
        for place, index in places:
            if watches[place].state in pending[index] and steps[index] is not unmoved:
                return True
        return False

    @property
    def is_broken(self) -> bool:
        """Whether any obligation was violated, found faster than by `broken`."""
        if self.product is not None:
            return False
        violated = self.compiled.violated
        followed = (*self.requests.values(), *self.retired.values())
        scoped = self.compiled.scoped_places
        scopes = [(self.compiled.places, self.base), *((scoped, f.watches) for f in followed)]
        return any(
            watches[place].state in violated[index]
            for places, watches in scopes
            for place, index in places
        ) or any(found.verdict is Verdict.VIOLATED for found in self.kept.values())

    @property
    def broken(self) -> list[int]:
        """The places of the obligations that were violated."""
        findings = enumerate(found for _, found in self.findings())
        return [place for place, found in findings if found.verdict is Verdict.VIOLATED]

    def findings(self) -> Iterator[tuple[str, Finding]]:
        """Each obligation of the bundle with its verdict so far."""
        if self.product is not None:
            yield from findings_of(self)
            return
        self.catch_up()
        for index, observer in enumerate(self.compiled.observers):
            candidates = [self._finding(index, self.base[index])]
            if index in self.kept:
                candidates.append(self.kept[index])
            if observer.per_request:
                place = self.compiled.scoped.index(index)
                followed = (*self.requests.values(), *self.retired.values())
                candidates += [self._finding(index, each.watches[place]) for each in followed]
            finding = heaviest(candidates)
            if finding.verdict is Verdict.UNEXERCISED:
                finding = next((f for f in candidates if f.why != observer.states[0].says), finding)
            doubt = self.taint or self.doubts.get(index)
            if doubt is not None and finding.verdict is not Verdict.VIOLATED:
                finding = Finding(Verdict.INCONCLUSIVE, *doubt)
            yield observer.name, finding

    def _finding(self, index: int, watch: ObserverState) -> Finding:
        observer = self.compiled.observers[index]
        state = observer.states[watch.state]
        rule: Rule | None = observer.rules[watch.rule] if watch.rule >= 0 else None
        if rule is None or state.verdict is Verdict.UNEXERCISED:
            return Finding(state.verdict, None, state.says)
        shown = rule.why if state.verdict is Verdict.VIOLATED else state.says
        return Finding(state.verdict, watch.at, shown, rule.allowed, watch.trail)

    def keep_left(self, index: int, watch: ObserverState) -> None:
        """Remember the finding of a state that is left, if it is the first that was satisfied."""
        if index not in self.kept:
            left = self._finding(index, watch)
            if left.verdict is Verdict.SATISFIED:
                self._keep(index, left)

    def _keep(self, index: int, finding: Finding) -> None:
        """Remember a finding whose state is left or forgotten."""
        found = heaviest([self.kept[index], finding] if index in self.kept else [finding])
        if found.verdict is not Verdict.UNEXERCISED:
            self.kept = self.kept or {}
            self.kept[index] = found

    def distrust(self, at: At | None, why: str, only: frozenset[str] = frozenset()) -> None:
        """From here on nothing new is concluded about this claim, or of the obligations `only`."""
        self.expanded()
        if not only:
            self.taint, self.owes = self.taint or (at, why), False
            return
        for index, observer in enumerate(self.compiled.observers):
            if observer.name in only:
                self._doubt(index, at, why, unmoved)

    def doubt(self, fields: frozenset[str], at: At | None, why: str) -> None:
        """From here on these fields of events are unknown; what reads them is inconclusive."""
        if fields <= self.unknown:
            return
        self.expanded()
        self.unknown |= fields
        for index, observer in enumerate(self.compiled.observers):
            step = without(observer.name, self.unknown)
            if step is not None and self.steps[index] is not unmoved:
                self._doubt(index, at, why, step)

    def _doubt(self, index: int, at: At | None, why: str, step: Step) -> None:
        self.doubts = self.doubts or {}
        self.doubts.setdefault(index, (at, why))
        self.steps = (*self.steps[:index], step, *self.steps[index + 1 :])
