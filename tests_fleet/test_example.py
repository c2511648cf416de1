"""The example of docs/fleet.md: traces that grow, in pieces, with a run for each hour."""

from __future__ import annotations

import os
import subprocess
import time
from itertools import pairwise
from pathlib import Path

from tests.monitor.follow.traces import trace
from tests.soak.compare import compared, due_of
from tests_fleet.runs import fleet, verdicts

ENGINES = 3
SCRIPTS = Path("docs/fleet")


def script(name: str, *arguments: object) -> None:
    """Run a script of the example."""
    subprocess.run(["sh", str(SCRIPTS / name), *map(str, arguments)], check=True)


def pieces(folder: Path) -> list[bytes]:
    """What the pieces of an engine hold, in their order."""
    found = sorted(folder.glob("p-*"), key=lambda path: int(path.name.split("-")[1]))
    return [path.read_bytes() for path in found]


class TestPieces:
    def test_no_line_twice_and_none_half(self, tmp_path: Path) -> None:
        """Pieces hold the whole lines of a trace, each once, also where a line was half written and
        where a call had nothing to do.
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


def test_two_hours(tmp_path: Path) -> None:
    """Two runs over pieces, between which old ones are moved away, have the verdicts of `check` on
    the whole traces.
    """
    traces, source = tmp_path / "traces", tmp_path / "source"
    traces.mkdir()
    whole = [b"".join(trace(12 + number)) for number in range(ENGINES)]
    for half in range(2):
        for number, text in enumerate(whole):
            middle = len(text) // 2
            with (traces / f"engine-{number}.jsonl").open("ab") as file:
                file.write(text[middle:] if half else text[:middle])
        script("pieces.sh", traces, source)
        done = fleet(source, tmp_path / "state", tmp_path / "out")
        assert 1 == done.code, done.wrong
        for path in source.glob("*/p-*"):
            os.utime(path, (time.time() - 7200,) * 2)
        script("old.sh", source, tmp_path / "archive", 60)
    found = verdicts(tmp_path / "out")
    for number in range(ENGINES):
        own = [line for line in found if line.source == f"engine-{number}/"]
        due = due_of(traces / f"engine-{number}.jsonl")
        assert compared(own, due, whole=True)["equal"] >= 12
