"""The lemmas that let one claim and a few numbers stand for a pool, and those about two runs."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import z3
from z3 import BoolVal, Implies

from monitor.__main__ import main
from proofs.checks import control, lemmas, other_claims
from proofs.checks.control import CONTROLS, Control, find
from proofs.checks.lemmas import LEMMAS, Always, Lemma, Runs, Statement, Valid, lemmas_of
from proofs.engines.bounded.unrolling import Found
from proofs.logic.encode import Expr
from proofs.model.theorems import Clause
from proofs.traces.replay import to_events
from spec.claims.states import Mode
from spec.contract.ledgers import was
from spec.contract.obligations.pressure import blame_is_right
from spec.contract.vocabulary import e
from spec.events.canonical import as_jsonl
from spec.language.terms import TRUE, And, Compare, Ite, Not, Or, Term

# The questions of which a lemma consists.
PARTS = {
    "sums": ("base", "step"),
    "least": ("base", "step"),
    "fields": ("base", "step, not blamed", "step, blamed", "any pool"),
    "two claims": (
        "base",
        "step, not blamed",
        "step, blamed",
        "what is seen is true",
        "what is true is seen",
    ),
    "swap": ("swapped",),
    "control": ("original", "swapped", "equal, one first", "equal, the other first"),
}


def named(name: str) -> Lemma:
    return next(lemma for lemma in LEMMAS if lemma.name == name)


def saying_nothing(states: Statement) -> Statement:
    """The same kind of statement, of which nothing is excluded."""
    match states:
        case Always():
            return replace(states, clause=Clause("nothing", "", TRUE))
        case Valid(parts=parts, part=part):
            premise = parts()[part].children()[0]
            return replace(states, parts=lambda: {part: Implies(premise, BoolVal(True))})
    return replace(states, none=CONTROLS[0])


def failing(name: str) -> list[str]:
    """The parts of an induction that do not hold."""
    states = named(name).states
    assert isinstance(states, lemmas.Valid)
    return [part for part, formula in states.parts().items() if not holds(formula)]


def holds(formula: Expr) -> bool:
    return "proved" == lemmas._valid(formula)


def weaker(term: Term, number: int) -> tuple[Term, int]:
    """The term with its `number`-th `<`, from 0, made `<=`, and how many it has."""
    seen = 0

    def go(t: Term) -> Term:
        nonlocal seen
        match t:
            case Compare("<", left, right):
                seen += 1
                return Compare("<=" if seen == number + 1 else "<", left, right)
            case Not(arg):
                return Not(go(arg))
            case And(args):
                return And(tuple(map(go, args)))
            case Or(args):
                return Or(tuple(map(go, args)))
            case Ite(cond, then, otherwise):
                return Ite(go(cond), go(then), go(otherwise))
        return t

    return go(term), seen


class TestLemmas:
    @pytest.mark.parametrize("lemma", LEMMAS, ids=lambda lemma: lemma.name)
    def test_holds(self, lemma: Lemma) -> None:
        """Each lemma is proved by Z3, and has the parts that it is printed with."""
        assert "proved" == lemma.prove().result
        assert PARTS.get(lemma.name, ()) == lemma.parts

    @pytest.mark.parametrize("lemma", LEMMAS, ids=lambda lemma: lemma.name)
    def test_excludes(self, lemma: Lemma) -> None:
        """Each is broken by what it excludes; one that says nothing is not, and fails."""
        assert lemma.states.excludes()

        nothing = replace(lemma, states=saying_nothing(lemma.states))
        assert "failed" == nothing.prove().result

    def test_of_modes(self) -> None:
        """hard_protected leans on seven lemmas and soft_priority on two."""
        counts = {mode: len(lemmas_of(mode)) for mode in Mode if lemmas_of(mode)}
        assert {Mode.HARD_PROTECTED: 7, Mode.SOFT_PRIORITY: 2} == counts

    def test_work_limit_is_unknown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Running out of work proves nothing and refutes nothing."""
        monkeypatch.setattr(lemmas, "RLIMIT", 1)
        monkeypatch.setattr(control, "RLIMIT", 1)

        assert "unknown" == named("two claims").prove().result
        assert "unknown" == named("control").prove().result


