"""Certificates that are corrupt, modified or foreign: exit 2, one line, no traceback."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proofs.certificates.recheck import recheck
from proofs.certificates.write import LIMIT, CertificateError
from spec.claims.states import Mode
from spec.digest import spec_digest
from tests.proofs.certificates.written import (
    BODY,
    DATA,
    QUESTIONS,
    SMALL,
    at,
    certify,
    edit,
    refused,
    seal,
)

pytestmark = pytest.mark.slow

FILES = (*DATA, *QUESTIONS)
_SPOILS = {"witness.json": ("1", "3"), "frame/invariants.json": ("is in", "was in")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A certificate of the smallest mode."""
    certify(tmp_path)
    return tmp_path


@pytest.mark.deep
class TestTampering:
    @pytest.mark.parametrize("page", FILES)
    def test_changed_file(
        self, page: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """One digit: refused by its digest, and with a new digest by what it must be."""
        path = at(folder, page)
        old, new = _SPOILS.get(page, ("0", "3"))
        before, found, after = path.read_text().rpartition(old)
        assert found
        path.write_text(f"{before}{new}{after}")

        refused(folder, f"{path} was changed: its SHA-256 is ", capsys)
        seal(folder)
        says = "has no candidate" if page.startswith("frame/inv") else "is not what this spec"
        refused(folder, says, capsys)

    @pytest.mark.parametrize("page", QUESTIONS)
    def test_easier_question(
        self, page: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A question that is trivially unsat, with a new digest, is refused."""
        path = at(folder, page)
        path.write_text(path.read_text().replace("(check-sat)", "(assert false)\n(check-sat)"))
        seal(folder)

        refused(folder, f"{path} is not what this specification makes", capsys)

    @pytest.mark.parametrize("page", FILES)
    def test_dropped_file(
        self, page: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A file that is not there is named."""
        at(folder, page).unlink()

        refused(folder, f"{at(folder, page)}: No such file", capsys)

    def test_swapped_modes(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The proof of another mode, under this mode's name, is refused."""
        certify(tmp_path, Mode.EXPIRING)

        def rename(document: Any) -> None:
            (entry,) = document["modes"]
            entry["mode"] = SMALL
            for page, file in entry["files"].items():
                new = at(tmp_path, page)
                file["name"] = str(new.relative_to(tmp_path))
                at(tmp_path, page, Mode.EXPIRING).rename(new)

        edit(tmp_path, rename)

        refused(tmp_path, "the files of best_effort are ", capsys)

    def test_older_specification(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A certificate of another specification is refused, and both digests are named."""
        edit(folder, lambda document: document["modes"][0].update(spec="ab" * 32))

        refused(folder, "ab" * 32, capsys)
        refused(folder, spec_digest(), capsys)

    @pytest.mark.parametrize("kind", ["link", "pipe", "folder", "large"])
    def test_no_plain_file(
        self, kind: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A link, a pipe, a folder or a huge file is not read."""
        path = folder / f"{SMALL}.initiation.smt2"
        moved = path.rename(folder / "elsewhere")
        if kind == "link":
            path.symlink_to(moved)
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            path.write_bytes(b";" * (LIMIT + 1))

        refused(folder, "larger than" if kind == "large" else "not a plain file", capsys)


def _entry(**values: Any) -> Callable[[Any], None]:
    return lambda document: document["modes"][0].update(values)


def _file(**values: Any) -> Callable[[Any], None]:
    return lambda document: document["modes"][0]["files"]["invariant.smt2"].update(values)


@pytest.mark.deep
class TestHostileManifest:
    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda d: d.update(schema="resident-claims/certificate/1"), "has schema"),
            (lambda d: d.update(schema=1), "is not a manifest"),
            (lambda d: d.update(modes=[]), "proves no mode"),
            (lambda d: d.update(modes={}), "is not a manifest"),
            (lambda d: d.update(extra=1), "unknown field `extra`"),
            (lambda d: d["modes"].append(d["modes"][0]), "'best_effort', twice"),
            (_entry(mode="best\neffort"), "'best\\neffort', which is not a mode"),
            (_entry(mode="x" * 5000), "which is not a mode"),
            (_entry(bundle="pamphlet"), "names an unknown bundle: 'pamphlet'"),
            (_entry(spec=7), "is not a manifest"),
            (_entry(files={}), "does not name each of them once"),
            (_entry(clauses={"usefulness": "is happy"}), "the clauses of best_effort are not"),
            (_entry(obligations=[]), "the obligations of best_effort are not"),
            (_entry(interpretations=["mine"]), "the interpretations of best_effort are not"),
            (_entry(waits={}), "the waits of best_effort are not"),
            (_entry(environment=["claim_registered"]), "the environment of best_effort are not"),
            (_entry(lemmas={"moon": "is made of cheese"}), "the lemmas of best_effort are not"),
            (_entry(bundle="paper"), "not what this specification makes"),
            (_file(name="../best_effort.invariant.smt2"), "names '../best_effort"),
            (_file(name="/etc/passwd"), "names '/etc/passwd'"),
            (_file(name="\0"), "names '\\x00'"),
            (_file(sha256="\n" * 2000), "was changed"),
            (_file(questions=["why"]), "the files of best_effort are not"),
        ],
    )
    def test_edited(
        self,
        change: Callable[[Any], None],
        said: str,
        folder: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Each part of the manifest is held to what it must be."""
        edit(folder, change)

        refused(folder, said, capsys)

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\0\xff\xfe",
            b"null",
            b"[]",
            b'{"schema": "resident-claims/certificate/2"',
            b'{"schema": "resident-claims/certificate/2", "modes": [{"mode": {}}]}',
            b"[" * 100_000,
            b'{"schema":' + b"[" * 100_000,
            b'{"x":' * 100_000,
            b'{"schema": "resident-claims/certificate/2", "modes": ' + b"[" * 100_000,
            b'{"schema": "\\ud800"}',
            b" " * (LIMIT + 1),
        ],
        ids=range(12),
    )
    def test_no_manifest(
        self, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What is no JSON, no manifest, too deep or too large is refused in one line."""
        (tmp_path / "manifest.json").write_bytes(content)

        refused(tmp_path, "manifest.json", capsys)

    @pytest.mark.parametrize("name", ["missing", "file"])
    def test_no_folder(self, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A folder that is none is named."""
        (tmp_path / "file").write_text("")

        refused(tmp_path / name, "cannot read", capsys)
        with pytest.raises(CertificateError, match="null byte"):
            recheck(tmp_path / "nul\0")


@pytest.mark.deep
class TestHostileInvariant:
    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("(define-fun", "(exit)\n(define-fun"),
            ("(define-fun", '(include "x.smt2")\n(define-fun'),
            ("(define-fun", "(assert false)\n(define-fun"),
            ("(define-fun", "(define-fun-rec"),
            ("(define-fun Inv", "(define-fun Other"),
            ("(was.committed Bool)", ""),
            ("(was.committed Bool)", "(was.committed Int)"),
            (BODY, "(get-model)"),
            (BODY, "(exit)"),
            (BODY, "()"),
            (BODY, "(not)"),
            (BODY, "(not e.mine)"),
            (BODY, "(+ 1 true)"),
            (BODY, "(>= (* was.lead was.lead) 0)"),
            (BODY, "(forall ((x Int)) (= x x))"),
            (BODY, "(! true :named a)"),
            (BODY, "(let ((x true)) x)"),
            (BODY, "(>= state.claim_identity 1.5)"),
            (BODY, f"(>= state.claim_identity {'9' * 50})"),
            (BODY, "|was.lead|"),
            (BODY, '"text"'),
            (BODY, "tr\N{LATIN SMALL LETTER U WITH DIAERESIS}e"),
            (BODY, "(not " * 80 + "true" + ")" * 80),
            (BODY, "(" * 100_000),
            (BODY, BODY[:-1]),
            (BODY, BODY + ")"),
            (BODY, f"{BODY}))) (assert false) (define-fun Inv2 () Bool (and (and true"),
        ],
        ids=range(27),
    )
    def test_anything_but_one_definition(
        self, old: str, new: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """No solver sees an invariant that is not one plain, well sorted definition."""
        path = folder / f"{SMALL}.invariant.smt2"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        seal(folder)

        refused(folder, f"{path} is not an invariant: ", capsys)

    @pytest.mark.parametrize("content", [b"", b"\0", b"\xff", b"(" * LIMIT, b"Inv", b"; only this"])
    def test_no_text(
        self, content: bytes, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What is no expression at all is refused."""
        (folder / f"{SMALL}.invariant.smt2").write_bytes(content)
        seal(folder)

        refused(folder, "is not an invariant: ", capsys)

    def test_equal_but_not_as_written(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A comment more is already another text."""
        path = folder / f"{SMALL}.invariant.smt2"
        path.write_text(path.read_text() + "; proved!\n")
        seal(folder)

        refused(folder, "not what this specification makes", capsys)


def _first(change: Callable[[Any], None]) -> Callable[[Any], None]:
    """A change of the first event."""
    return lambda run: change(run["events"][0])


class TestHostileRun:
    """Runs that are none: of each the reader says what is wrong."""

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda run: run.update(extra=1), "unknown field `extra`"),
            (lambda run: run.update(events=[]), "a run has 0 events"),
            (lambda run: run.update(events=run["events"] * 40), "events, not 1 to 64"),
            (lambda run: run.update(constants={}), "the constants of a run are c.threshold"),
            (lambda run: run["constants"].update({"c.threshold": 0}), "no run begins with these"),
            (_first(lambda event: event.update(kind="block_evaporated")), "block_evaporated"),
            (_first(lambda event: event.update(kind=1)), "an event has the kind 1"),
            (_first(lambda event: event.update(moon=1)), "an event has the field 'moon'"),
            (_first(lambda event: event.update(mine=1)), "mine of an event is 1"),
            (_first(lambda event: event.update(lead=True)), "lead of an event is True"),
            (_first(lambda event: event.update(lead="x" * 999)), "lead of an event is 'xxx"),
            (_first(lambda event: event.update(lead=10**12)), "larger than"),
            (_first(lambda event: event.update(lead=1.5)), "is not a run: "),
        ],
    )
    def test_edited(
        self,
        change: Callable[[Any], None],
        said: str,
        folder: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """No solver sees a run with anything but the fields of events."""
        path = folder / f"{SMALL}.witness.json"
        run = json.loads(path.read_text())
        change(run)
        path.write_text(json.dumps(run))
        seal(folder)

        refused(folder, f"{path} is not a run: ", capsys)
        refused(folder, said, capsys)

    def test_too_deep(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A file that nests without end is refused."""
        (folder / f"{SMALL}.witness.json").write_bytes(b'{"constants":' + b"[" * 100_000)
        seal(folder)

        refused(folder, "witness.json is not a run: ", capsys)


class TestHostileNames:
    """Names of invariants that are none."""

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "names no invariants"),
            (b"[]", "names no invariants"),
            (b"\xff", "names no invariants"),
            (b"{}", "does not name the obligations"),
            (b'{"claim_identity": 1}', "names no invariants"),
            (b"[" * 100_000, "names no invariants"),
        ],
        ids=range(6),
    )
    def test_no_names(
        self, content: bytes, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What names no candidates of the mode's obligations is refused."""
        at(folder, "frame/invariants.json").write_bytes(content)
        seal(folder)

        refused(folder, said, capsys)
