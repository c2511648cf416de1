"""Files that are judged at once give the report that one process gives."""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import Future
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import msgspec
import pytest

from monitor.check import jobs as module
from monitor.check.files import check
from monitor.check.jobs import _context
from monitor.input.errors import InputError
from monitor.input.reorder_window import Window
from monitor.report.options import IDS, limits_asked
from monitor.samples import sample
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.stream.breaks import Limits
from tests.streams.rotated import rotated
from tests.streams.traffic import Traffic, write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).parents[3]
OWN = (Mode.OFFLOADABLE, Mode.HARD_PROTECTED, Mode.ROUTED_REUSE)


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Files of several streams, modes and dialects; one is violated, and one is cut."""
    folder = tmp_path_factory.mktemp("jobs")
    long = [write(folder / f"{mode}.jsonl", Traffic(300, 5, (mode,))) for mode in OWN]
    cut = folder / "cut.jsonl"
    cut.write_bytes(long[0].read_bytes().replace(b'"sequence":77,', b'"sequence":78,'))
    names = ("hard_protected_victim", "allocator_refusal", "offloadable_restore")
    return [*map(str, (*long, cut)), *(str(sample(name)) for name in names)]


def reported(
    paths: Sequence[str],
    mode: Mode | None,
    jobs: int,
    *,
    stdin: bytes = b"",
    lenient: bool = False,
    window: Window | None = None,
    claim: str | None = None,
    strict: bool = False,
    limits: Limits | None = None,
) -> bytes | str:
    """The report as JSON, or the error."""
    try:
        report = check(
            paths,
            mode,
            Bundle.CONTRACT,
            stdin=io.BytesIO(stdin),
            lenient=lenient,
            window=window,
            claim=claim,
            strict=strict,
            limits=limits,
            jobs=jobs,
        )
    except InputError as error:
        return str(error)
    return msgspec.json.encode(report)


class Here:
    """Does the work of other processes in this one, on copies, as they would."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def submit(self, work: Callable[..., Any], *given: object) -> Future[Any]:
        """Work that is done."""
        done: Future[Any] = Future()
        try:
            done.set_result(_copied(work(*_copied(given))))
        except InputError as error:
            done.set_exception(_copied(error))
        return done

    def shutdown(self, **_: object) -> None:
        """There is nothing to end."""


