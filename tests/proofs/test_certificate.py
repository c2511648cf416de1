"""Certificates: what is written, and what a solver says to it."""

import json
import sys
from pathlib import Path

import msgspec
import pytest
import z3

from proofs.certificate import SCHEMA, CertificateError, write_certificate
from proofs.encode import Integers
from proofs.engines.spacer import Invariant, Proof, ProofResult, prove
from proofs.model import model_of
from proofs.recheck import RLIMIT, Recheck, Solver, recheck
from spec.claims import Mode
from spec.digest import spec_digest
from spec.modes import Bundle
from tests.proofs.certificates import (
    PAGES,
    SMALL,
    called,
    edit,
    no_proof,
    small_proof,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A certificate of the smallest mode."""
    write_certificate(tmp_path, SMALL, Bundle.CONTRACT, small_proof())
    return tmp_path


class TestRoundTrip:
    @pytest.mark.parametrize("mode", Mode)
    def test_both_solvers(self, mode: Mode, tmp_path: Path) -> None:
        """The proof of each mode is written, and both solvers answer each question unsat."""
        proof = prove(model_of(mode, Bundle.CONTRACT, Integers()))
        manifest = write_certificate(tmp_path, mode, Bundle.CONTRACT, proof)

        assert tmp_path / "manifest.json" == manifest
        assert {"manifest.json", *(f"{mode}.{page}.smt2" for page in PAGES)} == {
            path.name for path in tmp_path.iterdir()
        }
        for solver in Solver:
            if solver is Solver.CVC5:
                pytest.importorskip("cvc5", reason="no cvc5 on this platform")
            found = recheck(tmp_path, solver)
            assert ("holds", 0, solver) == (found.result, found.code, found.solver)
            assert [(mode, page, "unsat") for page in PAGES[1:]] == [
                (answer.mode, answer.question, answer.answer) for answer in found.answers
            ]

    def test_modes_share_a_folder(self, tmp_path: Path) -> None:
        """The bytes do not depend on the order in which modes were written, nor on how often."""
        modes = (SMALL, Mode.EXPIRING, Mode.ROUTED_REUSE)
        for name, order in (("a", modes), ("b", (*modes[::-1], modes[1]))):
            for mode in order:
                write_certificate(tmp_path / name, mode, Bundle.CONTRACT, no_proof())

        first, second = ({p.name: p.read_bytes() for p in (tmp_path / n).iterdir()} for n in "ab")
        assert first == second
        assert list(modes) == list(dict.fromkeys(a.mode for a in recheck(tmp_path / "a").answers))

    def test_nothing_depends_on_what_z3_did_before(self, folder: Path) -> None:
        """Terms that were made in another order leave the text as it was."""
        model = model_of(SMALL, Bundle.CONTRACT, Integers())
        names = [str(v) for v in (*model.state("").values(), *model.event("").values())]
        kept = [z3.Int(name) == n for name in reversed(names) for n in range(20, -1, -1)]

        assert kept
        assert "holds" == recheck(folder).result

    def test_manifest(self, folder: Path) -> None:
        """The manifest says what was proved, of which specification, and by what."""
        document = json.loads((folder / "manifest.json").read_text())

        (entry,) = document["modes"]
        assert SCHEMA == document["schema"]
        assert (SMALL, "contract", spec_digest(), z3.get_version_string()) == tuple(
            entry[key] for key in ("mode", "bundle", "spec", "z3")
        )
        assert {"usefulness": "knows whether the predicate holds"} == entry["clauses"]
        assert [None, "unsat", "unsat", "unsat"] == [
            entry["files"][page]["answer"] for page in PAGES
        ]

    def test_files_stand_by_themselves(self, folder: Path) -> None:
        """Each question states its logic, says what it means, and asks once."""
        for page in PAGES[1:]:
            text = (folder / f"{SMALL}.{page}.smt2").read_text()
            assert text.startswith(f"; {SMALL}, contract bundle: {page}.")
            assert "(set-logic QF_LIA)" in text
            assert "; It must be unsatisfiable.\n" in text
            assert text.endswith("(check-sat)\n")
            assert all(len(line) <= 120 for line in text.splitlines())


class TestWriting:
    def test_only_a_proof_is_written(self, tmp_path: Path) -> None:
        """Neither an unknown result nor one without an invariant is written."""
        for proof in (Proof(ProofResult.UNKNOWN, False), Proof(ProofResult.PROVED, True)):
            with pytest.raises(ValueError, match="no invariant"):
                write_certificate(tmp_path, SMALL, Bundle.CONTRACT, proof)
        assert [] == list(tmp_path.iterdir())

    def test_a_foreign_folder_is_left_alone(self, folder: Path) -> None:
        """A certificate of another specification is not mixed with one of this."""
        edit(folder, lambda document: document["modes"][0].update(spec="0" * 64))
        before = {path: path.read_bytes() for path in folder.iterdir()}

        with pytest.raises(CertificateError, match="empty folder"):
            write_certificate(folder, SMALL, Bundle.CONTRACT, small_proof())

        assert before == {path: path.read_bytes() for path in folder.iterdir()}


class TestSolverDecides:
    """Certificates that are all in order, except that they prove nothing."""

    @pytest.mark.parametrize("solver", Solver)
    @pytest.mark.parametrize(
        ("value", "failing"), [(True, "implication"), (False, "initiation")], ids=str
    )
    def test_no_invariant(self, solver: Solver, value: bool, failing: str, tmp_path: Path) -> None:
        """ "Anything" implies no clause and "nothing" holds of no first state: sat, exit 1."""
        if solver is Solver.CVC5:
            pytest.importorskip("cvc5", reason="no cvc5 on this platform")
        proof = Proof(ProofResult.PROVED, True, invariant=Invariant(lambda _: z3.BoolVal(value)))
        write_certificate(tmp_path, SMALL, Bundle.CONTRACT, proof)

        found = recheck(tmp_path, solver)

        assert ("fails", 1) == (found.result, found.code)
        assert [failing] == [a.question for a in found.answers if a.answer == "sat"]

    @pytest.mark.parametrize("solver", Solver)
    def test_work_limit(self, solver: Solver, folder: Path) -> None:
        """Running out of work is unknown, exit 3, never a pass."""
        if solver is Solver.CVC5:
            pytest.importorskip("cvc5", reason="no cvc5 on this platform")

        found = recheck(folder, solver, rlimit=100)

        assert ("unknown", 3) == (found.result, found.code)
        assert 100 < RLIMIT[solver]


class TestCommand:
    def test_text(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A line for each question with its time, and what it all says, in 80 columns."""
        assert 0 == called(folder)

        lines = capsys.readouterr().out.splitlines()
        assert list(PAGES[1:]) == [line.split()[1] for line in lines[:3]]
        assert all(line.startswith(SMALL) and line.endswith(" s") for line in lines[:3])
        assert lines[3].startswith("3 of 3 unsat by z3 ")
        assert "the certificate holds" == lines[4]
        assert all(len(line) <= 80 for line in lines)

    def test_json(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The JSON decodes by its published form."""
        assert 0 == called(folder, "--format", "json")

        found = msgspec.json.decode(capsys.readouterr().out, type=Recheck)
        assert ("resident-claims/recheck/1", "holds", "z3") == (
            found.schema,
            found.result,
            found.solver,
        )

    def test_failing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A certificate whose invariant is none exits 1 and says that it fails."""
        write_certificate(tmp_path, SMALL, Bundle.CONTRACT, no_proof())

        assert 1 == called(tmp_path)
        assert "the certificate FAILS" in capsys.readouterr().out

    def test_unknown_solver(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """An unknown solver exits 2 and suggests one."""
        assert 2 == called(folder, "--solver", "cvc4")
        assert "did you mean cvc5" in capsys.readouterr().err

    def test_missing_solver(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where cvc5 is not installed, the error says how to install it."""
        monkeypatch.setitem(sys.modules, "cvc5", None)

        assert 2 == called(folder, "--solver", "cvc5")
        out, err = capsys.readouterr()
        assert "" == out
        assert "error: cvc5 is not installed; pip install 'resident-claims[cvc5]'" in err
