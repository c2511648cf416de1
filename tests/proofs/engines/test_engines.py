"""The engines agree, say how far they go, and never pass for want of work."""

import json

import pytest

from proofs.__main__ import main
from proofs.check import check_mode, exit_code
from proofs.engines import portfolio
from proofs.engines.answers import Engine, Question
from proofs.engines.invariants.recheck import Proof, ProofResult, recheck
from proofs.engines.names import EngineName
from proofs.engines.portfolio import Auto, Search, Spacer, engine_named
from proofs.logic.encode import Integers
from proofs.report.junit import to_junit
from spec.claims.states import Mode
from tests.proofs.pinned import NECESSARY

pytestmark = pytest.mark.slow

# Of the largest mode it is asked at leisure: its recorded invariant is checked again everywhere.
EACH = [
    pytest.param(mode, marks=pytest.mark.deep) if mode is Mode.HARD_PROTECTED else mode
    for mode in Mode
]

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

    @pytest.mark.parametrize("mode", EACH)
    def test_search(self, mode: Mode) -> None:
        """The search finds nothing, and says how many events and blocks it is about."""
        answer = Search(DEPTH).answer(Question(mode))

        assert (ProofResult.BOUNDED, DEPTH, 7) == (answer.result, answer.bound, answer.blocks)

    @pytest.mark.parametrize("mode", EACH)
    def test_spacer(self, mode: Mode) -> None:
        """Spacer proves each mode, without a bound, by an invariant that plain Z3 accepts."""
        question = Question(mode)
        answer = Spacer(DEPTH).answer(question)

        assert (ProofResult.PROVED, None, None) == (answer.result, answer.bound, answer.blocks)
        assert answer.proof is not None
        assert answer.proof.invariant is not None
        assert "" == recheck(question.model(Integers()), answer.proof.invariant)


class TestPlantedBug:
    """A contract without an obligation is refuted by every engine, in as few events."""

    @engines
    @pytest.mark.parametrize("mode", Mode)
    @pytest.mark.deep
    def test_same_length(self, mode: Mode, engine: EngineName) -> None:
        """Each engine finds the bug in the pinned number of events, and shows a run."""
        length = NECESSARY[mode][PLANTED[mode]]
        answer = engine_named(engine, DEPTH).answer(without(mode, PLANTED[mode]))

        assert length is not None
        assert (ProofResult.REFUTED, length) == (answer.result, answer.bound)
        assert answer.shown is not None
        assert length == len(answer.shown.found.events)
        assert answer.shown.found.failed

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
        ],
        ids=["search", "spacer"],
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
        cut = Proof(ProofResult.UNKNOWN, "cut")
        monkeypatch.setattr(portfolio, "recall", lambda *_: None)
        monkeypatch.setattr(portfolio, "prove", lambda *_: cut)

    def test_refuted_by_search(self) -> None:
        """A bug is found by the search."""
        answer = Auto(DEPTH).answer(without(Mode.EXPIRING, "claim_expired_boundary"))

        assert (ProofResult.REFUTED, "search", 3) == (answer.result, answer.engine, answer.bound)

    def test_bounded(self) -> None:
        """Where only the search answers, the result carries the bound, is not called proved and is
        no pass."""
        check = check_mode(Mode.EXPIRING, depth=7)

        assert ("bounded", "search", 7, 7, False) == (
            check.sound.result,
            check.sound.engine,
            check.sound.bound,
            check.sound.blocks,
            check.sound.rechecked,
        )
        assert "cut" == check.sound.reason
        assert 3 == exit_code([check])
        assert b'message="shown only within a bound"' in to_junit([check])


class TestCommand:
    """`python -m proofs check --engine`."""

    def test_bounded_exits_3(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A bounded result names its bounds, is not called proved, and exits 3."""
        code = main(
            ["check", "best_effort", "--engine", "search", "--depth", "5", "--format", "json"]
        )

        (check,) = json.loads(capsys.readouterr().out)["checks"]
        sound = check["sound"]
        assert 3 == code
        assert ("bounded", "search", 5, 7, False) == tuple(
            sound[key] for key in ("result", "engine", "bound", "blocks", "rechecked")
        )

    @pytest.mark.parametrize(
        ("engine", "said"),
        [
            ("search", "No run of up to 5 events, with counts of blocks up to 7,"),
            ("recorded", "recorded invariant"),
            ("spacer", "an invariant of Spacer, checked again by plain Z3"),
        ],
    )
    def test_text(self, engine: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
        """The text says how far an answer goes, within 80 columns."""
        code = main(["check", "best_effort", "--engine", engine, "--depth", "5"])
        out = capsys.readouterr().out

        assert code == (0 if engine in ("recorded", "spacer") else 3)
        assert said in " ".join(out.split())
        assert all(len(line) <= 80 for line in out.splitlines())

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
            (["--engine", "z3"], "use one of auto, search, recorded, spacer"),
            (["--engine", "search", "--depth", "0"], "--depth is 0"),
            (["--engine", "search", "--certificate", "build/c"], "use --engine spacer"),
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
