"""The engines agree, say how far they go, and never pass for want of work."""

import json

import pytest
import z3

from proofs.__main__ import main
from proofs.check import check_mode, exit_code
from proofs.engines import portfolio
from proofs.engines.answers import Engine, Question
from proofs.engines.bounded.unrolling import value_of
from proofs.engines.explicit.finite import State
from proofs.engines.explicit.state_space import Bounds, Instance, Machine, explore, machine_of
from proofs.engines.induction import k_induction
from proofs.engines.induction.k_induction import DEEPEST, Induction, induct
from proofs.engines.invariants.recheck import Invariant, Proof, ProofResult
from proofs.engines.names import EngineName
from proofs.engines.portfolio import Auto, Explicit, Search, Spacer, engine_named
from proofs.logic.encode import Integers
from proofs.model.of_mode import Model, model_of
from proofs.report.junit import to_junit
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from tests.proofs.pinned import NECESSARY

pytestmark = pytest.mark.slow

# Blocks of the instance, its states and transitions; of the other modes the instance with one block
# has more states than are looked at.
EXPLICIT = {
    Mode.BEST_EFFORT: (2, 6_234, 212_889),
    Mode.EXPIRING: (2, 140_268, 5_765_406),
}

# With one block demotable has fewer, and with two more.
TOO_LARGE = [mode for mode in Mode if mode not in EXPLICIT and mode is not Mode.DEMOTABLE]

# Of the largest mode it is asked at leisure: its recorded invariant is checked again everywhere.
EACH = [
    pytest.param(mode, marks=pytest.mark.deep) if mode is Mode.HARD_PROTECTED else mode
    for mode in Mode
]

# The k for which induction succeeds on the contract, or None where it does not know; of the other
# two modes it takes minutes to say so.
K = {
    Mode.BEST_EFFORT: 2,
    Mode.SOFT_PRIORITY: None,
    Mode.DEMOTABLE: None,
    Mode.EXPIRING: None,
    Mode.ROUTED_REUSE: None,
}

# An obligation whose loss each engine is asked to find; `NECESSARY` pins the fewest events.
PLANTED = {
    Mode.BEST_EFFORT: "claim_scoped_telemetry",
    Mode.SOFT_PRIORITY: "priority_influence",
    Mode.HARD_PROTECTED: "claim_harm_attribution",
    Mode.DEMOTABLE: "claim_demoted_before_loss",
    Mode.EXPIRING: "claim_expired_boundary",
    Mode.OFFLOADABLE: "ordered_lifecycle_events",
    Mode.ROUTED_REUSE: "route_cost_attribution",
}
DEPTH = 8
SAMPLES = 10
engines = pytest.mark.parametrize(
    "engine", [engine for engine in EngineName if engine is not EngineName.RECORDED]
)


def without(mode: Mode, obligation: str) -> Question:
    """The contract of a mode with a planted bug."""
    return Question(mode, without=frozenset({obligation}))


