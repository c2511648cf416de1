"""Standard streams that are closed, full, narrow or read by nobody, in processes of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TRACE = "monitor/samples/hard_protected_refusal.jsonl"
COMMANDS = {
    "list": "spec list",
    "help": "spec --help",
    "picture": "spec diagram lifecycle --format png",
    "verdict": f"monitor check {TRACE} --mode hard_protected",
    "proof": "proofs check best_effort",
    "story": f"proofs explain {TRACE} --mode hard_protected",
}
EACH = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)


def shell(command: str, ending: str) -> tuple[int, str, str]:
    """Exit code, output and errors of one of our modules, called with redirections."""
    line = f"exec {sys.executable} -m {command} {ending}"
    done = subprocess.run(["sh", "-c", line], cwd=ROOT, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", [COMMANDS[name] for name in ("list", "verdict", "proof")])
def test_closed_output(command: str) -> None:
    """With standard output closed nothing is done, and one line says so."""
    expected = (2, "", "error: standard output is closed; send it somewhere\n")
    assert expected == shell(command, ">&-")


@pytest.mark.slow
@EACH
def test_full_disk(command: str) -> None:
    """A page that could not be written is no success and no verdict."""
    code, _, said = shell(command, ">/dev/full")
    assert (2, "error: cannot write standard output: No space left on device\n") == (code, said)


@pytest.mark.parametrize("command", ["monitor check", "proofs explain"])
def test_closed_input(command: str) -> None:
    """Closed standard input is input that cannot be read."""
    expected = (2, "", "error: -: standard input is closed; name a file\n")
    assert expected == shell(f"{command} - --mode hard_protected", "<&-")


@pytest.mark.parametrize("ending", ["2>&-", "2>/dev/full", "<&- >&- 2>&-"])
def test_no_errors(ending: str) -> None:
    """Where nobody reads the errors the exit code still tells, and nothing goes elsewhere."""
    assert (2, "", "") == shell("spec show nonesuch", ending)


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["0", "20", "1000"])
@pytest.mark.parametrize("name", ["list", "help", "verdict", "proof"])
def test_piped_width(name: str, columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is piped has at most 80 columns, whatever COLUMNS says, and no blanks at line ends."""
    monkeypatch.setenv("COLUMNS", columns)
    _, out, said = shell(COMMANDS[name], "")
    lines = out.splitlines()
    assert "" == said
    assert 80 >= max(map(len, lines)) > 40
    assert [line.rstrip() for line in lines] == lines
