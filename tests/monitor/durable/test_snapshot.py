"""`EventMonitor.snapshot` and `restore`: the whole monitor, or one stream of it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from monitor import EventMonitor, InputError, Report
from monitor.input.given import record_of
from spec.claims.states import Mode
from spec.events.canonical import Event
from spec.language.errors import SpecError, UnknownName
from tests.monitor.test_trace_writer import KEPT
from tests.streams.wide import told

EVICTED = {"kind": "block_evicted", "block_ids": [7]}

GOES_ON = """
import sys
from pathlib import Path
import msgspec
from monitor import EventMonitor
from spec import Event

folder = Path(sys.argv[1])
monitor = EventMonitor.restore((folder / "snapshot").read_bytes())
for line in (folder / "rest").read_bytes().splitlines():
    monitor.feed(msgspec.json.decode(line, type=Event))
sys.stdout.buffer.write(msgspec.json.encode(monitor.finish()))
"""


def events(seed: int, mode: Mode, stream: str = "") -> list[Event]:
    """A stream of a whole runtime under a name: what of it a reader takes."""
    found = []
    for line in told(Random(seed), mode):
        for event in line.events:
            named = msgspec.structs.replace(event, stream=stream, sequence=line.sequence)
            with contextlib.suppress(InputError):
                record_of(named, "events", line.at)
                found.append(named)
    return found


def found_of(report: Report) -> list[str]:
    """Each claim with its findings, but for the numbers of lines."""
    return sorted(
        f"{claim.claim_id} {name} {found.verdict} {found.why} {found.at and found.at.sequence}"
        for claim in report.claims
        for name, found in claim.obligations.items()
    )


def fed(monitor: EventMonitor, given: Sequence[Any]) -> EventMonitor:
    for event in given:
        monitor.feed(event)
    return monitor


class TestWhole:
    @pytest.mark.parametrize("mode", [*Mode, None])
    def test_report(self, mode: Mode | None) -> None:
        """Violations and report of the restored monitor are those of one that was not stopped."""
        stream = events(5, mode or Mode.HARD_PROTECTED)
        half = len(stream) // 2
        whole = fed(EventMonitor(mode, strict=True), stream[:half])
        parted = EventMonitor.restore(whole.snapshot())
        assert whole.violations() == parted.violations()
        fed(whole, stream[half:])
        fed(parted, stream[half:])

        assert whole.violations() == parted.violations()
        assert whole.finish() == parted.finish()

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(4))
    def test_another_process(self, seed: int, tmp_path: Path) -> None:
        """In a process that hashes texts otherwise the report is the same, too."""
        mode = list(Mode)[seed]
        stream = events(seed, mode)
        half = len(stream) // 2
        whole = fed(EventMonitor(mode), stream[:half])
        (tmp_path / "snapshot").write_bytes(whole.snapshot())
        (tmp_path / "rest").write_bytes(b"\n".join(map(msgspec.json.encode, stream[half:])))
        expected = msgspec.json.encode(fed(whole, stream[half:]).finish())

        found = subprocess.run(
            [sys.executable, "-c", GOES_ON, str(tmp_path)],
            env={**os.environ, "PYTHONHASHSEED": str(seed + 1)},
            capture_output=True,
            check=True,
        )
        assert expected == found.stdout

    def test_violation(self) -> None:
        """A violation that rests on events before the snapshot cites their lines."""
        whole = fed(EventMonitor("hard_protected"), [*KEPT[:5], EVICTED])
        (found,) = EventMonitor.restore(whole.snapshot()).violations()

        assert whole.violations() == [found]
        assert ("events", 6) == (found.at.file, found.at.line)

    def test_asked(self) -> None:
        """The claim that is asked for, and the name of the file, stay what they were."""
        whole = fed(EventMonitor("hard_protected", claim="b", name="x"), [*KEPT[:5], EVICTED])
        report = EventMonitor.restore(whole.snapshot()).finish()

        assert whole.finish() == report
        assert ("b", "x") == (report.claim, report.inputs[0].file)

    def test_refused_before(self) -> None:
        """What was refused before the snapshot keeps the verdict inconclusive after it."""
        whole = fed(EventMonitor("hard_protected"), KEPT[:5])
        with pytest.raises(InputError):
            whole.feed({"kind": "block_evicted", "block_id": 7})
        parted = fed(EventMonitor.restore(whole.snapshot()), KEPT[5:])
        report = fed(whole, KEPT[5:]).finish()

        assert report == parted.finish()
        assert ("inconclusive", 1) == (report.verdict, report.events.rejected)
        assert "events:6: block_id: no such field" in report.inputs[0].rejection

    def test_independent(self) -> None:
        """What happens to the one is not seen by the other."""
        whole = fed(EventMonitor("hard_protected"), KEPT[:5])
        fed(EventMonitor.restore(whole.snapshot()), [EVICTED])

        assert [] == whole.violations()

    def test_finished(self) -> None:
        """A stream that is over has no snapshot: nothing could go on."""
        monitor = EventMonitor("hard_protected")
        monitor.finish()

        with pytest.raises(SpecError, match="the stream is finished"):
            monitor.snapshot()


class TestOneStream:
    @pytest.mark.parametrize("mode", [Mode.HARD_PROTECTED, Mode.OFFLOADABLE, None])
    def test_claims(self, mode: Mode | None) -> None:
        """The claims of the stream come to what they come to in the whole; the others are gone."""
        of = mode or Mode.HARD_PROTECTED
        a, b = events(1, of, "a"), events(2, of, "b")
        whole = fed(EventMonitor(mode), [*a[:20], *b[:20]])
        alone = fed(EventMonitor.restore(whole.snapshot(stream="a")), a[20:])
        other = fed(EventMonitor.restore(whole.snapshot(stream="b")), b[20:])
        fed(whole, [*a[20:], *b[20:]])

        found = [found_of(each.finish()) for each in (alone, other)]
        assert all(found)
        assert found_of(whole.finish()) == sorted(found[0] + found[1])

    def test_shares_nothing(self) -> None:
        """The monitor that the snapshot was taken of keeps all its streams."""
        monitor = fed(EventMonitor("hard_protected"), KEPT[:5])
        before = monitor.snapshot()
        monitor.snapshot(stream="events")

        assert before == monitor.snapshot()

    @pytest.mark.parametrize(
        ("stream", "error"),
        [
            ("event", "there is no stream 'event'; did you mean events"),
            (5, "stream is of type int; give the name of a stream"),
        ],
    )
    def test_no_stream(self, stream: Any, error: str) -> None:
        """A stream of which no event was seen is a mistyped name."""
        monitor = fed(EventMonitor("hard_protected"), KEPT[:5])

        with pytest.raises(SpecError, match=error) as caught:
            monitor.snapshot(stream=stream)
        assert (stream == "event") is isinstance(caught.value, UnknownName)
