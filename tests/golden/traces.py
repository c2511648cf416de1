"""Enumerates the traces that have a verdict: files of the repository, and streams of the tests."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from spec.claims.states import Mode
from tests.monitor.test_hostile import DUE
from tests.recordings import ON_GPU, RECORDED

STREAMS: Final = Path(__file__).with_name("streams.jsonl.gz")
"""Streams that tests of the projection and of the monitor make in Python; what collected them was
removed with it (`git log -- tests/golden/streams.py`), for it needs the judge that it was made for.
"""

_ROOT: Final = Path(__file__).parents[2]
_PAIRS: Final = _ROOT / "tests" / "obligations" / "traces"
_SUITE: Final = _ROOT / "models" / "counterexamples" / "recorded"
_SHARED: Final = _ROOT.parent / "shared" / "traces"

_EXITS: Final = {"kept": "0", "violated": "1", "inconclusive": "3"}
_EDGES: Final = {
    "acceptance_rewrites_the_mode": ("hard_protected", "3"),
    "proof_after_a_release": ("hard_protected", "0"),
    "refused_before_the_restore": ("offloadable", ""),
    "released_before_the_restore": ("offloadable", ""),
    "silent_clock": ("expiring", "1"),
}
"""Of the other edges, which are `hard_protected`, no verdict of the whole trace is stated."""


class Case(NamedTuple):
    """A trace, the mode that judges it, and the exits that the repository states, if any.

    Where the mode is None each claim is judged by the mode that it states.
    """

    name: str
    lines: bytes
    mode: Mode | None = None
    exits: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        """The name and the mode."""
        return f"{self.name} {self.mode or 'auto'}"


def cases() -> Iterator[Case]:
    """All cases; those of folders that are absent are left out."""
    yield from of_files()
    with gzip.open(STREAMS, "rt", encoding="utf-8") as streams:
        for line in streams:
            name, mode, text = json.loads(line)
            yield Case(name, text.encode(), mode and Mode(mode))


def of_files() -> Iterator[Case]:
    """The cases that lie in files of their own, here and in the folder beside the repository."""
    page = (_ROOT / "docs" / "writing-a-trace.md").read_text(encoding="utf-8")
    trace = re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0].encode()
    yield from (Case("docs/writing-a-trace", trace, m, (0,)) for m in (Mode.HARD_PROTECTED, None))
    for path in _in(_ROOT / "monitor" / "samples"):
        mode = "offloadable" if path.stem.startswith("offloadable") else "hard_protected"
        yield from _of("samples", path, mode, "1" if "victim" in path.stem else "0")
    for row in json.loads((_SUITE / "index.json").read_text(encoding="utf-8"))["rows"]:
        if row["trace"]:
            yield from _of("suite", _SUITE / row["trace"], row["mode"], _EXITS[row["verdict"]])
    for path in _in(_ROOT / "tests" / "monitor" / "hostile"):
        yield from _of("hostile", path, *map(str, DUE[path.stem]))
    for path in _in(_PAIRS):
        name, *dialect, ending = path.stem.split(".")
        (mode,) = _row(path, rf"\| {name} \| {[*dialect, 'canonical'][0]} \| (\w+) \|")
        yield from _of("pairs", path, mode, "0" if ending == "kept" else "1")
    for path in _in(_PAIRS / "edges"):
        yield from _of("edges", path, *_EDGES.get(path.stem, ("hard_protected", "")))
    for each in RECORDED + ON_GPU:
        yield from _of("recordings", each.path, each.mode, _EXITS[each.verdict])
    recordings = _ROOT / "tests" / "recordings"
    for folder in (recordings / "observed", recordings / "random", _ROOT / "tests/toys/traces"):
        for path in _in(folder):
            yield from _of("/".join(folder.parts[-2:]), path)
    for path in _in(_SHARED):
        yield from _of("shared", path, "offloadable")
    for path in _in(_SHARED / "reference"):
        yield from _of("reference", path, "offloadable", "0")
    for path in _in(_SHARED / "public"):
        yield from _of("public", path, "", *_row(path, rf"\| {path.name} \|[^|]*\| ([^|]+) \|"))
    for path in _in(_SHARED / "adversary"):
        name = re.split(r"[_.]", path.name)[0]
        row = rf"\|[^|]*\b{name}\b[^|]*\| (\w+) \| ([^|(]+)"
        yield from _of("adversary", path, *_row(path, row))


def _in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsonl"))


def _row(path: Path, row: str) -> tuple[str, ...]:
    """The groups of a row in the table beside a file."""
    found = re.search(f"^{row}", (path.parent / "README.md").read_text(encoding="utf-8"), re.M)
    assert found is not None, path
    return found.groups()


def _of(family: str, path: Path, mode: str = "", exits: str = "") -> Iterator[Case]:
    """The trace by a mode, if one is given, with the digits of its exits; and by its own modes."""
    name, lines = f"{family}/{path.stem}", path.read_bytes()
    allowed = tuple(map(int, re.findall(r"\d", exits)))
    if mode:
        yield Case(name, lines, Mode(mode), allowed)
    yield Case(name, lines, None, () if mode else allowed)
