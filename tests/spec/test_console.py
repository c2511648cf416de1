"""Tests of spec.cli.console, the command `resident-claims`."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.__main__ import main as monitor
from monitor.native import core
from proofs.__main__ import main as proofs
from runtime_hooks.__main__ import main as runtime_hooks
from spec.__main__ import main as spec
from spec.cli.common import version_text
from spec.cli.console import COMMANDS, main
from tests.installation import ROOT, call, environment

Capture = pytest.CaptureFixture[str]
SAMPLES = ROOT / "monitor" / "samples"
KEPT, VIOLATED = (str(SAMPLES / f"hard_protected_{name}.jsonl") for name in ("refusal", "victim"))
MAINS = {"spec": spec, "monitor": monitor, "proofs": proofs, "runtime_hooks": runtime_hooks}
UNDECIDED = (str(SAMPLES / "offloadable_restore.jsonl"), "--mode", "offloadable", "--strict")
MODE = ("--mode", "hard_protected")


def complete(words: str, folder: Path) -> str:
    """What bash is offered after these words."""
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    env = {**environment(), **asked, "_RESIDENT_CLAIMS_COMPLETE": "complete_bash"}
    done = call("resident-claims", cwd=folder, env=env)
    assert (0, "") == (done.returncode, done.stderr)
    return done.stdout


class TestHelp:
    """resident-claims --help"""

    def test_declared(self) -> None:
        """The commands listed are these."""
        names = "check report follow watch fleet routes pressure repeat evidence samples explain "
        names += "prove recheck label counterexamples budget models simulate workload calibrate "
        names += "diagram spec mcp doctor claims demo"
        assert names.split() == list(COMMANDS)

    def test_overview(self, capsys: Capture) -> None:
        """Each command has a line, none is cut short, and an example ends it."""
        assert 0 == main(["--help"])
        out = capsys.readouterr().out
        for name, listed in COMMANDS.items():
            assert f"\n  {name:15}  {listed.says}\n" in out
        assert "Example: resident-claims check" in out

    @pytest.mark.parametrize("name", COMMANDS)
    def test_each(self, name: str, capsys: Capture) -> None:
        """Each command is called as it is here in its usage and its example."""
        inner = ["list"] if name in ("spec", "models", "claims") else []
        assert 0 == main([name, *inner, "--help"])
        out = capsys.readouterr().out
        called = " ".join(["resident-claims", name, *inner])
        assert out.startswith(f"Usage: {called} ")
        assert f"Example: {called}" in out
        assert "python -m" not in out
        assert ("--format" in out) is (name != "mcp")  # a client asks for JSON alone

    def test_light(self, tmp_path: Path) -> None:
        """The list of commands imports no other package, no solver and nothing that draws."""
        code = (
            "import sys; from spec.cli.console import main; main(['--help']); print(*sys.modules)"
        )
        loaded = set(call("-c", code, cwd=tmp_path).stdout.splitlines()[-1].split())
        assert "spec.cli.console" in loaded
        others = {"monitor", "models", "proofs", "runtime_hooks", "z3", "graphviz"}
        assert set() == others & loaded

    @pytest.mark.parametrize(
        ("words", "without"),
        [
            (
                ["check", VIOLATED],
                "pydantic rich transitions yaml multiprocessing importlib.metadata models proofs",
            ),
            (["prove", "--help"], "pydantic rich proofs.check proofs.model spec.contract.modes"),
        ],
        ids=lambda words: words[0],
    )
    def test_only_what_is_used(self, words: list[str], without: str, tmp_path: Path) -> None:
        """A command imports nothing that is slow to import and that it does not use."""
        code = "import sys; from spec.cli.console import main; main(sys.argv[1:])"
        code += "; print(*sys.modules)"
        loaded = set(call("-c", code, *words, cwd=tmp_path).stdout.splitlines()[-1].split())
        assert "spec.cli.console" in loaded
        assert set() == loaded & set(without.split())

    @pytest.mark.skipif(core() != "native", reason="the native core is not built")
    def test_native(self, tmp_path: Path) -> None:
        """Where the native core reads every line, no reader and no judge in Python is imported."""
        code = "import sys; from spec.cli.console import main; main(sys.argv[1:])"
        code += "; print(*sys.modules)"
        loaded = set(call("-c", code, "check", VIOLATED, cwd=tmp_path).stdout.split())
        assert "monitor.native.judge" in loaded
        others = "monitor.core monitor.input.dialects monitor.input.plain spec.stream.judge"
        assert set() == loaded & {*others.split(), "spec.stream.claim", "spec.stream.generate"}

    def test_version(self, capsys: Capture) -> None:
        """The version is that of every package."""
        assert 0 == main(["--version"])
        assert version_text() == capsys.readouterr().out.strip()


class TestRun:
    """What a command prints and exits with."""

    @pytest.mark.parametrize(
        ("code", "ours", "theirs"),
        [
            (0, ("check", KEPT, *MODE), ("monitor", "check", KEPT, *MODE)),
            (1, ("check", VIOLATED, *MODE), ("monitor", "check", VIOLATED, *MODE)),
            (2, ("check", "none.jsonl", *MODE), ("monitor", "check", "none.jsonl", *MODE)),
            (3, ("check", *UNDECIDED), ("monitor", "check", *UNDECIDED)),
            (0, ("evidence", KEPT, *MODE), ("monitor", "evidence", KEPT, *MODE)),
            (2, ("follow", "none.sock"), ("monitor", "follow", "none.sock")),
            (1, ("explain", VIOLATED, *MODE), ("proofs", "explain", VIOLATED, *MODE)),
            (0, ("label", "continuum"), ("proofs", "lower", "continuum")),
            (2, ("prove", "no_mode"), ("proofs", "check", "no_mode")),
            (2, ("recheck", "none"), ("proofs", "recheck", "none")),
            (0, ("diagram", "expiring"), ("spec", "diagram", "expiring")),
            (0, ("spec", "show", "V"), ("spec", "show", "V")),
            (2, ("doctor",), ("runtime_hooks", "doctor")),
        ],
        ids=str,
    )
    def test_same(
        self, code: int, ours: tuple[str, ...], theirs: tuple[str, ...], capsys: Capture
    ) -> None:
        """It prints what `python -m` of the package prints, and exits as that does; hints name
        commands as they are called here."""
        assert code == main([*ours])
        printed = capsys.readouterr()
        package, *words = theirs
        assert code == MAINS[package](words)
        out, err = capsys.readouterr()
        err = err.replace("python -m proofs check", "resident-claims prove")
        assert (out, err) == printed

    @pytest.mark.parametrize(
        ("ours", "package", "theirs", "called"),
        [
            ("prove", "proofs", "check", "check hard_protected"),
            ("recheck none", "proofs", "recheck none", "check --all --certificate DIR"),
            ("label", "proofs", "lower", "lower vllm_plugin"),
            ("spec show zz", "spec", "show zz", "list shows the names"),
            ("spec docs --check --dir none", "spec", "docs --check --dir none", "docs to write"),
            (
                f"label continuum --against {ROOT / 'README.md'}",
                "proofs",
                f"lower continuum --against {ROOT / 'README.md'}",
                "lower --format json",
            ),
        ],
        ids=lambda text: text.partition(" ")[0],
    )
    def test_hints(
        self, ours: str, package: str, theirs: str, called: str, capsys: Capture
    ) -> None:
        """A hint names a command in the form in which the program was called."""
        there = {"check": "prove", "lower": "label", "list": "spec list", "docs": "spec docs"}
        word, _, rest = called.partition(" ")
        assert MAINS[package](theirs.split()) == main(ours.split())
        first, second = capsys.readouterr().err.splitlines()
        assert f"python -m {package} {called}" in first
        assert f"resident-claims {there[word]} {rest}" in second
        assert "python -m" not in second
        MAINS[package](theirs.split())
        assert f"{first}\n" == capsys.readouterr().err  # the program has left nothing behind

    def test_program(self, tmp_path: Path) -> None:
        """The program itself proves a mode, and says so in the JSON of `proofs check`."""
        done = call("resident-claims", "prove", "best_effort", "--format", "json", cwd=tmp_path)
        assert 0 == done.returncode, done.stderr
        assert '"schema": "resident-claims/proof/' in done.stdout

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["chek"], "Did you mean 'check'"),
            (["check", "--frmt"], "See resident-claims check --help"),
            (["spec", "shw"], "'show'"),
            (["-q"], "See resident-claims --help"),
        ],
    )
    def test_mistyped(self, words: list[str], said: str, capsys: Capture) -> None:
        """What a person mistypes is one line, exit 2."""
        assert 2 == main(words)
        out, err = capsys.readouterr()
        assert ("", 1) == (out, err.count("\n"))
        assert said in err

    def test_nothing(self, capsys: Capture) -> None:
        """No command at all is exit 2, with the help."""
        assert 2 == main([])
        assert "recheck" in "".join(capsys.readouterr())


class TestCompletion:
    """What the shell is offered."""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("words", "offered"),
        [
            ("resident-claims ex", ["explain"]),
            ("resident-claims d", ["diagram", "doctor", "demo"]),
            ("resident-claims check --mo", ["--mode"]),
            ("resident-claims spec sh", ["show"]),
            ("resident-claims label --req", ["--require-evidence"]),
        ],
    )
    def test_bash(self, words: str, offered: list[str], tmp_path: Path) -> None:
        """Commands, those within them, and options."""
        assert offered == complete(words, tmp_path).split()
