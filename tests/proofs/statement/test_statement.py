"""A system that is not the statement of the page is noticed before anything is called proved."""

from __future__ import annotations

from typing import Final

import pytest
from msgspec.structs import replace

from proofs.checks.results import Leaned
from proofs.checks.statement import check, runs
from proofs.checks.statement.check import statement_of
from proofs.report.verdict import refuting, sentence, undecided, verdict
from spec.claims.states import Mode
from spec.contract.ledgers import kind, was
from spec.events.alphabet import Kind
from spec.language.terms import conj
from tests.mutation.killers import modes_of, statement
from tests.mutation.mistakes import path_of
from tests.mutation.planting import planted
from tests.proofs.shared import checked

OF_ONE: Final = ("initial", "alphabet", "events", "registers", "observers", "verdicts")
LONG: Final = ("numbers", "terms", "recorded")
CHECKS: Final = (*OF_ONE, "clauses", "whole", *LONG)
QUICK: Final = (Mode.BEST_EFFORT, Mode.SOFT_PRIORITY)
OF_TWO: Final = ("two claims", "ranks", "exchange")

PLANTED: Final = {
    "one block": (
        "proofs.model.system",
        'num.const(1) <= state["c.threshold"]',
        'num.const(1) == state["c.threshold"]',
        "initial failed",
    ),
    "no small claim": (
        "proofs.model.system",
        'num.const(1) <= state["c.threshold"]',
        'num.const(2) <= state["c.threshold"]',
        "initial failed",
    ),
    "a request fits": (
        "proofs.model.environment",
        "        facts_are_facts(),",
        "        facts_are_facts(), _if(kind(Kind.REQUEST_ARRIVED), e.needed <= e.usable),",
        "numbers failed",
    ),
    "a request fits, in the step": (
        "proofs.model.system",
        "possible = [term(faithful())",
        'possible = [event["needed"] <= event["usable"], term(faithful())',
        "events failed",
    ),
    "a situation is missing": (
        "proofs.model.theorems",
        '(("conflict", _conflicts),)',
        "()",
        "clauses failed",
    ),
    "a clause waits for more": (
        "proofs.model.theorems",
        "_HARMED = HARM.after(",
        '_HARMED = HARM.after("explicit_acceptance", ',
        "clauses failed",
    ),
    "both claims have one threshold": (
        "proofs.model.pair",
        'self.numbers.var(f"{side}/{name}") if name == "c.threshold" else value',
        "value",
        "two claims failed",
    ),
    "two losses": (
        "proofs.model.environment",
        "        facts_are_facts(),",
        "        facts_are_facts(), was.losses <= 2,",
        "numbers failed",
    ),
    "two losses, in the step": (
        "proofs.model.system",
        "possible = [term(faithful())",
        'possible = [state["was.losses"] <= 2, term(faithful())',
        "events failed",
    ),
    "a kind is missing": (
        "proofs.model.system",
        "tuple(sorted(Kind))",
        "tuple(sorted(Kind)[1:])",
        "alphabet failed",
    ),
    "a trace with a proof": (
        "proofs.model.system",
        "z3.And(readable, proven)",
        "readable",
        "events failed",
    ),
    "a clause is not compared": (
        "proofs.model.system",
        "z3.Implies(waited, term(clause.holds))",
        "z3.Implies(all_of([waited, event['mine']]), term(clause.holds))",
        "clauses failed",
    ),
    "any clause is enough": (
        "proofs.model.system",
        "return all_of([*self.clauses.values()])",
        "return any_of([*self.clauses.values()])",
        "whole failed",
    ),
    "a loss is not counted": (
        "proofs.model.system",
        "z3.simplify(term(sources[scope, name]))",
        "z3.simplify(state[key] if name == 'losses' else term(sources[scope, name]))",
        "registers failed",
    ),
    "a later rule wins": (
        "proofs.model.system",
        "for rule in reversed(o.rules):",
        "for rule in o.rules:",
        "observers failed",
    ),
    "what is owed is kept": (
        "proofs.model.system",
        "owing[o.name] = verdicts[Verdict.PENDING]",
        "owing[o.name] = verdicts[Verdict.VIOLATED]",
        "verdicts failed",
    ),
    "one of two is judged": (
        "proofs.model.pair",
        "{name: z3.And(kept, b.keeps[name]) for name, kept in a.keeps.items()}",
        "a.keeps",
        "two claims failed",
    ),
    "one of two is followed": (
        "proofs.model.pair",
        "for side in _SIDES\n        }\n        steps,",
        "for side in _SIDES\n        } | {'B': z3.BoolVal(False)}\n        steps,",
        "ranks failed",
    ),
    "ranks are ignored": (
        "proofs.model.pair",
        'state["A/priority"] <= state["B/priority"]',
        'state["A/priority"] <= state["B/priority"] + 1',
        "ranks failed",
    ),
}
"""Mistakes by name: the module, what stands there, what is planted, and what notices it."""