class TestContract:
    """Every engine on every mode; what is proved by one is refuted by none."""

    @pytest.mark.parametrize("mode", EXPLICIT)
    @pytest.mark.deep
    def test_explicit(self, mode: Mode) -> None:
        """No state of the pinned number of an instance breaks a clause: bounded, not proved."""
        blocks, states, transitions = EXPLICIT[mode]
        answer = Explicit().answer(Question(mode))

        assert (ProofResult.BOUNDED, None, blocks) == (answer.result, answer.bound, answer.blocks)
        assert answer.reason.startswith(f"{states:,} states and {transitions:,} transitions;")

    @pytest.mark.parametrize("mode", TOO_LARGE)
    def test_too_large(self, mode: Mode) -> None:
        """Where not every state is looked at, nothing fails and nothing is claimed."""
        seen = explore(machine_of(Question(mode).model(Integers())), Bounds(1, events=100_000))

        assert (False, ()) == (seen.complete, seen.failed)
        assert 1_000 < seen.states

    @pytest.mark.parametrize("mode", K)
    @pytest.mark.deep
    def test_induction(self, mode: Mode) -> None:
        """Each mode is proved by a pinned k, or unknown with a state that may be unreachable."""
        found = induct(Question(mode).model(Integers()))

        if K[mode] is None:
            assert (ProofResult.UNKNOWN, DEEPEST) == (found.result, found.k)
            assert found.possibly_unreachable
        else:
            assert (ProofResult.PROVED, K[mode]) == (found.result, found.k)
            assert not found.possibly_unreachable

    @pytest.mark.parametrize("mode", EACH)
    def test_search(self, mode: Mode) -> None:
        """The search finds nothing, and says how many events and blocks it is about."""
        answer = Search(DEPTH).answer(Question(mode))

        assert (ProofResult.BOUNDED, DEPTH, 7) == (answer.result, answer.bound, answer.blocks)

    @pytest.mark.parametrize("mode", EACH)
    def test_spacer(self, mode: Mode) -> None:
        """Spacer proves each mode, without a bound, by an invariant that was checked again."""
        answer = Spacer(DEPTH).answer(Question(mode))

        assert (ProofResult.PROVED, None, None) == (answer.result, answer.bound, answer.blocks)
        assert answer.proof is not None
        assert answer.proof.rechecked


