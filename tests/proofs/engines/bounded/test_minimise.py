"""Of all shortest runs, the one that reads best."""

import itertools
from pathlib import Path

import pytest
import z3

from monitor.check.files import check
from proofs.engines.bounded import minimise as minimising
from proofs.engines.bounded.minimise import CARRIES, LIFE, minimise, plainest
from proofs.engines.bounded.search import Found, find_witness
from proofs.engines.bounded.unrolling import Run
from proofs.logic.encode import Bits
from proofs.model.of_mode import Model, model_of
from proofs.traces.replay import TRACKED, to_events
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.contract.vocabulary import EVENT_FIELDS
from spec.events.alphabet import Kind
from spec.events.canonical import as_jsonl
from spec.language.verdicts import pool
from tests.proofs.shared import predicted, refutation, witness

PAPER = [mode for mode in Mode if MODES[mode].added]
_WHOM = ("kind", "mine", "named", "here")


def kinds(model: Model, found: Found) -> list[Kind]:
    """The kinds of a run's events."""
    return [model.alphabet[int(event["kind"])] for event in found.events]


def sizes(found: Found) -> int:
    """All counts of a run's events together."""
    return sum(
        abs(int(value))
        for event in found.events
        for name, value in event.items()
        if not isinstance(value, bool) and name != "kind"
    )


LONG = {Mode.HARD_PROTECTED, Mode.DEMOTABLE, Mode.OFFLOADABLE}
"""Their runs take the solver longest; `test_as_short` asks for the same runs."""


class TestPlain:
    @pytest.mark.parametrize(
        "mode", [pytest.param(m, marks=pytest.mark.slow) if m in LONG else m for m in Mode]
    )
    def test_no_noise(self, mode: Mode) -> None:
        """A field that says nothing on an event has its plain value, and no count is larger."""
        model, found = witness(mode, plain=True)

        for event, kind in zip(found.events, kinds(model, found), strict=True):
            carried = CARRIES.get(kind, ())
            noise = {
                name: value
                for name, value in event.items()
                if name.partition(".")[0] not in (*_WHOM, *carried)
                and value != (name == "authorised")
            }
            assert {} == noise
        assert sizes(found) <= sizes(witness(mode, plain=False)[1])

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", Mode)
    def test_as_short(self, mode: Mode) -> None:
        """It is as long as the run that the search found first."""
        assert len(witness(mode, plain=False)[1].events) == len(witness(mode, plain=True)[1].events)

    @pytest.mark.slow
    def test_tells_a_life(self) -> None:
        """A claim is taken up first, and a request is refused after it arrived; what is restored
        was loaded."""
        hard = kinds(*witness(Mode.HARD_PROTECTED, plain=True))
        tier = kinds(*witness(Mode.OFFLOADABLE, plain=True))

        assert [Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED] == hard[:2]
        assert hard.index(Kind.REQUEST_ARRIVED) < hard.index(Kind.REQUEST_REFUSED)
        assert tier.index(Kind.LOAD_FINISHED) < tier.index(Kind.CLAIM_RESTORED)

    def test_every_kind_has_its_place(self) -> None:
        """The order of a life has every kind once."""
        assert sorted(Kind) == sorted(LIFE)

    @pytest.mark.parametrize("seed", [1, 7])
    def test_whatever_the_solver_likes(self, seed: int) -> None:
        """Another seed leads the solver elsewhere first, and to the same run in the end."""
        expected = witness(Mode.DEMOTABLE, plain=True)[1]
        model = model_of(Mode.DEMOTABLE, Bundle.CONTRACT, Bits(6), replay=True)
        seeds = ("smt.random_seed", "sat.random_seed")
        before = {name: z3.get_param(name) for name in seeds}
        for name in seeds:
            z3.set_param(name, seed)
        try:
            assert expected == find_witness(model, 14, plain=True).found
        finally:
            for name, value in before.items():
                z3.set_param(name, value)


