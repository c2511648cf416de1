"""Observers that do without some fields: what runs was judged, and accuses nobody wrongly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.evaluate.partial_observation import POOL, without
from proofs.checks.frame.compiled import partial_sources, runs_text
from proofs.checks.frame.partial import Partial, partial_of, unknown_fields, verdicts
from proofs.checks.frame.results import Answer
from proofs.checks.frame.sources import Arguments
from proofs.checks.frame.statements import LEMMAS, PARTIAL_VERDICTS
from proofs.checks.frame.verification_conditions import Prover
from spec.contract.ledgers import kind
from spec.contract.obligations import OBLIGATIONS
from spec.contract.obligations._build import VIOLATED, idle, satisfied, violated
from spec.contract.vocabulary import e
from spec.events.alphabet import Kind
from spec.language.machine import Guard, Observer, Rule

FIELDS = unknown_fields()


def judged(observer: Observer, partial: Partial, fields: frozenset[str]) -> Answer:
    """Whether a partial observer accuses nobody wrongly."""
    prover, arguments = Prover(), Arguments(observer)
    prover.ask(arguments, verdicts(observer, partial, fields, arguments))
    return next(prover.answer(lemma) for lemma in LEMMAS if lemma.name == PARTIAL_VERDICTS)


def an_observer(*rules: Rule) -> Observer:
    """An observer with these rules."""
    states = (idle("idle"), satisfied("told", "told"), violated("no"))
    return Observer("tried", "Z", "", "", states, rules)


class TestFields:
    """The sets of fields that may be unknown."""

    def test_alone_and_together(self) -> None:
        """Each set of the monitor is there, and each union of two of them."""
        assert POOL in FIELDS
        assert all(one | other in FIELDS for one in FIELDS for other in FIELDS)
        assert len(set(FIELDS)) == len(FIELDS)


class TestAsItIs:
    """The partial observers of the monitor."""

    @pytest.mark.slow
    @pytest.mark.parametrize("name", OBLIGATIONS)
    def test_each(self, name: str) -> None:
        """Each is what it must be, runs as it was read, and finds only what the whole one finds."""
        for each in partial_sources(OBLIGATIONS[name]):
            assert each.runs is not None
            assert runs_text(each.runs, each.source.text, "observe_0")
            answer = judged(each.whole, each.partial, each.fields)
            assert "proved" == answer.result

    @pytest.mark.slow
    def test_every_set_is_seen(self) -> None:
        """Where the monitor leaves rules out they are found to be left out."""
        for name, observer in OBLIGATIONS.items():
            assert any(without(name, f) for f in FIELDS) == bool(list(partial_sources(observer)))


class TestPlanted:
    """Partial observers that are not what they must be."""

    @pytest.mark.parametrize("name", OBLIGATIONS)
    def test_a_rule_too_many(self, name: str) -> None:
        """One that still reads a field that nobody knows may accuse somebody wrongly."""
        observer = OBLIGATIONS[name]
        broken = {state.name for state in observer.states if state.name == VIOLATED}
        for fields in FIELDS[:6]:
            partial = partial_of(observer, fields)
            if partial is None or partial.lost:
                continue
            whole = Partial(observer, lost=False)
            reads = any(
                r.to in broken for r, k in zip(observer.rules, partial.kept, strict=True) if not k
            )
            expected = "refuted" if reads else "proved"
            assert expected == judged(observer, whole, fields).result

    def test_another_function_runs(self) -> None:
        """A function that leaves out other rules than it must is not the one that was read."""
        (each, *_) = partial_sources(OBLIGATIONS["claim_identity"])
        other = without("explicit_acceptance", frozenset({"named", "lead"}))
        assert other is not None
        assert not runs_text(other, each.source.text, "observe_0")

    def test_state_unknown(self) -> None:
        """A rule of one state is no proof of a violation where nobody knows the state."""
        unknown = Rule(Guard.NOTED, "turn", e.blames_unfailed, "told", why="")
        sure = Rule(
            Guard.FORBIDDEN, "bad", kind(Kind.BLOCK_LOST), VIOLATED, why="", source=("told",)
        )
        observer = an_observer(unknown, sure)
        left = partial_of(observer, frozenset({"blames_unfailed"}))
        assert left is not None
        assert (False, False) == left.kept
        assert left.lost
        assert "proved" == judged(observer, left, frozenset({"blames_unfailed"})).result
        kept = Partial(replace(observer, rules=(left.observer.rules[0], sure)), lost=True)
        assert "refuted" == judged(observer, kept, frozenset({"blames_unfailed"})).result

    def test_sure_rules_stay(self) -> None:
        """A violation that is one in any state stays, where it comes before what is unknown."""
        sure = Rule(Guard.FORBIDDEN, "bad", kind(Kind.BLOCK_LOST), VIOLATED, why="")
        unknown = Rule(Guard.NOTED, "turn", e.blames_unfailed, "told", why="")
        for rules, kept in (((sure, unknown), (True, False)), ((unknown, sure), (False, False))):
            left = partial_of(an_observer(*rules), frozenset({"blames_unfailed"}))
            assert left is not None
            assert kept == left.kept
            assert (
                "proved" == judged(an_observer(*rules), left, frozenset({"blames_unfailed"})).result
            )

    def test_registers_that_rest_on_fields(self) -> None:
        """A register that an unknown field may have changed is unknown, too."""
        left = Partial(OBLIGATIONS["claim_harm_attribution"], lost=False)
        assert ("now", "losses") not in left.resting_on(frozenset({"blames_unfailed"}))
        assert ("now", "lead") in left.resting_on(frozenset({"lead"}))
