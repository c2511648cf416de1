"""The example of docs/fleet.md: traces that grow, in pieces, with a run for each hour."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

from monitor.follow.verdict_line import ViolationLine
from tests.monitor.follow.traces import trace
from tests.soak.compare import compared, due_of
from tests_fleet.runs import fleet, verdicts

ENGINES = ("e017.4242", "e018.977", "e019.31")
SCRIPTS = Path("docs/fleet")
COMMANDS = re.findall(r"^\$ (.*)$", Path("docs/fleet.md").read_text(), re.MULTILINE)


def script(name: str, *arguments: object) -> None:
    """Run a script of the example."""
    subprocess.run(["sh", str(SCRIPTS / name), *map(str, arguments)], check=True)


def command(start: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the one command of the page that begins so, in a fleet's folder in place of its own."""
    (line,) = (each for each in COMMANDS if each.startswith(start))
    line = line.replace("/srv/fleet", str(folder))
    line = line.replace("resident-claims", f"{sys.executable} -m monitor")
    within = f"cd {folder}/out/fleet && {line}" if "jsonl" in line else line
    return subprocess.run(["sh", "-c", within], capture_output=True, text=True, check=False)


def pieces(folder: Path) -> list[bytes]:
    """What the pieces of an engine hold, in their order."""
    found = sorted(folder.glob("p-*"), key=lambda path: int(path.name.split("-")[1]))
    return [path.read_bytes() for path in found]


class TestPieces:
    def test_no_line_twice_and_none_half(self, tmp_path: Path) -> None:
        """Pieces hold the whole lines of a trace, each once, also where a line was half written and
        where a call finds no new line.
        """
        traces, source = tmp_path / "traces", tmp_path / "source"
        traces.mkdir()
        text = b"".join(trace(8))
        cuts = [0, 10, 10, 900, len(text) // 2, len(text) - 1, len(text)]
        for begin, end in pairwise(cuts):
            with (traces / "e.jsonl").open("ab") as file:
                file.write(text[begin:end])
            script("pieces.sh", traces, source)
        found = pieces(source / "e")
        assert text == b"".join(found)
        assert 4 == len(found)
        assert all(piece.endswith(b"\n") for piece in found)

    def test_the_last_stays(self, tmp_path: Path) -> None:
        """Old pieces are moved but for the last one, from which the next begins."""
        folder = tmp_path / "source" / "e"
        folder.mkdir(parents=True)
        for name in ("p-0-9.jsonl", "p-9-10.jsonl", "p-10-200.jsonl"):
            (folder / name).touch()
            os.utime(folder / name, (1e9, 1e9))
        script("old.sh", tmp_path / "source", tmp_path / "archive", 60)
        assert ["p-10-200.jsonl"] == [path.name for path in folder.iterdir()]
        assert 2 == len([*(tmp_path / "archive" / "e").iterdir()])


def grow(traces: Path, whole: dict[str, bytes], thirds: range) -> None:
    """Append these thirds of each trace."""
    for name, text in whole.items():
        third = -(-len(text) // 3)
        with (traces / f"{name}.jsonl").open("ab") as file:
            file.write(text[third * thirds.start : third * thirds.stop])


def test_two_hours(tmp_path: Path) -> None:
    """Two runs over pieces, between which old ones are moved away, have the verdicts of `check` on
    the whole traces; the commands of the page show what is violated.
    """
    traces, source, archive = (tmp_path / each for each in ("traces", "source", "archive"))
    traces.mkdir()
    whole = {name: b"".join(trace(12 + at)) for at, name in enumerate(ENGINES)}
    for third in range(3):
        grow(traces, whole, range(third, third + 1))
        script("pieces.sh", traces, source)
        if third:
            done = fleet(source, tmp_path / "state", tmp_path / "out")
            assert 1 == done.code, done.wrong
            for path in source.glob("*/p-*"):
                os.utime(path, (time.time() - 7200,) * 2)
            script("old.sh", source, archive, 60)
    assert 2 * len(ENGINES) == len([*archive.glob("*/p-*")])
    found = verdicts(tmp_path / "out")
    for name in ENGINES:
        own = [line for line in found if line.source == f"{name}/"]
        due = due_of(traces / f"{name}.jsonl")
        assert compared(own, due, whole=True)["equal"] >= 12
    violated = sum(isinstance(line, ViolationLine) for line in found)
    assert [str(violated), '"what":"violation"'] == command("grep -ho", tmp_path).stdout.split()
    shown = command('grep -h \'"what"', tmp_path).stdout.splitlines()
    assert min(violated, 10) == len(shown)
    assert json.loads(shown[0])["source"].rstrip("/") in ENGINES
    unclear = command('grep -h \'"verdict"', tmp_path)
    assert not unclear.stderr
    checked = command("cat", tmp_path)
    assert 1 == checked.returncode, checked.stderr
    assert "violated" in checked.stdout