class TestMinimise:
    @pytest.mark.slow
    @pytest.mark.parametrize("mode", Mode)
    def test_of_a_witness(self, mode: Mode) -> None:
        """A witness found by any means becomes the plain one."""
        model, found = witness(mode, plain=False)

        assert witness(mode, plain=True)[1] == minimise(model, found)

    @pytest.mark.parametrize("mode", PAPER)
    def test_keeps_the_clauses_that_fail(self, mode: Mode) -> None:
        """What failed in the run that was found fails in the plain one, and nothing else does."""
        model, found = refutation(mode, plain=False)

        assert found.failed == minimise(model, found).failed

    def test_goal(self) -> None:
        """A goal of one's own is kept."""
        model, found = refutation(Mode.DEMOTABLE, plain=False)

        harmed = minimise(model, found, lambda step: z3.Not(step.clauses["harm"]))

        assert "harm" in harmed.failed

    @pytest.mark.parametrize("mode", PAPER)
    def test_breaks_one_clause(self, mode: Mode) -> None:
        """The plain refutation breaks one clause."""
        assert 1 == len(refutation(mode, plain=True)[1].failed)

    def test_too_much_work(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the work limit does not reach, the run stays as it was found."""
        model, found = witness(Mode.EXPIRING, plain=False)
        monkeypatch.setattr(minimising, "RLIMIT", 100)

        assert found == minimise(model, found)

    def test_solver_is_left_as_it_was(self) -> None:
        """The wishes of one question do not bind the next."""
        run = Run.of(model_of(Mode.BEST_EFFORT, Bundle.CONTRACT, Bits(6), replay=True), 10**8)
        run.extend()
        before = run.solver.sexpr()

        assert plainest(run) is not None
        assert before == run.solver.sexpr()

    @pytest.mark.parametrize("mode", PAPER)
    def test_no_event_can_be_dropped(self, mode: Mode) -> None:
        """Without any one of its events the rest of a run no longer breaks a clause."""
        model, found = refutation(mode, plain=True)

        for shorter in itertools.combinations(kinds(model, found), len(found.events) - 1):
            run = Run.of(model, 10**8)
            for kind in shorter:
                run.extend()
                index = model.numbers.kind(model.alphabet.index(kind))
                run.solver.add(run.events[-1]["kind"] == index)
            run.solver.add(z3.Not(run.steps[-1].sound))
            assert z3.unsat == run.solver.check()


class TestReplay:
    @pytest.mark.parametrize("mode", Mode)
    def test_witness(self, mode: Mode, tmp_path: Path) -> None:
        """The monitor gives a plain witness the verdicts that the solver predicted."""
        model, found = witness(mode, plain=True)

        assert predicted(model, found) == judged(model, found, Bundle.CONTRACT, tmp_path)

    @pytest.mark.parametrize("mode", PAPER)
    def test_refutation(self, mode: Mode, tmp_path: Path) -> None:
        """The monitor gives a plain refutation the verdicts that the solver predicted."""
        model, found = refutation(mode, plain=True)

        assert predicted(model, found) == judged(model, found, Bundle.PAPER, tmp_path)


def judged(model: Model, found: Found, bundle: Bundle, folder: Path) -> dict[str, str]:
    """The verdicts of the monitor on a run about the tracked claim."""
    file = folder / "run.jsonl"
    file.write_bytes(as_jsonl(to_events(model, found)))
    report = check([str(file)], model.mode, bundle, claim=TRACKED)
    found_of = [claim.obligations for claim in report.claims]
    return {n: str(pool(of[n].verdict for of in found_of)) for n in report.obligations}


def test_every_field_is_carried() -> None:
    """A field that no kind carries would be plain in every run, and what reads it never asked."""
    carried = {field for fields in CARRIES.values() for field in fields}
    assert set(EVENT_FIELDS) - {"mine", "named", "here", "rest"} <= carried