def _copied(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def asked_of(chance: Random) -> dict[str, Any]:
    """What else is asked for, by chance; mostly nothing."""
    live, requests = (chance.choice([*[None] * 9, 2]) for _ in range(2))
    return {
        "lenient": chance.random() < 0.7,
        "strict": chance.random() < 0.2,
        "claim": "claim:1" if chance.random() < 0.1 else None,
        "window": Window(4) if chance.random() < 0.2 else None,
        "limits": limits_asked(live, requests, IDS),
    }


SETS = range(12)
"""The sets of files that are tried in `make test`; each takes up to a tenth of a second."""
MORE_SETS = range(12, 150)


class TestSame:
    @pytest.mark.parametrize("seeds", [SETS, pytest.param(MORE_SETS, marks=pytest.mark.slow)])
    def test_any_files(self, seeds: range, tmp_path: Path) -> None:
        """Any files are reported on as one process does, those of which streams go on in other
        files, that lack lines, or that are of other forms; and so are errors."""
        met: Counter[str] = Counter()
        for seed in seeds:
            chance = Random(seed)
            paths, mode = rotated(chance, tmp_path), chance.choice([None, None, *Mode])
            asked = asked_of(chance)
            one = reported(paths, mode, 1, **asked)
            with patch.object(module, "ProcessPoolExecutor", Here):
                assert reported(paths, mode, 2, **asked) == one, seed
            met["error" if isinstance(one, str) else msgspec.json.decode(one)["verdict"]] += 1
        assert {"error", "inconclusive", "violated"} <= met.keys()

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", [None, Mode.OFFLOADABLE])
    def test_reports(self, traces: list[str], mode: Mode | None) -> None:
        """Two processes report what one does, by one mode and each claim by its own."""
        assert reported(traces, mode, 1) == reported(traces, mode, 2)

    @pytest.mark.slow
    def test_all_modes(self, tmp_path: Path) -> None:
        """So do they where all modes are judged in one pass, and where one file does not allow
        that."""
        paths = [write(tmp_path / f"{n}.jsonl", Traffic(200 + n, 5, tuple(Mode))) for n in (0, 1)]
        mixed = [*map(str, paths)]
        assert reported(mixed, None, 1) == reported(mixed, None, 2)
        paths[1].write_bytes(paths[1].read_bytes().replace(b',"mode":"expiring"', b"", 1))
        assert reported(mixed, None, 1) == reported(mixed, None, 2)

    @pytest.mark.slow
    def test_what_is_asked_for(self, traces: list[str], tmp_path: Path) -> None:
        """One claim, a window, skipped lines and standard input are as in one process."""
        bad = tmp_path / "bad.jsonl"
        bad.write_bytes(b"{}\n" + sample("hard_protected_refusal").read_bytes() + b"7\n")
        some = [str(bad), "-", *traces[:3], traces[4]]
        content = sample("hard_protected_victim").read_bytes()
        one, two = (
            reported(
                some, None, jobs, stdin=content, lenient=True, window=Window(4), claim="claim:3"
            )
            for jobs in (1, 2)
        )
        assert one == two

    def test_the_first_error_is_reported(self, traces: list[str], tmp_path: Path) -> None:
        """Of two files with errors the first one is named, though claims come before its error."""
        first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
        lines = sample("hard_protected_refusal").read_bytes()
        first.write_bytes(lines + b"7\n")
        second.write_bytes(b"7\n")
        paths = [traces[0], str(first), str(second), "missing.jsonl"]
        errors = {reported(paths, None, jobs) for jobs in (1, 2)}
        assert {reported([str(first)], None, 1)} == errors

    @pytest.mark.slow
    def test_whole_command(self, traces: list[str]) -> None:
        """The command prints the same, and exits alike; its processes are copies."""
        command = [sys.executable, "-m", "monitor", "check", *traces[2:], "--verbose", "--jobs"]
        one, two = (
            subprocess.run([*command, jobs], capture_output=True, check=False, timeout=120)
            for jobs in ("1", "2")
        )
        assert (one.stdout, one.stderr, one.returncode) == (two.stdout, two.stderr, two.returncode)
        assert one.returncode == 1


class TestProcesses:
    def test_beside_threads(self) -> None:
        """Where other threads may hold locks, a process begins empty."""
        end = threading.Event()
        other = threading.Thread(target=end.wait)
        other.start()
        try:
            assert _context().get_start_method() == "spawn"
        finally:
            end.set()
            other.join()

    @pytest.mark.skipif(sys.platform != "linux", reason="threads are counted on Linux alone")
    def test_alone(self) -> None:
        """Where there are none, it is a copy, which has all modules."""
        code = "from monitor.check.jobs import _context; print(_context().get_start_method())"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
        )
        assert done.stdout.strip() == "fork"

    @pytest.mark.skipif(sys.platform != "linux", reason="what a process has open is limited")
    def test_too_few_files(self, traces: list[str]) -> None:
        """Where there are too few files for so many processes, that is the error, and it ends."""
        code = (
            "import resource, sys; from monitor.__main__ import main; "
            "resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]),) * 2); "
            "sys.exit(main(['check', '--jobs', '40', *sys.argv[2:]]))"
        )
        paths = [*traces, *(f"missing{number}" for number in range(40))]
        for most in ("12", "40"):
            done = subprocess.run(
                [sys.executable, "-c", code, most, *paths],
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            assert done.returncode == 2
            assert "40 processes cannot be made: Too many open files" in done.stderr

    @pytest.mark.slow
    @pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    def test_ended(self, number: signal.Signals, tmp_path: Path) -> None:
        """Where the command is ended alone, the processes that it made end soon."""
        line = b'{"kind":"request_arrived","stream":"s","request_id":"%d","needed":1,"usable":9}\n'
        for path in (tmp_path / "one", tmp_path / "two"):
            path.write_bytes(b"".join(line % n for n in range(1_000_000)))
        command = [sys.executable, "-m", "monitor", "check", "--jobs", "2", "one", "two"]
        paths = {**os.environ, "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(command, cwd=tmp_path, env=paths, stderr=subprocess.PIPE) as run:
            children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
            made: list[str] = []
            began = time.monotonic()
            while len(made) < 2 and time.monotonic() < began + 30:
                made = children.read_text().split()
                time.sleep(0.05)
            assert len(made) == 2
            run.send_signal(number)
            assert run.wait(10) != 0
        left, began = made, time.monotonic()
        while left and time.monotonic() < began + 10:
            left = [each for each in left if Path(f"/proc/{each}").exists()]
            time.sleep(0.05)
        assert [] == left
