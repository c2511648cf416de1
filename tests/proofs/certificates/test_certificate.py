"""Certificates: what is written, and what a solver says to it."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import z3

from proofs.certificates.recheck import RLIMIT, Answer, Recheck, Solver, recheck
from proofs.certificates.write import SCHEMA, CertificateError, read, write_certificate
from proofs.check import check_mode
from proofs.checks import lemmas
from proofs.checks.lemmas import Valid, lemmas_of
from proofs.cli.recheck import _put
from proofs.logic.encode import Integers
from proofs.model.of_mode import model_of
from proofs.report.verdict import exit_code
from spec.claims.states import Mode
from spec.cli.layout import Page
from spec.contract.modes import Bundle
from spec.digest import spec_digest
from tests.proofs.certificates.written import (
    DATA,
    QUESTIONS,
    SMALL,
    anything,
    at,
    called,
    certify,
    edit,
    written,
)

solvers = pytest.mark.parametrize("solver", Solver)


def skip_without(solver: Solver) -> None:
    if solver is Solver.CVC5:
        pytest.importorskip("cvc5", reason="no cvc5 on this platform")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A certificate of the smallest mode."""
    certify(tmp_path)
    return tmp_path


@pytest.mark.slow
class TestRoundTrip:
    @pytest.mark.parametrize("mode", Mode)
    @pytest.mark.deep
    def test_both_solvers(self, mode: Mode, tmp_path: Path) -> None:
        """All that is shown of a mode is written, and both solvers answer each question unsat."""
        manifest = certify(tmp_path, mode)

        assert tmp_path / "manifest.json" == manifest
        pages = read(tmp_path)[mode]
        for solver in Solver:
            skip_without(solver)
            found = recheck(tmp_path, solver)
            assert ("holds", 0, solver) == (found.result, found.code, found.solver)
            assert [(mode, name, len(page.questions)) for name, page in pages.items()] == [
                (answer.mode, answer.page, answer.unsat) for answer in found.answers
            ]

    @pytest.mark.parametrize("mode", [Mode.HARD_PROTECTED, Mode.SOFT_PRIORITY])
    @pytest.mark.deep
    def test_lemmas(self, mode: Mode, tmp_path: Path) -> None:
        """Each lemma has files of its own, and each part of an induction is asked by its name."""
        certify(tmp_path, mode)

        pages = read(tmp_path)[mode]
        for lemma in lemmas_of(mode):
            own = [page for name, page in pages.items() if name.startswith(_stem(lemma.name))]
            assert own, lemma.name
            if isinstance(lemma.states, Valid):
                assert [lemma.parts] == [page.questions for page in own]

    @pytest.mark.deep
    def test_modes_share_a_folder(self, tmp_path: Path) -> None:
        """The bytes do not depend on the order in which modes were written, nor on how often."""
        modes = (SMALL, Mode.EXPIRING, Mode.ROUTED_REUSE)
        data = {mode: written(mode) for mode in modes}
        for name, order in (("a", modes), ("b", (*modes[::-1], modes[1]))):
            for mode in order:
                write_certificate(tmp_path / name, mode, Bundle.CONTRACT, data[mode])

        first, second = (_files(tmp_path / name) for name in "ab")
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
        told = "knows whether the predicate holds while news of the claim is owed"
        assert {"usefulness": told} == entry["clauses"]
        waits = ["claim_materialized_event", "claim_scoped_telemetry"]
        assert {"usefulness": waits} == entry["waits"]
        assert {*DATA, *QUESTIONS} == set(entry["files"])
        for name, file in entry["files"].items():
            assert bool(file["questions"]) == (name in QUESTIONS)

    def test_files_stand_by_themselves(self, folder: Path) -> None:
        """Each page states its logic, says what it means, and asks what it names."""
        for name, page in read(folder)[SMALL].items():
            text = at(folder, name).read_text()
            assert text.startswith(f"; {SMALL}, contract bundle: ")
            assert "(set-logic QF_LIA)" in text
            assert "must be unsatisfiable." in text
            assert len(page.questions) == text.count("(check-sat)")
            assert all(len(line) <= 130 for line in text.splitlines())


def _files(folder: Path) -> dict[Path, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder): path.read_bytes() for path in paths}


def _stem(lemma: str) -> str:
    return f"lemma.{lemma.replace(' ', '-')}."


