"""Collects the streams that tests make in Python, and writes them to `streams.jsonl.gz`.

`python -m tests.golden.streams` runs tests of the monitor and of the projection, notes every stream
that they judge, and adds a sample of each family of `tests.projection_cases`.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec
import pytest

import monitor.check.files
import spec.projection.outcome
from monitor.input.dialects import Reader
from monitor.input.errors import InputError
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.events.canonical import EVENT_ENCODER, Event
from spec.events.fields import IDENTITY, fields_of
from spec.projection.lines import Line
from tests.golden.traces import STREAMS, of_files

_OF_A_FAMILY: Final = 70
_OF_A_TEST: Final = 12
_LONGEST: Final = 12_000  # bytes of a stream
_TESTS: Final = ("tests/monitor", "tests/spec/projection", "tests/test_docs_trace.py")
_LEFT_OUT: Final = (
    *("tests/monitor/follow", "tests/monitor/live", "tests/monitor/durable"),
    *("tests/monitor/report", "tests/monitor/test_hostile.py", "tests/monitor/test_sweep.py"),
    *("tests/monitor/test_adversary.py", "tests/spec/projection/test_adversary.py"),
)


def written(lines: Iterable[Line]) -> bytes:
    """A stream as a file in the canonical form, without what that form has no words for."""
    return b"".join(text for line in lines for text in _texts(line) if _is_read(text))


def _texts(line: Line) -> Iterator[bytes]:
    stamp = {"sequence": line.sequence, "time_ns": line.time_ns}
    if line.mark is not None:
        observes = None if line.observes is None else sorted(line.observes)
        said = {"kind": line.mark, **stamp, "observes": observes}
        yield json.dumps({n: v for n, v in said.items() if v is not None}).encode() + b"\n"
    for event in line.events:
        allowed = (*fields_of(event.kind), *IDENTITY, "kind", "claim_id")
        plain = {f.name: f.default for f in msgspec.structs.fields(Event) if f.name not in allowed}
        yield EVENT_ENCODER.encode(msgspec.structs.replace(event, **{**plain, **stamp})) + b"\n"


def _is_read(line: bytes) -> bool:
    try:
        Reader("-").feed(line, 1)
    except InputError:
        return False
    return True


class Recorder:
    """Notes the streams that tests judge, as a plugin of pytest; no stream that lies in a file."""

    def __init__(self) -> None:
        self.found: dict[tuple[str | None, bytes], str] = {}
        self._in_files = {case.lines for case in of_files()}
        self._test, self._of_test = "", Counter[str]()

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """The test that runs next."""
        path = item.nodeid.split("::", 1)
        self._test = f"{Path(path[0]).stem}::{path[1]}".replace("/", "|").replace(" ", "_")

    def note(self, lines: bytes, mode: Mode | None) -> None:
        """A stream, unless it was noted before."""
        name, key = self._test.split("[")[0], (mode and str(mode), lines)
        known = key in self.found or lines in self._in_files
        if known or not 0 < len(lines) <= _LONGEST or self._of_test[name] >= _OF_A_TEST:
            return
        self._of_test[name] += 1
        self.found[key] = f"tests/{self._test}.{self._of_test[name]}"

    def of_check(self, check: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, noting what is judged with no option but a mode."""

        def noting(paths: Sequence[str], mode: Mode | None, bundle: Bundle, **more: Any) -> Any:
            stdin = more.get("stdin")
            plain = not any(more.get(name) for name in ("claim", "strict", "lenient", "window"))
            if plain and more.get("limits") is None and bundle is Bundle.CONTRACT:
                if list(paths) == ["-"] and isinstance(stdin, BytesIO):
                    self.note(stdin.getvalue(), mode)
                elif len(paths) == 1 and Path(paths[0]).is_file():
                    self.note(Path(paths[0]).read_bytes()[: _LONGEST + 1], mode)
            return check(paths, mode, bundle, **more)

        return noting

    def of_judge(self, judge: Callable[..., Any]) -> Callable[..., Any]:
        """The same function of lines."""

        def noting(lines: Iterable[Line], mode: Mode, *more: Any, **named: Any) -> Any:
            lines = list(lines)
            self.note(written(lines), mode)
            return judge(lines, mode, *more, **named)

        return noting


def streams() -> Iterator[tuple[str, str | None, str]]:
    """Name, mode and text of each stream."""
    recorder = Recorder()
    monitor.check.files.check = recorder.of_check(monitor.check.files.check)
    spec.projection.outcome.judge = recorder.of_judge(spec.projection.outcome.judge)
    options = ["-q", "-p", "no:randomly", "-p", "no:cacheprovider", "-m", "not slow and not deep"]
    ignored = [f"--ignore={name}" for name in _LEFT_OUT]
    pytest.main([*options, *ignored, *_TESTS], plugins=[recorder])
    from tests.projection_cases import FAMILIES

    for family, members in FAMILIES.items():
        for each in Random(family).sample(members, min(len(members), _OF_A_FAMILY)):
            key = str(each.mode), written(each.lines)
            recorder.found.setdefault(key, f"{family}/{each.name}")
    for (mode, lines), name in recorder.found.items():
        try:
            yield name, mode, lines.decode()
        except UnicodeDecodeError:
            continue


if __name__ == "__main__":
    lines = [json.dumps(each) for each in streams()]
    STREAMS.write_bytes(gzip.compress("\n".join(lines).encode() + b"\n", mtime=0))
    sys.stdout.write(f"{len(lines)} streams\n")
