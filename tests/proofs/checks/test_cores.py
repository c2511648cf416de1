"""What each clause is said to rest on is true, and the page says it."""

import json
from pathlib import Path

import pytest

from proofs.__main__ import main
from proofs.checks import cores
from proofs.checks.cores import Cores, contract_cores, cores_of, question_of, rests_on
from proofs.cli import cores as commands_cores
from proofs.engines import proof_core
from proofs.engines.bounded.search import WIDTH, find_refutation
from proofs.engines.invariants.recheck import Proof, ProofResult
from proofs.engines.invariants.spacer import prove
from proofs.logic.encode import Bits, Integers
from proofs.model.of_mode import model_of
from proofs.report.cores_page import cores_page, cores_section
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from tests.proofs.pinned import GUARDS_NOT_NEEDED, NECESSARY, checked, checked_cores

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "cores.md"

modes = pytest.mark.parametrize("mode", Mode)


class TestCores:
    """The cores that `check` finds for the contracts."""

    @modes
    def test_every_clause(self, mode: Mode) -> None:
        """Each clause rests on some obligations of the bundle, and on what is in every core."""
        names = MODES[mode].names()

        assert list(checked(mode).sound.clauses) == list(checked_cores(mode).core)
        for clause, core in checked_cores(mode).core.items():
            assert core
            assert set(checked_cores(mode).in_every[clause]) <= set(core) <= set(names)

    @modes
    def test_suffices(self, mode: Mode) -> None:
        """Each clause is proved anew of the bundle that consists of its core alone."""
        for clause, core in checked_cores(mode).core.items():
            assert Proof(ProofResult.PROVED) == prove(
                question_of(mode, clause, frozenset(core)).model(Integers())
            )

    @modes
    @pytest.mark.deep
    def test_guards_are_unused(self, mode: Mode) -> None:
        """Each clause is proved anew of its core where no unused guard is in force."""
        for clause, core in checked_cores(mode).core.items():
            without = {*MODES[mode].names()} - {*core} | {*checked_cores(mode).unused}
            model = model_of(
                mode,
                Bundle.CONTRACT,
                Integers(),
                without=frozenset(without),
                only=frozenset({clause}),
            )
            assert Proof(ProofResult.PROVED) == prove(model)

    @modes
    def test_unused_is_not_needed(self, mode: Mode) -> None:
        """A guard that no proof uses is one that can be taken out by itself."""
        assert set(checked_cores(mode).unused) <= GUARDS_NOT_NEEDED[mode]

    @modes
    def test_in_every_core(self, mode: Mode) -> None:
        """What every core has is needed: without it a run breaks the clause, and keeps the rest."""
        for clause, needed in checked_cores(mode).in_every.items():
            for name in needed:
                model = model_of(
                    mode,
                    Bundle.CONTRACT,
                    Bits(WIDTH),
                    without=frozenset({name}),
                    only=frozenset({clause}),
                )
                assert find_refutation(model, cores.DEEP).found

    @modes
    def test_necessary_is_in_every_core(self, mode: Mode) -> None:
        """An obligation without which a clause fails is in every core of that clause, and each
        obligation that is necessary is in some core."""
        for name, without in checked(mode).necessary.items():
            for clause in without.failed:
                assert name in checked_cores(mode).in_every[clause]
            if NECESSARY[mode][name] is not None:
                assert any(name in core for core in checked_cores(mode).core.values())

    def test_one_of_two(self) -> None:
        """Of two obligations that owe the outcome of a failed restore either will do; the first is
        taken, and is not said to be in every core."""
        cores = checked_cores(Mode.OFFLOADABLE)

        assert ["claim_identity", "restoration_failure_outcome"] == cores.core["failure"]
        assert ["claim_identity"] == cores.in_every["failure"]
        other = frozenset({"claim_identity", "claim_harm_attribution"})
        question = question_of(Mode.OFFLOADABLE, "failure", other)
        assert ProofResult.PROVED is prove(question.model(Integers())).result

    def test_without_a_proof_is_empty(self) -> None:
        """Where no invariant proves the contract nothing is said of cores."""
        nothing = Cores({}, {}, [])

        proof = Proof(ProofResult.PROVED)
        assert {} == rests_on(Mode.EXPIRING, proof)
        assert nothing == cores_of(Mode.EXPIRING, proof, {}, {})

    def test_out_of_work_uses_everything(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the solver runs out of work, the whole bundle and all guards count as used."""
        proof = prove(model_of(Mode.BEST_EFFORT, Bundle.CONTRACT, Integers()))
        monkeypatch.setattr(proof_core, "RLIMIT", 1)

        rests = rests_on(Mode.BEST_EFFORT, proof)
        found = cores_of(Mode.BEST_EFFORT, proof, rests, {})

        assert {"usefulness": list(MODES[Mode.BEST_EFFORT].names())} == found.core
        assert [] == found.unused


class TestCommand:
    """`python -m proofs cores`"""

    @pytest.fixture(autouse=True)
    def one_mode(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One small mode stands for the seven."""
        monkeypatch.setattr(commands_cores, "Mode", [Mode.BEST_EFFORT])

    def test_page(self, tmp_path: Path) -> None:
        """The page is written to a file."""
        file = tmp_path / "cores.md"

        assert 0 == main(["cores", "-o", str(file)])
        assert cores_page({Mode.BEST_EFFORT: checked_cores(Mode.BEST_EFFORT)}) == file.read_text(
            "utf-8"
        )

    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        """For programs the same is JSON, with the unused guards."""
        assert 0 == main(["cores", "--format", "json"])

        cores = json.loads(capsys.readouterr().out)["best_effort"]
        assert checked_cores(Mode.BEST_EFFORT).core == cores["core"]
        assert set(cores["unused"]) <= GUARDS_NOT_NEEDED[Mode.BEST_EFFORT]

    def test_out_of_work(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Without a proof nothing is written, and the exit code is 3."""
        monkeypatch.setattr(cores, "proof_of", lambda _: Proof(ProofResult.UNKNOWN, "cut"))

        assert 3 == main(["cores"])
        assert "" == capsys.readouterr().out

    def test_bad_target(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A file that cannot be written is bad input, before any work is done."""
        assert 2 == main(["cores", "-o", "/dev/null/a"])
        assert "/dev/null/a" in capsys.readouterr().err


class TestPage:
    @modes
    def test_is_fresh(self, mode: Mode) -> None:
        """The table of each mode in docs is the one that a check finds (else: make docs)."""
        assert f"\n\n{cores_section(mode, checked_cores(mode))}\n" in PAGE.read_text(
            encoding="utf-8"
        )

    def test_head_and_order(self) -> None:
        """The page begins as it is generated, and has a section for each mode, in order."""
        page = PAGE.read_text(encoding="utf-8")

        assert page.startswith(cores_page({}).rstrip())
        assert [f"## {mode}" for mode in Mode] == [n for n in page.splitlines() if "## " in n]

    def test_idle_obligations_are_named(self) -> None:
        """An obligation that no clause rests on is named below the table."""
        names = MODES[Mode.ROUTED_REUSE].names()
        cores = Cores({"cost": list(names[1:])}, {"cost": []}, [])

        assert "No clause rests on `claim_identity`." in cores_section(Mode.ROUTED_REUSE, cores)

    def test_contract_cores(self) -> None:
        """A proof made for the page gives the cores that a check gives."""
        cores = contract_cores(Mode.BEST_EFFORT)

        assert (
            checked_cores(Mode.BEST_EFFORT).core,
            checked_cores(Mode.BEST_EFFORT).in_every,
        ) == cores[:2]
