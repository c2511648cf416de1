"""Tests of spec.machines."""

import pytest

from spec.contract.modes import MODES
from spec.contract.obligations import ALIASES, OBLIGATIONS
from spec.docs.diagrams import observer_diagram
from spec.language.verdicts import Verdict
from spec.machines import Automaton, ModeMachine, Move, mode_machine


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


class TestModeMachine:
    @pytest.mark.parametrize("mode", MODES)
    def test_regions(self, mode: str) -> None:
        """Each obligation of a mode is a region with the states and moves of its observer."""
        spec = MODES[mode]
        names = (*spec.paper, *spec.added)
        machine = ModeMachine(names)
        assert list(names) == list(machine.states)
        for name in names:
            alone = Automaton(OBLIGATIONS[ALIASES.get(name, name)])
            assert alone.initial == machine.initial[name]
            assert sorted(alone.moves) == sorted(machine.moves[name])
            assert [s.name for s in alone.observer.states] == list(machine.states[name])

    def test_shared(self) -> None:
        """The machine of a bundle is made once."""
        names = tuple(OBLIGATIONS)[:3]
        assert mode_machine(names) is mode_machine(names)