class TestSameSystem:
    """The explicit engine steps the system that Z3 is asked about."""

    @pytest.mark.parametrize("mode", Mode)
    def test_successors(self, mode: Mode) -> None:
        """States of an instance have the same successors by Python as by Z3, all of them."""
        model, bounds = Question(mode).model(Integers()), Bounds(blocks=1)
        machine = machine_of(model)
        seen = explore(machine, Bounds(blocks=1, states=2_000)).seen
        instance = Instance(machine, bounds)

        for state in seen[:: len(seen) // SAMPLES]:
            expected = {effect[0] for effect in instance.after(state) if effect is not None}
            assert expected == by_z3(model, machine, state, bounds)


def by_z3(model: Model, machine: Machine, state: State, bounds: Bounds) -> set[State]:
    """Every state of the instance after one event out of this one."""
    before, event = model.state(""), model.event("")
    step = model.step(before, event)
    solver = z3.SolverFor("QF_LIA")
    solver.add(step.possible, step.kept)
    known = dict(zip(machine.names, state, strict=True))
    solver.add(*(v == known.get(n, False if z3.is_bool(v) else 0) for n, v in before.items()))
    for name, field in event.items():
        if z3.is_int(field) and name != "kind":
            solver.add(field <= bounds.values(name)[-1])
    after = [step.following.get(name, before[name]) for name in machine.names]
    for name, value in zip(machine.names, after, strict=True):
        most = bounds.most(name)
        if most is not None:
            solver.add(value <= most)
    found = set()
    while solver.check() == z3.sat:
        values = tuple(value_of(solver.model(), value) for value in after)
        found.add(values)
        solver.add(z3.Or([v != w for v, w in zip(after, values, strict=True)]))
    return found


class TestPlantedBug:
    """A contract without an obligation is refuted by every engine, in as few events."""

    @engines
    @pytest.mark.parametrize("mode", Mode)
    @pytest.mark.deep
    def test_same_length(self, mode: Mode, engine: EngineName) -> None:
        """Each engine finds the bug in the pinned number of events, and shows a run; induction
        does up to its k, and beyond that claims nothing."""
        length = NECESSARY[mode][PLANTED[mode]]
        answer = engine_named(engine, DEPTH).answer(without(mode, PLANTED[mode]))

        assert length is not None
        if engine is EngineName.INDUCTION and length > DEEPEST:
            assert ProofResult.UNKNOWN is answer.result
            assert answer.possibly_unreachable
            return
        assert (ProofResult.REFUTED, length) == (answer.result, answer.bound)
        assert answer.shown is not None
        assert length == len(answer.shown.found.events)
        assert answer.shown.found.failed

    @pytest.mark.parametrize("mode", Mode)
    @pytest.mark.deep
    def test_explicit_finds_all(self, mode: Mode) -> None:
        """One block is enough to find the loss of any necessary obligation in as few events."""
        for name, length in NECESSARY[mode].items():
            if length is not None:
                model = without(mode, name).model(Integers())
                seen = explore(machine_of(model), Bounds(blocks=1))
                assert seen.failed
                assert (length, False) == (seen.depth, seen.complete)

    def test_run_that_cannot_be_written(self) -> None:
        """Where no run of the fewest events can be written as events, one that cannot is shown."""
        answer = Search(DEPTH).answer(without(Mode.SOFT_PRIORITY, "claim_identity"))

        assert answer.shown is not None
        assert (2, False) == (answer.bound, answer.shown.readable)

    def test_spacer_without_a_run(self) -> None:
        """Where the search is too shallow to show what Spacer refutes, the answer says so."""
        answer = Spacer(1).answer(without(Mode.EXPIRING, "claim_expired_boundary"))

        assert (ProofResult.REFUTED, None, None) == (answer.result, answer.bound, answer.shown)
        assert "no run of up to 1 events shows it" == answer.reason


class TestWork:
    """Running out of work is unknown."""

    @pytest.mark.parametrize(
        "engine",
        [
            Search(DEPTH, rlimit=1),
            Spacer(DEPTH, rlimit=1000),
            portfolio.Induction(rlimit=1000),
            Explicit(states=10),
        ],
        ids=["search", "spacer", "induction", "explicit"],
    )
    def test_unknown(self, engine: Engine) -> None:
        """An engine without enough work neither proves nor refutes."""
        answer = engine.answer(Question(Mode.DEMOTABLE))

        assert ProofResult.UNKNOWN is answer.result
        assert answer.reason
        assert answer.proof is None


class TestAuto:
    """What is tried where no invariant is kept and Spacer does not know."""

    @pytest.fixture(autouse=True)
    def no_spacer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Spacer runs out of work."""
        cut = Proof(ProofResult.UNKNOWN, False, "cut")
        monkeypatch.setattr(portfolio, "recall", lambda *_: None)
        monkeypatch.setattr(portfolio, "prove", lambda *_: cut)

    def test_refuted_by_search(self) -> None:
        """A bug is found by the search."""
        answer = Auto(DEPTH).answer(without(Mode.EXPIRING, "claim_expired_boundary"))

        assert (ProofResult.REFUTED, "search", 3) == (answer.result, answer.engine, answer.bound)

    def test_proved_by_induction(self) -> None:
        """What the search cannot refute is proved by induction, and the check passes."""
        check = check_mode(Mode.BEST_EFFORT)

        assert ("proved", "induction", None, True) == (
            check.sound.result,
            check.sound.engine,
            check.sound.bound,
            check.sound.rechecked,
        )
        assert 0 == exit_code([check])

    def test_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where only the search answers, the result carries the bound, is not called proved and is
        no pass."""
        unknown = Induction(ProofResult.UNKNOWN, 3, reason="no induction")
        monkeypatch.setattr(portfolio, "induct", lambda *_: unknown)

        check = check_mode(Mode.EXPIRING, depth=7)

        assert ("bounded", "search", 7, 7, False) == (
            check.sound.result,
            check.sound.engine,
            check.sound.bound,
            check.sound.blocks,
            check.sound.rechecked,
        )
        assert "cut; no induction" == check.sound.reason
        assert 3 == exit_code([check])
        assert b'message="shown only within a bound"' in to_junit([check])


class TestRecheck:
    """What stands between induction and the word "proved"."""

    @pytest.mark.parametrize(
        ("value", "part"), [(True, "the step"), (False, "initiation")], ids=["anything", "nothing"]
    )
    def test_refuses(self, value: bool, part: str) -> None:
        """Neither "anything" nor "nothing" passes as the invariants of an induction."""
        model = model_of(Mode.HARD_PROTECTED, Bundle.CONTRACT, Integers())
        invariant = Invariant(lambda _: z3.BoolVal(value))

        assert part == k_induction._recheck(model, invariant, 1)

    def test_refuses_a_false_base(self) -> None:
        """A bug that k - 1 events show fails the base."""
        model = without(Mode.EXPIRING, "claim_identity").model(Integers())
        invariant = Invariant(lambda _: z3.BoolVal(True))

        assert "the base" == k_induction._recheck(model, invariant, 2)

    def test_what_fails_again_is_unknown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A proof that does not pass the second check is none."""
        monkeypatch.setattr(k_induction, "_recheck", lambda *_: "the step")

        found = induct(Question(Mode.BEST_EFFORT).model(Integers()))

        assert (ProofResult.UNKNOWN, "the step fails again") == (found.result, found.reason)


class TestCommand:
    """`python -m proofs check --engine`."""

    def test_bounded_exits_3(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A bounded result names its bounds, is not called proved, and exits 3."""
        code = main(["check", "best_effort", "--engine", "explicit", "--format", "json"])

        (check,) = json.loads(capsys.readouterr().out)["checks"]
        sound = check["sound"]
        assert 3 == code
        assert ("bounded", "explicit", None, 2, False) == tuple(
            sound[key] for key in ("result", "engine", "bound", "blocks", "rechecked")
        )

    @pytest.mark.parametrize(
        ("engine", "said"),
        [
            ("search", "No run of up to 5 events, with counts of blocks up to 7,"),
            ("explicit", "No run of any length, with counts of blocks up to 2,"),
            ("induction", "base and step were checked again by plain Z3"),
            ("recorded", "recorded invariant"),
            ("spacer", "an invariant of Spacer, checked again by plain Z3"),
        ],
    )
    def test_text(self, engine: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
        """The text says how far an answer goes, within 80 columns."""
        code = main(["check", "best_effort", "--engine", engine, "--depth", "5"])
        out = capsys.readouterr().out

        assert code == (0 if engine in ("induction", "recorded", "spacer") else 3)
        assert said in " ".join(out.split())
        assert all(len(line) <= 80 for line in out.splitlines())

    def test_counterexample_to_induction_is_labelled(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A state out of which induction cannot go on is called possibly unreachable."""
        stuck = Induction(
            ProofResult.UNKNOWN, 3, 9, 4, "not inductive", {"was.lead": 2, "was.host": False}
        )
        monkeypatch.setattr(portfolio, "induct", lambda *_: stuck)

        code = main(["check", "best_effort", "--engine", "induction", "-v"])
        out = " ".join(capsys.readouterr().out.split())

        assert 3 == code
        assert "Sound: unknown" in out
        assert "possibly unreachable (it refutes nothing)" in out
        assert "was.lead = 2." in out

    def test_matrix(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The text has a row for each obligation and a column for each clause."""
        main(["check", "expiring", "--full", "-v"])
        rows = [line.split() for line in capsys.readouterr().out.splitlines()]

        assert ["claim_expired_boundary", "X", ".", "X"] in rows
        assert ["claim_harm_attribution", ".", "X", "."] in rows

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--engine", "spacr"], "did you mean spacer?"),
            (["--engine", "z3"], "use one of auto, search, induction, recorded, spacer"),
            (["--engine", "search", "--depth", "0"], "--depth is 0"),
            (["--engine", "induction", "--certificate", "build/c"], "use --engine spacer"),
        ],
    )
    def test_bad_input(
        self, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """An unknown engine, a depth of 0, or a certificate that cannot be made: exit 2."""
        code = main(["check", "expiring", *arguments])
        out, err = capsys.readouterr()

        assert (2, "") == (code, out)
        assert said in err
        assert "Traceback" not in err