def slow(mode: Mode) -> object:
    """The mode, among slow tests."""
    return pytest.param(mode, marks=pytest.mark.slow)


class TestStatement:
    @pytest.mark.parametrize("mode", [m if m in QUICK else slow(m) for m in Mode])
    def test_holds(self, mode: Mode) -> None:
        """Each mode's system is the statement of its page, and there are runs."""
        found = statement_of(mode)

        due = (*((*OF_ONE, *OF_TWO, *LONG) if mode is Mode.SOFT_PRIORITY else CHECKS), "runs")
        assert dict.fromkeys(due, "proved") == {each.name: each.result for each in found}

    def test_undecided(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What the solver does not decide is not shown."""
        monkeypatch.setattr(check, "RLIMIT", 1)
        monkeypatch.setattr(runs, "RLIMIT", 1)
        found = {each.name: each.result for each in statement_of.__wrapped__(Mode.BEST_EFFORT)}

        assert "unknown" == found["events"] == found["runs"]
        assert "failed" not in found.values()

    def test_vacuous(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where assumptions leave no run, the smallest set that contradicts itself is named."""
        silent = conj(runs.faithful(), ~kind(Kind.CLAIM_COMMITTED), was.losses >= 0)
        monkeypatch.setattr(runs, "faithful", lambda: silent)
        monkeypatch.setattr("proofs.model.system.faithful", lambda: silent)
        *_, found = statement_of.__wrapped__(Mode.BEST_EFFORT)

        assert "failed" == found.result
        assert found.says.startswith("vacuous: no run exists, because these contradict each other:")
        assert found.says.endswith(": not e.kind in {claim_committed}")


class TestVerdict:
    def test_failed(self) -> None:
        """A mode whose statement fails is refuted, though its theorem is proved."""
        found = replace(
            checked(Mode.BEST_EFFORT), statement=[Leaned("initial", "any threshold", "failed", [])]
        )

        assert "refuted" == verdict(found)
        (why,) = refuting(found)
        assert "a check of the statement fails, initial: any threshold" == why

    def test_vacuous(self) -> None:
        """Where there is no run, the headline says so first."""
        found = replace(
            checked(Mode.BEST_EFFORT), statement=[Leaned("runs", "vacuous: no run", "failed", [])]
        )

        assert "refuted: best_effort, contract bundle. Vacuous: no run." == sentence(found)

    def test_unknown(self) -> None:
        """One that is not decided is undecided."""
        found = replace(
            checked(Mode.BEST_EFFORT), statement=[Leaned("initial", "any", "unknown", [])]
        )

        assert "undecided" == verdict(found)
        assert ["a check of the statement is undecided: initial"] == undecided(found)


class TestPlanted:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", PLANTED)
    def test_by_hand(self, name: str) -> None:
        """A mistake that makes the theorem weaker is noticed by the check that is about it."""
        module, there, mistake, due = PLANTED[name]
        source = path_of(module).read_text(encoding="utf-8")
        assert 1 == source.count(there)
        found = planted(module, source.replace(there, mistake), lambda: statement(modes_of(module)))

        assert found.endswith(due)
