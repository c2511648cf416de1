"""Tests of spec.machines."""

import pytest

from spec.contract.obligations import OBLIGATIONS
from spec.docs.diagrams import observer_diagram
from spec.language.verdicts import Verdict
from spec.machines import Automaton, Move


class TestAutomaton:
    @pytest.mark.parametrize("name", OBLIGATIONS)
    def test_moves(self, name: str) -> None:
        """The machine has a move for each rule from each of its states, and no other."""
        observer = OBLIGATIONS[name]
        expected = [
            Move(rule.name, source, rule.to)
            for rule in observer.rules
            for source in observer.sources(rule)
        ]
        assert sorted(expected) == sorted(Automaton(observer).moves)

    @pytest.mark.parametrize("name", OBLIGATIONS)
    def test_violated(self, name: str) -> None:
        """No move leaves a violated state."""
        violated = {s.name for s in OBLIGATIONS[name].states if s.verdict is Verdict.VIOLATED}
        assert violated.isdisjoint(move.source for move in Automaton(OBLIGATIONS[name]).moves)

    def test_drawn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A diagram draws the moves of the machine: if all lead to one state, so do its arrows."""
        observer = next(iter(OBLIGATIONS.values()))
        assert len({edge.target for edge in observer_diagram(observer).edges}) > 1
        moves = tuple(move._replace(dest=observer.initial) for move in Automaton(observer).moves)
        monkeypatch.setattr(Automaton, "moves", moves)
        assert {observer.initial} == {edge.target for edge in observer_diagram(observer).edges}
