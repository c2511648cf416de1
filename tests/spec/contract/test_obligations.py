"""Tests of the nineteen obligations and of the seven modes."""

import dataclasses
import re

import pytest

from spec.claims.states import Mode
from spec.contract.interpretations import INTERPRETATIONS
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import ALIASES, OBLIGATIONS, STATED
from spec.language.machine import Guard, Observer
from spec.language.terms import Scope, variables
from spec.language.verdicts import Verdict

EACH = pytest.mark.parametrize("observer", OBLIGATIONS.values(), ids=OBLIGATIONS)
OF_CLAIM = {Scope.EVENT, Scope.CLAIM, Scope.WAS, Scope.NOW, Scope.OWN}
OF_REQUEST = OF_CLAIM | {Scope.REQ_WAS, Scope.REQ}


class TestBook:
    """The obligations together."""

    def test_counts(self) -> None:
        """There are nineteen obligations, under nineteen codes, and one other name."""
        assert 19 == len(OBLIGATIONS) == len({o.code.casefold() for o in OBLIGATIONS.values()})
        assert {"active_refusal_or_defer": "explicit_conflict_action"} == ALIASES
        assert not set(ALIASES) & set(OBLIGATIONS)

    def test_used(self) -> None:
        """Every obligation is in some bundle, and each of table 1 in one that the paper prints."""
        paper = {name for spec in MODES.values() for name in spec.paper}
        assert {name for name, stated in STATED.items() if stated.row} == paper
        assert set(OBLIGATIONS) == {name for spec in MODES.values() for name in spec.names()}

    def test_explained(self) -> None:
        """Every obligation says why it is there and where it comes from."""
        assert all(o.reason and o.source for o in OBLIGATIONS.values())


@EACH
class TestObserver:
    """Each obligation by itself."""

    def test_reachable(self, observer: Observer) -> None:
        """Every state is reached from the first one by the rules."""
        reached = {observer.initial}
        while (
            more := {rule.to for rule in observer.rules if set(observer.sources(rule)) & reached}
            - reached
        ):
            reached |= more
        assert {state.name for state in observer.states} == reached

    def test_verdicts(self, observer: Observer) -> None:
        """It starts unexercised, can be satisfied and violated, and is never inconclusive."""
        verdicts = {state.verdict for state in observer.states}
        assert Verdict.UNEXERCISED is observer.state(observer.initial).verdict
        assert verdicts >= {Verdict.SATISFIED, Verdict.VIOLATED}
        assert Verdict.INCONCLUSIVE not in verdicts

    def test_for_good(self, observer: Observer) -> None:
        """No rule leads out of a violated state."""
        violated = {s.name for s in observer.states if s.verdict is Verdict.VIOLATED}
        assert not any(violated & set(observer.sources(rule)) for rule in observer.rules)

    def test_guards(self, observer: Observer) -> None:
        """What is stated, due or broken violates; nothing else does."""
        breaking = {Guard.FALSE_REPORT, Guard.DUE, Guard.FORBIDDEN}
        for rule in observer.rules:
            violates = observer.state(rule.to).verdict is Verdict.VIOLATED
            assert violates == (rule.guard in breaking), rule.name

    def test_advice(self, observer: Observer) -> None:
        """Every rule says why, and one that violates says what was expected instead."""
        for rule in observer.rules:
            violates = observer.state(rule.to).verdict is Verdict.VIOLATED
            assert rule.why
            assert violates == bool(rule.allowed), rule.name

    def test_scopes(self, observer: Observer) -> None:
        """Rules read facts and the event, never beliefs, and requests only where one is in hand."""
        allowed = OF_REQUEST if observer.per_request else OF_CLAIM
        for rule in observer.rules:
            for term in (rule.when, *rule.sets.values()):
                read = list(variables(term))
                assert {var.scope for var in read} <= allowed, rule.name
                here = any(var.scope is Scope.EVENT and var.name == "here" for var in read)
                assert observer.per_request or not here, rule.name

    def test_names(self, observer: Observer) -> None:
        """Each rule has a name of its own, of at least two words in snake case."""
        names = [rule.name for rule in observer.rules]
        assert len(names) == len(set(names))
        assert [] == [name for name in names if not re.fullmatch(r"[a-z]+(_[a-z]+)+", name)]


class TestModes:
    """The bundles."""

    def test_seven(self) -> None:
        """There are seven modes, in the order of their names' declaration."""
        assert list(Mode) == list(MODES)
        assert 7 == len(MODES)

    def test_sizes(self) -> None:
        """The bundles have the sizes of the paper, and the contract adds where it says so."""
        sizes = {
            mode.value: (len(spec.names(Bundle.PAPER)), len(spec.names()))
            for mode, spec in MODES.items()
        }
        assert {
            "best_effort": (4, 4),
            "soft_priority": (3, 3),
            "hard_protected": (9, 10),
            "demotable": (4, 6),
            "expiring": (4, 5),
            "offloadable": (7, 7),
            "routed_reuse": (6, 6),
        } == sizes

    @pytest.mark.parametrize("mode", Mode)
    def test_bundle(self, mode: Mode) -> None:
        """No obligation occurs twice, critical ones are in the bundle, additions have reasons."""
        spec = MODES[mode]
        assert len(spec.names()) == len(set(spec.names())) == len(spec.bundle())
        assert spec.critical <= set(spec.paper)
        assert all(spec.added.values())

    @pytest.mark.parametrize("part", ["paper", "added", "critical", "interpretations"])
    def test_typo(self, part: str) -> None:
        """A name that is no obligation, or no interpretation, is refused when the mode is made."""
        spec = MODES[Mode.HARD_PROTECTED]
        typo = {"due_by": "why"} if part == "added" else ("due_by",)
        with pytest.raises(ValueError, match=r"or interpretation: \['due_by'\]"):
            dataclasses.replace(spec, **{part: typo})

    def test_interpretations(self) -> None:
        """Every interpretation has one name and one line, and some mode rests on it."""
        names = [each.name for each in INTERPRETATIONS]
        assert len(names) == len(set(names))
        assert set(names) == {name for spec in MODES.values() for name in spec.interpretations}
        assert all(len(each.in_short) <= 54 for each in INTERPRETATIONS)