@pytest.mark.slow
class TestWriting:
    def test_a_foreign_folder_is_left_alone(self, folder: Path) -> None:
        """A certificate of another specification is not mixed with one of this."""
        edit(folder, lambda document: document["modes"][0].update(spec="0" * 64))
        before = _files(folder)

        with pytest.raises(CertificateError, match="empty folder"):
            certify(folder)

        assert before == _files(folder)

    def test_check_writes_what_recheck_asks(self, tmp_path: Path) -> None:
        """`check` writes a certificate that holds."""
        check = check_mode(Mode.SOFT_PRIORITY, certificate=tmp_path)

        assert str(tmp_path) == check.certificate
        assert "holds" == recheck(tmp_path).result

    def test_a_failed_lemma_writes_none(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where a lemma fails nothing is written, and the check exits 1."""
        broken = Valid(lambda: {"swapped": z3.Int("p") == z3.Int("q")}, "swapped", {})
        monkeypatch.setattr(
            lemmas,
            "LEMMAS",
            tuple(replace(x, states=broken) if x.name == "swap" else x for x in lemmas.LEMMAS),
        )
        check = check_mode(Mode.SOFT_PRIORITY, certificate=tmp_path)

        assert None is check.certificate
        assert [] == list(tmp_path.iterdir())
        assert ["failed"] == [lemma.result for lemma in check.lemmas if lemma.name == "swap"]
        assert 1 == exit_code([check])

    @pytest.mark.deep
    def test_an_unproved_theorem_writes_none(self, tmp_path: Path) -> None:
        """A bundle that is refuted has no certificate, and neither has one without a witness."""
        assert None is check_mode(Mode.EXPIRING, Bundle.PAPER, certificate=tmp_path).certificate
        assert None is check_mode(Mode.BEST_EFFORT, depth=2, certificate=tmp_path).certificate
        assert [] == list(tmp_path.iterdir())


@pytest.mark.slow
class TestSolverDecides:
    """Certificates that are all in order, except that they prove nothing."""

    @solvers
    @pytest.mark.parametrize(
        ("value", "failing"), [(True, "implication"), (False, "initiation")], ids=str
    )
    def test_no_invariant(self, solver: Solver, value: bool, failing: str, tmp_path: Path) -> None:
        """ "Anything" implies no clause and "nothing" holds of no first state: sat, exit 1."""
        skip_without(solver)
        certify(tmp_path, invariant=anything(value))

        found = recheck(tmp_path, solver)

        assert ("fails", 1) == (found.result, found.code)
        assert [f"{failing}.smt2"] == [a.page for a in found.answers if a.answer == "sat"]

    @solvers
    def test_work_limit(self, solver: Solver, folder: Path) -> None:
        """Running out of work is unknown, exit 3, never a pass."""
        skip_without(solver)

        found = recheck(folder, solver, rlimit=100)

        assert ("unknown", 3) == (found.result, found.code)
        assert 100 < RLIMIT[solver]
        assert "holds" == recheck(folder, solver).result


class TestCommand:
    def test_text(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """First what it says, then what it took, what is not in it, and a line for each page."""
        assert 0 == called(folder)

        first, *lines = capsys.readouterr().out.splitlines()
        head, pages = lines[: lines.index("")], lines[lines.index("") + 1 :]
        assert f"holds: the certificate proves the theorem of {SMALL}." == first
        assert head[0].startswith("  questions    ")
        assert " unsat, in " in head[0]
        assert "hard_protected" in " ".join(head)
        assert "not asked" not in " ".join(head)
        assert [name.removesuffix(".smt2") for name in QUESTIONS] == [p.split()[1] for p in pages]
        assert all(line.startswith(SMALL) and line.endswith(" s") for line in pages)
        assert all(len(line) <= 80 for line in lines)

    def test_several_modes(self) -> None:
        """The first sentence names the modes that were proved, in 80 columns, too."""
        *modes, last = Mode
        answers = [Answer(mode, "initiation.smt2", 1, 1, [], [], 0.0) for mode in modes]
        out = Page()
        _put(out, Recheck("", "", "", "z3", "", "holds", answers, [last]))

        lines = str(out).splitlines()
        assert "holds: the certificate proves the theorems of best_effort, " in lines[0]
        assert all(len(line) <= 80 for line in lines)

    def test_unasked(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A file that the certificate does not name is named, and no part of the answer."""
        (folder / "frame" / "more\x1b[31m.smt2").write_text("(assert false)", encoding="utf-8")

        assert 0 == called(folder)
        out = capsys.readouterr().out
        assert "  not asked    frame/more" in out
        assert "\x1b" not in out

    def test_json(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The JSON decodes by its published form."""
        assert 0 == called(folder, "--format", "json")

        found = msgspec.json.decode(capsys.readouterr().out, type=Recheck)
        assert ("resident-claims/recheck/2", "holds", "z3") == (
            found.schema,
            found.result,
            found.solver,
        )
        assert [mode for mode in Mode if mode != SMALL] == found.lacks
        assert [] == found.unasked

    def test_failing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A certificate whose invariant is none exits 1 and says that it fails."""
        certify(tmp_path, invariant=anything())

        assert 1 == called(tmp_path)
        out = capsys.readouterr().out
        assert "    sat: implication\n" in out
        assert out.startswith("fails: the certificate does not prove the theorem of ")

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
        assert "error: cvc5 is not installed; install resident-claims with its extra" in err
        assert "pip install '.[cvc5]'" in err
