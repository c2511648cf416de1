"""Files that are judged at once give the report that one process gives."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import msgspec
import pytest

from monitor.check.files import check
from monitor.check.judging import Judging
from monitor.check.running import run, source_of
from monitor.check.snapshots import State, restored, snapshot
from monitor.check.whole import Asked
from monitor.input.errors import InputError
from monitor.input.reorder_window import Window
from monitor.samples import sample
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from tests.streams.traffic import Traffic, write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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
            jobs=jobs,
        )
    except InputError as error:
        return str(error)
    return msgspec.json.encode(report)


class TestSame:
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

    def test_joined(self, tmp_path: Path) -> None:
        """What was found in one pass of each of two files is found in one pass of both."""
        paths = [
            str(write(tmp_path / f"{n}.jsonl", Traffic(200 + n, 5, tuple(Mode)))) for n in (0, 1)
        ]
        asked, judged = Asked(Bundle.CONTRACT, False, None), []
        for path in paths:
            judging = Judging(asked, set(Mode), own=True, shared=True)
            source = source_of(judging, [path], False, None, None)
            assert run(judging, source, None) is None
            assert not judging.apart
            state = restored(snapshot(State(judging, source.accounts[0])))
            judged.append((state.judging, state.account))
        (first, one), (second, other) = judged
        first.join(second)
        assert msgspec.json.encode(first.report([one, other])) == reported(paths, None, 1)

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