class TestOthers:
    """Any number of other_claims, by induction."""

    def test_irredundance(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A `<=` for a `<` in blame is no truth about all names, but where it says the same."""
        own = was.declared
        _, count = weaker(blame_is_right(own), -1)
        found = {}
        for number in range(count):
            monkeypatch.setattr(
                other_claims,
                "blame_is_right",
                lambda own, n=number: weaker(blame_is_right(own), n)[0],
            )
            found[number] = failing("two claims")

        # The conflict itself, then irredundance where it is standing, then where it is not: what
        # is usable against the room and against the most that is needed, and irredundance again.
        assert 7 == count
        assert [0, 1, 2, 5, 6] == [number for number, parts in found.items() if parts]

    def test_strangers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With a blame that forgets strangers the two claims are no longer told the truth."""
        monkeypatch.setattr(
            other_claims,
            "blame_is_right",
            lambda own: blame_is_right(own) | (e.invalid_blocker & was.responsible),
        )
        assert ["what is seen is true"] == failing("two claims")

    def test_step(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With the largest for the least, nobody is no problem and one claim more is."""
        monkeypatch.setattr(other_claims, "_lesser", lambda so_far, share: so_far + share)

        assert ["step"] == failing("least")
        assert "step, blamed" in failing("fields")

    def test_base(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A hypothesis that is false of nobody fails in the base case."""
        monkeypatch.setattr(
            other_claims, "_each", lambda every, so_far, bound: every == (bound < so_far)
        )

        assert "base" in failing("least")

    def test_world(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A world that took more for granted of the numbers than is so would be found out."""
        faithful = other_claims.faithful()
        monkeypatch.setattr(
            other_claims, "faithful", lambda: faithful & (e.blamed_least <= e.shared_unblamed)
        )

        assert ["any pool"] == failing("fields")

    def test_not_for_want_of_pools(self) -> None:
        """There are pools in which two are blamed rightly beside others, in either conflict."""
        pool = other_claims._arbitrary()
        known = [pool.holds, pool.sensible, pool.named]
        known += [side.blamed for side in pool.sides.values()]
        for conflict in (pool.conflict, other_claims.z3.Not(pool.conflict)):
            solver = other_claims.z3.Solver()
            occupied = other_claims.z3.Int("occupied")
            solver.add(*known, conflict, pool.bound == pool.slack(occupied))
            solver.add(pool.true_of(occupied))
            assert other_claims.z3.sat == solver.check()


class TestInvariants:
    def test_ledger_can_fail(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without footprint_accounting the ledgers need not agree."""
        initial = lemmas.System.__init__

        def without(self: lemmas.System, *args: object, **kwargs: object) -> None:
            initial(self, *args, without=frozenset({"footprint_accounting"}))  # type: ignore[arg-type]

        monkeypatch.setattr(lemmas.System, "__init__", without)

        assert isinstance(named("ledger").states, Always)
        assert "failed" == named("ledger").prove().result


@pytest.fixture(scope="module")
def runs() -> dict[str, Found]:
    """The runs of the control."""
    return dict(named("control").prove().runs or {})


def test_swap() -> None:
    """The premise of *swap* is that both runs keep ranks that differ, for whoever loses first."""
    premise, conclusion = lemmas._swapped()["swapped"].children()
    names = z3.Ints("p q first second")
    for p, q, first, second in product(range(3), range(3), (1, 2), (1, 2)):
        values = [*zip(names, map(z3.IntVal, (p, q, first, second)), strict=True)]
        keeps = (p < q if first == 1 else q < p) and (q < p if second == 1 else p < q)
        found = [z3.simplify(z3.substitute(x, *values)) for x in (premise, conclusion)]
        assert [keeps, first != second] == [z3.is_true(each) for each in found]


class TestControl:
    """Runs with two ranked claims: original, swapped, and with equal priorities."""

    def test_monitor_agrees(self, runs: dict[str, Found], tmp_path: Path) -> None:
        """Each run of the control is kept, by the monitor, too."""
        assert len(CONTROLS) == len(runs)
        for number, found in enumerate(runs.values()):
            file = tmp_path / f"{number}.jsonl"
            file.write_bytes(as_jsonl(to_events(control.ranked(), found)))
            assert 0 == main(["check", str(file), "--mode", "soft_priority"])

    def test_ranks(self, runs: dict[str, Found]) -> None:
        """The ranks and who loses first are what each run is named for, and both lose."""
        for each in CONTROLS:
            first, last = runs[each.name].states[0], runs[each.name].states[-1]
            a, b = int(first["A/priority"]), int(first["B/priority"])
            assert {"<": a < b, "=": a == b, ">": b < a}[each.priorities]
            assert (1 if each.first == "A" else 2) == last["lost_first"]
            assert [True, True] == [last["A/lost"], last["B/lost"]]

    @pytest.mark.parametrize(("priorities", "first"), [("<", "B"), (">", "A")])
    def test_no_run_against_the_ranks(self, priorities: str, first: str) -> None:
        """Where priorities differ no run loses in the other order."""
        assert ({}, True) == find([Control("against", priorities, first)], 8)

    def test_missing_run_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A control without a run fails the lemma, and so the check."""
        against = Control("against", "<", "B")
        lemma = replace(named("control"), states=Runs((against,), none=against))
        monkeypatch.setattr(control, "DEPTH", 6)

        assert "failed" == lemma.prove().result
