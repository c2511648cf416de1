"""Tests of the command line, of spec.cli.common and of spec.language.suggest."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from monitor.native import core
from spec.__main__ import main
from spec.cli.common import (
    DEBUG,
    Code,
    FormatOption,
    json_page,
    new_app,
    print_json,
    run,
    version_text,
)
from spec.cli.show import find
from spec.contract.interpretations import INTERPRETATIONS
from spec.contract.modes import MODES
from spec.contract.names import OTHER_NAMES, find_mode
from spec.contract.obligations import OBLIGATIONS
from spec.contract.supply import Depth, Order
from spec.digest import short_digest
from spec.docs.views import WORDS
from spec.language.errors import SpecError, UnknownName
from spec.language.machine import Observer
from spec.language.suggest import resolve
from spec.lowering.signals import Signal
from spec.stream.codes import CODES

Capture = pytest.CaptureFixture[str]
NAMES = [*map(str, MODES), *OBLIGATIONS, *(each.name for each in INTERPRETATIONS), *WORDS, *CODES]


class TestList:
    """python -m spec list"""

    def test_text(self, capsys: Capture) -> None:
        """Every mode, obligation and interpretation is listed, plainly and within 80 columns."""
        assert Code.OK == main(["list"])
        out = capsys.readouterr().out
        assert all(name in out for name in (*MODES, *OBLIGATIONS))
        lines = [" ".join(line.split()) for line in out.splitlines()]
        assert {f"{each.name} {each.in_short}" for each in INTERPRETATIONS} <= set(lines)
        assert "\x1b" not in out
        assert 80 >= max(map(len, out.splitlines()))

    def test_json(self, capsys: Capture) -> None:
        """The JSON has the same names in the same order."""
        assert Code.OK == main(["list", "--format", "json"])
        listing = json.loads(capsys.readouterr().out)
        assert [*MODES] == [mode["name"] for mode in listing["modes"]]
        assert [*OBLIGATIONS] == [each["name"] for each in listing["obligations"]]
        assert [each.name for each in INTERPRETATIONS] == [
            each["name"] for each in listing["readings"]
        ]


class TestShow:
    """python -m spec show"""

    @pytest.mark.parametrize("name", NAMES)
    def test_each(self, name: str, capsys: Capture) -> None:
        """Whatever is listed is shown within 80 columns, and as JSON under its name."""
        assert Code.OK == main(["show", name])
        text = capsys.readouterr().out
        assert name in text
        assert 80 >= max(map(len, text.splitlines()))
        assert Code.OK == main(["show", name, "--format", "json"])
        assert name == json.loads(capsys.readouterr().out)["name"]

    def test_mode(self, capsys: Capture) -> None:
        """A mode shows its promise, what is critical, what was added, and its interpretations."""
        main(["show", "Hard-Protected"])
        out = " ".join(capsys.readouterr().out.split())
        spec = find_mode("hard_protected")
        assert spec.promise in out
        assert "V victim_exclusion_before_violation critical" in out
        assert "claim_materialized_event added by the contract" in out
        assert all(why in out for why in (*spec.added.values(), *spec.interpretations))
        assert "scheduler_hook and allocator_hook" in out
        interpretations = [each for each in INTERPRETATIONS if each.name in spec.interpretations]
        assert all(f"{each.name} {each.in_short}" in out for each in interpretations)

    def test_reading(self, capsys: Capture) -> None:
        """An interpretation shows what it decides, what goes wrong otherwise, and who needs it."""
        main(["show", "watched"])
        out = " ".join(capsys.readouterr().out.split())
        assert "Modes without explicit acceptance owe their telemetry" in out
        assert "otherwise: A mode that promises only telemetry" in out
        assert out.endswith("modes: best_effort, soft_priority, routed_reuse")

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("allocator_hook", "used in the modes: hard_protected"),
            ("restore_before_reuse", "obligations that need it: offload_restorability"),
            ("pin_with_ttl", "resembles: expiring, hard_protected"),
        ],
    )
    def test_word(self, name: str, said: str, capsys: Capture) -> None:
        """A depth, an order or a signal is shown with what hangs on it."""
        assert Code.OK == main(["show", name])
        assert said in capsys.readouterr().out

    def test_reason(self, capsys: Capture) -> None:
        """A reason of an inconclusive verdict says what it concerns, and what to do."""
        assert Code.OK == main(["show", "rc118"])
        out = " ".join(capsys.readouterr().out.split())
        assert "reason RC118 identity-contradicts inconclusive: every claim that is alive;" in out
        assert "what to do: state facts about the object that" in out

    def test_words(self) -> None:
        """No two things that are shown have one name."""
        named = [
            *MODES,
            *OBLIGATIONS,
            *OTHER_NAMES,
            *(each.name for each in INTERPRETATIONS),
            *WORDS,
            *CODES,
        ]
        assert len(named) == len(set(named))
        assert len(WORDS) == len(Depth) + len(Order) + len(Signal)

    def test_obligation(self, capsys: Capture) -> None:
        """An obligation found by its old name tells states, rules, terms and what was right."""
        main(["show", "active-refusal-or-defer"])
        out = " ".join(capsys.readouterr().out.split())
        assert "X explicit_conflict_action" in out
        assert "also called: active_refusal_or_defer" in out
        assert "4 overdue conflict_action_not_reported: idle, owed, settled -> violated" in out
        assert "when e.here and e.kind in {request_finished} and " in out
        assert "expected instead: a refusal, a deferral or another explicit action" in out


class TestSearch:
    """python -m spec search"""

    def test_text(self, capsys: Capture) -> None:
        """Passages are printed within 80 columns, and the others are counted."""
        assert Code.OK == main(["search", "capacity", "proof", "--most", "2"])
        out = capsys.readouterr().out
        assert "five numbers that a refusal may state" in " ".join(out.split())
        assert "--most lists more of them" in out
        assert 80 >= max(map(len, out.splitlines()))

    def test_json(self, capsys: Capture) -> None:
        """The JSON has the same passages."""
        assert Code.OK == main(["search", "xyzzy", "--format", "json"])
        assert {"words": ["xyzzy"], "passages": [], "more": 0} == json.loads(
            capsys.readouterr().out
        )
        assert Code.OK == main(["search", "xyzzy"])
        assert "No passage has xyzzy.\n" == capsys.readouterr().out


class TestDiagram:
    """python -m spec diagram"""

    def test_stdout(self, capsys: Capture) -> None:
        """Without a file, Mermaid goes to standard output, or DOT where asked for."""
        assert Code.OK == main(["diagram", "lifecycle"])
        assert "stateDiagram-v2" in capsys.readouterr().out
        assert Code.OK == main(["diagram", "V", "--format", "dot"])
        assert capsys.readouterr().out.startswith("digraph {")

    @pytest.mark.parametrize(
        ("suffix", "start"),
        [("svg", b"<?xml"), ("png", b"\x89PNG"), ("dot", b"digraph"), ("mmd", b"---")],
    )
    def test_file(self, suffix: str, start: bytes, tmp_path: Path) -> None:
        """The suffix decides what is written, and missing folders are made."""
        path = tmp_path / "new" / "folder" / f"a.{suffix}"
        assert Code.OK == main(["diagram", "demotable", "-o", str(path)])
        assert path.read_bytes().startswith(start)


class TestDocs:
    """python -m spec docs, and schema"""

    def test_check(self, tmp_path: Path, capsys: Capture) -> None:
        """Stale pages are exit code 1 until they are written."""
        where = ["--dir", str(tmp_path)]
        assert Code.VIOLATED == main(["docs", "--check", *where])
        assert Code.OK == main(["docs", *where])
        assert Code.OK == main(["docs", "--check", *where])
        capsys.readouterr()
        assert Code.OK == main(["docs", "--check", *where, "--format", "json"])
        assert {"checked": True, "stale": []} == json.loads(capsys.readouterr().out)

    def test_schema(self, capsys: Capture) -> None:
        """The schema printed is the one in docs."""
        assert Code.OK == main(["schema"])
        page = Path(__file__).parents[2] / "docs" / "schema" / "event.json"
        assert json.loads(page.read_text()) == json.loads(capsys.readouterr().out)


class TestBadInput:
    """What a person can mistype."""

    @pytest.mark.parametrize(
        ("argv", "hint"),
        [
            (["show", "hard_protectd"], "did you mean hard_protected?"),
            (["show", "blocking-ids"], "did you mean blocking_claim_ids?"),
            (["show", "nope"], "python -m spec list"),
            (["show", "\x1b[31m"], "python -m spec list"),
            (["show", ""], "python -m spec list"),
            (["show"], "--help"),
            (["shw"], "show"),
            (["list", "--format", "jsn"], "json"),
            (["list", "--frmat"], "--format"),
            (["diagram", "lifecycel"], "did you mean lifecycle?"),
            (["diagram", "lifecycle", "-o", "a.pngg"], "did you mean png?"),
            (["diagram", "lifecycle", "-o", "/dev/null/a/b.svg"], "cannot write"),
            (["diagram", "lifecycle", "--format", "gif"], "svg"),
            (["docs", "--dir", "/dev/null/a"], "/dev/null/a"),
            (["docs", "--dir", "/dev/null/\x1b[31m\n"], "/dev/null/\\x1b[31m\\n"),
            (["diagram", "lifecycle", "-o", "/dev/null/\x1b/a.svg"], "/dev/null/\\x1b/a.svg"),
            (["\x1b[31m"], "\\x1b[31m"),
        ],
    )
    def test_one_line(self, argv: list[str], hint: str, capsys: Capture) -> None:
        """Bad input is exit code 2, nothing on standard output, and one line with a remedy."""
        assert Code.BAD_INPUT == main(argv)
        out, err = capsys.readouterr()
        assert ("", 1) == (out, err.count("\n"))
        assert err.startswith("error: ")
        assert hint in err
        assert "\x1b" not in err

    def test_nothing(self, capsys: Capture) -> None:
        """No command at all is exit code 2, with the help."""
        assert Code.BAD_INPUT == main([])
        assert "diagram" in "".join(capsys.readouterr())


class TestRun:
    """What the three command lines share."""

    def app(self, problem: BaseException) -> typer.Typer:
        """An application whose command `go` raises."""
        app = new_app("spec", "A test.")

        @app.command()
        def go() -> None:
            raise problem

        return app

    @pytest.mark.parametrize(
        ("problem", "code", "line"),
        [
            (SpecError("it is wrong", "do right"), 2, "error: it is wrong; do right\n"),
            (KeyError("x"), 70, f"KeyError: 'x'; set {DEBUG}=1 to see where\n"),
            (KeyboardInterrupt(), 130, "error: interrupted\n"),
            (BrokenPipeError(32, "no reader"), 141, ""),
            (typer.Exit(3), 3, ""),
        ],
    )
    def test_codes(self, problem: BaseException, code: int, line: str, capsys: Capture) -> None:
        """Every way to end has its exit code and at most one line, never a traceback."""
        assert code == run(self.app(problem), ["go"])
        err = capsys.readouterr().err
        assert err.endswith(line)
        assert "Traceback" not in err

    def test_interrupt_in_a_finalizer(self, capsys: Capture) -> None:
        """An interrupt that Python drops, since it comes while an object is freed, ends the command
        all the same, and prints no traceback."""

        class Deaf:
            def __del__(self) -> None:
                raise KeyboardInterrupt

        app = new_app("spec", "A test.")

        @app.command()
        def go() -> None:
            Deaf()
            time.sleep(10)

        started = time.monotonic()
        assert Code.INTERRUPTED == run(app, ["go"])
        assert 5 > time.monotonic() - started
        assert "Traceback" not in capsys.readouterr().err

    @pytest.mark.parametrize("words", [[], ["nothing"]])
    def test_error_that_nobody_takes(self, words: list[str]) -> None:
        """Where standard error takes nothing, the exit code still tells."""
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "spec", *words],
                stdout=subprocess.PIPE,
                stderr=full,
                check=False,
            )
        assert (Code.BAD_INPUT, b"") == (done.returncode, done.stdout)

    def test_bad_input(self, capsys: Capture) -> None:
        """A command line may name errors of its own that a person can put right."""
        app = self.app(ValueError("not text"))
        assert Code.BAD_INPUT == run(app, ["go"], bad_input=(ValueError,))
        assert "error: not text\n" == capsys.readouterr().err

    def test_debug(self, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
        """The traceback of an internal error is there for those who ask."""
        monkeypatch.setenv(DEBUG, "1")
        assert Code.INTERNAL == run(self.app(KeyError("x")), ["go"])
        assert "Traceback" in capsys.readouterr().err

    def test_version(self, capsys: Capture) -> None:
        """The version names the specification by the start of its digest, and the judge."""
        assert Code.OK == main(["--version"])
        expected = f"resident-claims 0.1.0 (spec {short_digest()}, {core()} judge)"
        assert expected == version_text() == capsys.readouterr().out.strip()

    def test_option(self, capsys: Capture) -> None:
        """Another command line takes the option of the format from here."""
        app = new_app("other", "A test.")

        @app.command()
        def go(form: FormatOption) -> None:
            print_json({"form": form})

        assert Code.OK == run(app, ["go", "--format", "json"])
        assert {"form": "json"} == json.loads(capsys.readouterr().out)

    def test_json_page(self) -> None:
        """What a terminal might obey is escaped, and read back as it was."""
        text = "é\x9b31m\x7f\u202e\U000e0001\n\x1b"
        page = json_page([text]).decode()
        assert page.replace("\n", "").isprintable()
        assert "é" in page
        assert [text] == json.loads(page)

    def test_pipe(self) -> None:
        """A reader that goes away early leaves no traceback, and no exit code of a verdict."""
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run(
            [sys.executable, "-m", "spec", "list", "--format", "json"],
            stdout=write,
            stderr=subprocess.PIPE,
            check=False,
        )
        os.close(write)
        assert (Code.BROKEN_PIPE, b"") == (done.returncode, done.stderr)


class TestResolve:
    """Names as people type them."""

    @pytest.mark.parametrize(
        "text", ["hard_protected", "Hard-Protected", " HARD_PROTECTED ", "hard protected"]
    )
    def test_spellings(self, text: str) -> None:
        """Case, dashes and blanks do not matter."""
        assert "hard_protected" == find_mode(text).mode

    @pytest.mark.parametrize(
        "text", ["x", "X", "active_refusal_or_defer", "Explicit-Conflict-Action"]
    )
    def test_others(self, text: str) -> None:
        """Codes and aliases are names too."""
        found = find(text)
        assert isinstance(found, Observer)
        assert "explicit_conflict_action" == found.name

    @pytest.mark.parametrize(
        ("text", "remedy"),
        [
            ("bete", "did you mean beta?"),
            ("qqqq", "use one of alpha, beta"),
            ("other-nam", "did you mean beta?"),
            ("a" * 5000, "use one of alpha, beta"),
        ],
    )
    def test_unknown(self, text: str, remedy: str) -> None:
        """A near miss is met with what was meant, by alias too, and a far one with a list."""
        with pytest.raises(UnknownName) as caught:
            resolve(text, ["alpha", "beta"], what="letter", aliases={"other_name": "beta"})
        assert remedy == caught.value.remedy
        assert caught.value.cause.startswith("there is no letter")
        assert 200 > len(str(caught.value))
