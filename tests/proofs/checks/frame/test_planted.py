"""Planted bugs in what the monitor runs: each turns `check frame` red, and says where."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from proofs.checks.frame.check import prove_delivery, prove_source
from proofs.checks.frame.compiled import bundles, mismatches, runs_text
from proofs.checks.frame.results import Failure
from proofs.checks.frame.sources import Source
from proofs.checks.frame.space import CLAIM_FIRST, REQUEST_FIRST
from proofs.checks.frame.statements import LEDGERS, LEMMAS, RULES, TERMS
from proofs.checks.frame.verification_conditions import Prover
from proofs.logic.compiled import compile_mode, observer_source, to_python
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.language.terms import Scope
from spec.stream.scopes import DELIVERY, STANDS
from tests.proofs.checks.frame.edits import BUGS, Text

HARD = compile_mode(Mode.HARD_PROTECTED, Bundle.CONTRACT)


def failures(source: Source) -> list[Failure]:
    """What was found of a source."""
    prover = Prover()
    prove_source(prover, source)
    return [failure for lemma in LEMMAS for failure in prover.answer(lemma).failures]


def edited(old: str, new: str) -> Source:
    """The source of hard_protected, in which a text, which is there, was replaced once."""
    assert old in HARD.source
    return Source("planted", HARD.source.replace(old, new, 1), HARD.observers)


FIRST = next(line for line in HARD.source.splitlines() if line.startswith("    return ("))
LEDGER_TEXT = HARD.source.partition("def observe_0")[0]
REST = re.compile(r"\be\.rest\b")
TEXTS = {
    "ledgers": Text(LEDGER_TEXT, ("claim", "request")),
    **{
        name: Text("\n".join(observer_source(0, observer)) + "\n", ("observe_0",), observer)
        for name, observer in OBLIGATIONS.items()
    },
}


def source_of(name: str, text: str | None = None) -> Source:
    """The source of both ledgers or of one observer, or another text in its place."""
    of = TEXTS[name]
    observers = () if of.observer is None else (of.observer,)
    return Source(name, of.text if text is None else text, observers, of.observer is None)


class TestAsItIs:
    """The sources of every mode and bundle."""

    @pytest.mark.parametrize("mode", Mode)
    def test_proved(self, mode: Mode) -> None:
        """Nothing is found of what the monitor runs, and each rule and register is asked of."""
        for source, compiled, observers in bundles([mode]):
            prover = Prover()
            prove_source(prover, source)
            found = {lemma.name: prover.answer(lemma) for lemma in LEMMAS}
            assert ["proved"] * 2 == [found[name].result for name in (LEDGERS, RULES)]
            registers = len(CLAIM_FIRST) + len(REQUEST_FIRST)
            assert {source.of: registers} == found[LEDGERS].questions
            rules = sum((len(o.rules) + 1) * (2 + len(o.registers)) for o in observers)
            assert {source.of: rules} == found[RULES].questions
            assert not any(wrong for _, wrong in mismatches(source, compiled, observers))


class TestPlanted:
    """Bugs in the text of the functions."""

    PLACES = 12

    @pytest.mark.slow
    @pytest.mark.parametrize("bug", BUGS)
    def test_each(self, bug: str) -> None:
        """A bug at a random place is found wherever a random input shows that it is one."""
        rng, noticed = random.Random(bug), 0
        places = [(name, *place) for name, of in TEXTS.items() for place in of.places(bug)]
        for name, place, edit in rng.sample(places, min(self.PLACES, len(places))):
            text = TEXTS[name].planted(place, edit)
            if TEXTS[name].differs(text, rng):
                found = failures(source_of(name, text))
                assert found, text
                assert {"refuted"} == {failure.result for failure in found}
                assert found[0].counterexample or found[0].says
                noticed += 1
        assert 0 < noticed

    @pytest.mark.slow
    @pytest.mark.parametrize("name", OBLIGATIONS)
    def test_every_dropped_rule(self, name: str) -> None:
        """Each rule of each observer is missed, by its name, when it is dropped."""
        of, rules = TEXTS[name], OBLIGATIONS[name].rules
        for rule, place in zip(rules, of.places("a dropped rule"), strict=True):
            parts = {failure.part for failure in failures(source_of(name, of.planted(*place)))}
            assert f"{name}.{rule.name}" in parts

    @pytest.mark.parametrize("place", range(len(CLAIM_FIRST) + len(REQUEST_FIRST) - 2))
    def test_every_place(self, place: int) -> None:
        """Two registers that change places are found, both of them or the sort of one."""
        of = TEXTS["ledgers"]
        where = of.places("registers in another order")[place]
        assert failures(source_of("ledgers", of.planted(*where)))

    @pytest.mark.parametrize("name", [name for name, of in TEXTS.items() if REST.search(of.text)])
    def test_rest_counted_twice(self, name: str) -> None:
        """Where blocks of the others are counted twice it is found."""
        assert failures(source_of(name, REST.sub("(e.rest + e.rest)", TEXTS[name].text)))

    def test_counterexample(self) -> None:
        """A guard that asks for less is reported with an event at which it shows."""
        observer = OBLIGATIONS["claim_identity"]
        whole = to_python(observer.rules[0].when)
        text = TEXTS["claim_identity"].text.replace(whole, "e.named")
        first = failures(source_of("claim_identity", text))[0]
        assert f"claim_identity.{observer.rules[0].name}" == first.part
        assert first.counterexample is not None
        assert "true" == first.counterexample.event["named"]
        (change,) = first.counterexample.changes
        assert ("false", "true") == (change.expected, change.found)

    def test_dropped_rule_of_the_specification(self) -> None:
        """A rule that only the Python has is found, too."""
        observer = OBLIGATIONS["claim_identity"]
        fewer = replace(observer, rules=observer.rules[1:])
        assert failures(Source("fewer", TEXTS["claim_identity"].text, (fewer,), ledgers=False))

    def test_computed_twice(self) -> None:
        """A register that a ledger adds to twice is found, and no other."""
        line = next(x for x in HARD.source.splitlines() if x.startswith("    losses = "))
        again = line.replace("    losses = ", "    losses = losses + ")
        found = failures(edited(line, f"{line}\n{again}"))
        assert {"claim: losses"} == {failure.part for failure in found}

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("old", "new", "says"),
        [
            (FIRST, FIRST.replace("(registered, ", "("), "other registers"),
            ("def claim(e, c, was)", "def claim(e, was, c)", "does not take e, c, was"),
            ("def claim(", "def claims(", "are needed"),
            ("def request(", "import os\ndef request(", "not a function"),
            ("    return state, own, -1", "    return state, own", "differs in its form"),
            ("    return state, own, -1", "    pass", "not a statement of the subset"),
            ("'claim_accepted'", "'claim_accept'", "not a kind of event"),
            ("    registered = ", "    registered = 1 + ", "is no int"),
        ],
    )
    def test_another_form(self, old: str, new: str, says: str) -> None:
        """What cannot be read is refuted, with the reason."""
        found = failures(edited(old, new))
        assert {"refuted"} == {failure.result for failure in found}
        assert any(says in failure.says for failure in found)


class TestDelivery:
    """Bugs in the reasons of delivery as they are compiled."""

    def found(self, change: Callable[[str], str]) -> list[Failure]:
        """What is found of the reasons whose text is changed."""
        names = {(Scope.STANDS, name): f"stands.{name}" for name in STANDS}
        texts = {
            (scope, reason): change(to_python(term, names))
            for scope, reasons in DELIVERY.reasons.items()
            for reason, term in reasons.items()
        }
        prover = Prover()
        prove_delivery(prover, texts=texts)
        return next(prover.answer(lemma) for lemma in LEMMAS if lemma.name == TERMS).failures

    def test_as_it_is(self) -> None:
        """The terms as they are compiled are found to be the terms."""
        assert [] == self.found(lambda text: text)

    @pytest.mark.parametrize(
        ("old", "new", "reasons"),
        [
            ("e.mine or e.named", "e.mine and e.named", {"about the claim"}),
            ("stands.owes", "(not stands.owes)", {"due", "due before another's victim"}),
            ("+ e.rest)", "+ 0)", {"does not fit"}),
            ("req_was", "req", {"ends in conflict"}),
        ],
    )
    def test_planted(self, old: str, new: str, reasons: set[str]) -> None:
        """A reason that is compiled otherwise than it is proved is named."""
        assert reasons == {failure.part for failure in self.found(lambda t: t.replace(old, new))}


class TestWhatRuns:
    """Functions and tables beside the text that was read."""

    def wrong(self, **changes: Any) -> list[str]:
        """What is found of hard_protected with some parts replaced."""
        observers = MODES[Mode.HARD_PROTECTED].bundle()
        source = Source("changed", HARD.source, observers)
        found = mismatches(source, replace(HARD, **changes), observers)
        return [what for what, wrong in found if wrong]

    def test_another_function(self) -> None:
        """A function that was not made of the text is found."""
        steps = (HARD.steps[1], *HARD.steps[1:])
        assert ["code of observe_0"] == self.wrong(steps=steps)
        assert ["code of claim"] == self.wrong(claim=lambda e, c, was: was)

    def test_delivery_dropped(self) -> None:
        """Nor may the monitor open no request, or open one for want of a scope."""
        dropped = {**HARD.delivers, "opens": lambda *_: False}
        assert ["delivery: opens"] == self.wrong(delivers=dropped)
        del dropped["opens"]
        assert ["delivery: opens"] == self.wrong(delivers=dropped)

    def test_fewer_functions(self) -> None:
        """A function that is not there is found."""
        assert ["number of functions", "code of observe_9"] == self.wrong(steps=HARD.steps[:-1])

    def test_other_observers(self) -> None:
        """Observers in another order are found, with the tables that are made of them."""
        found = self.wrong(observers=tuple(reversed(HARD.observers)))
        assert {"observers", "observers of requests"} <= set(found)

    def test_another_text(self) -> None:
        """The text of a function is the one that it was made of, to the constant."""
        text = TEXTS["claim_identity"].text
        assert runs_text(HARD.steps[0], text, "observe_0") is False  # its lines are others
        names: dict[str, Any] = {}
        exec(compile(text, "<text>", "exec"), names)
        assert runs_text(names["observe_0"], text, "observe_0")
        other = text.replace("return state, own, -1", "return state, own, 1")
        assert not runs_text(names["observe_0"], other, "observe_0")
        assert not runs_text(names["observe_0"], "def f(:", "observe_0")
        assert not runs_text(len, text, "observe_0")
