"""Lines of events are taken out of logs: prefixes are removed, other lines are skipped."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.__main__ import app
from monitor.check.files import check
from monitor.follow.judge import Judge
from monitor.follow.verdict_line import Counts
from monitor.input.errors import InputError
from monitor.input.lines import LINE_LIMIT, Lines
from monitor.input.logs import Extraction, LogLines
from monitor.report.verdict import Report
from spec.cli.common import run
from spec.contract.modes import Bundle
from spec.stream.outcome import ModeVerdict
from tests.monitor.input.kv_lines import breaks, captured, message, stored

SAMPLE: Final = Path(__file__).parents[3] / "monitor" / "samples" / "hard_protected_refusal.jsonl"
EVENTS: Final = SAMPLE.read_bytes().splitlines()
STRIP: Final = Extraction(strip=True)
SKIP: Final = Extraction(skip=True)
BOTH: Final = Extraction(strip=True, skip=True)
TIME: Final = b"2026-11-28T12:00:00.000000001Z "


def journald(line: bytes) -> bytes:
    return b"Nov  8 12:00:00 host vllm[17]: " + line


def docker(line: bytes, end: str = "\n") -> bytes:
    entry = {"log": line.decode() + end, "stream": "stdout", "time": "2026-11-28T12:00:00.5Z"}
    return json.dumps(entry).encode()


def cri(line: bytes, stream: bytes = b"stdout", tag: bytes = b"F") -> bytes:
    return TIME + stream + b" " + tag + b" " + line


WRITERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "journald": journald,
    "journald without a number": lambda line: b"Nov 28 12:00:00.123456 host kernel: " + line,
    "docker": docker,
    "CRI": cri,
    "kubectl": lambda line: TIME + line,
    "an offset": lambda line: b"2026-11-28T12:00:00+01:00 stderr F " + line,
    "none": lambda line: line,
}
NOISE: Final = b"INFO 11-28 12:00:00 [api_server.py:1] started"


def checked(path: Path, lines: Sequence[bytes], how: Extraction, **options: bool) -> Report:
    """The report on a file with these lines."""
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return check([str(path)], None, Bundle.CONTRACT, how=how, **options)


def followed(lines: Sequence[bytes], how: Extraction) -> tuple[Report, Counts, list[str]]:
    """The same of lines that come one by one, with the errors."""
    counts, errors = Counts(), list[str]()
    judge = Judge("s", None, counts, how=how, on_reject=lambda error: errors.append(str(error)))
    for line in lines:
        judge.take(line)
    return judge.finish()[1], counts, errors


class TestStrip:
    @pytest.mark.parametrize("writer", WRITERS)
    def test_verdict(self, tmp_path: Path, writer: str) -> None:
        """The rest of a line is read as the line, by `check` and by `follow`."""
        lines = [WRITERS[writer](line) for line in EVENTS]
        plain = checked(tmp_path / "plain", EVENTS, STRIP)

        report = checked(tmp_path / "log", lines, STRIP)

        assert (ModeVerdict.KEPT, plain.events) == (report.verdict, report.events)
        assert (len(EVENTS), 0) == (report.inputs[0].lines, report.events.rejected)
        assert ModeVerdict.KEPT is followed(lines, STRIP)[0].verdict

    def test_not_asked(self, tmp_path: Path) -> None:
        """Without the option such lines are refused, and the error names it."""
        for writer in (journald, docker, cri):
            with pytest.raises(InputError, match=r":1: .*; --strip reads what"):
                checked(tmp_path / "log", [writer(EVENTS[0])], Extraction())

    @pytest.mark.parametrize("writer", ["docker", "CRI"])
    def test_pieces(self, tmp_path: Path, writer: str) -> None:
        """A long line that was cut into pieces is put together; other streams may come between."""
        lines: list[bytes] = []
        for line in EVENTS:
            first, second, last = line[:9], line[9:20], line[20:]
            if writer == "CRI":
                lines += [cri(first, tag=b"P"), cri(second, tag=b"P")]
                lines += [cri(b"", b"stderr"), cri(last)]
            else:
                lines += [docker(first, ""), docker(second, ""), docker(last)]

        assert ModeVerdict.KEPT is checked(tmp_path / "log", lines, STRIP).verdict
        assert ModeVerdict.KEPT is followed(lines, STRIP)[0].verdict

    def test_no_last_piece(self, tmp_path: Path) -> None:
        """A line whose last piece is missing at the end cannot be read."""
        lines = [*map(cri, EVENTS), cri(EVENTS[0][:9], tag=b"P")]

        with pytest.raises(InputError, match="not JSON: it ends too early"):
            checked(tmp_path / "log", lines, STRIP)
        report = checked(tmp_path / "log", lines, STRIP, lenient=True)
        assert (ModeVerdict.INCONCLUSIVE, 1) == (report.verdict, report.events.rejected)
        report, counts, _ = followed(lines, STRIP)
        assert (ModeVerdict.INCONCLUSIVE, 1) == (report.verdict, counts.rejected["s"])

    @pytest.mark.parametrize("end", [b"", b"\n"])
    def test_what_is_left_is_a_line_of_its_own(self, tmp_path: Path, end: bytes) -> None:
        """It has the number after the last line, whether that has an end or not."""
        path = tmp_path / "log"
        path.write_bytes(b"\n".join([cri(b"{", tag=b"P"), cri(EVENTS[0], stream=b"stderr")]) + end)

        assert [(2, EVENTS[0]), (3, b"{")] == [*Lines(str(path), how=STRIP)]

    def test_numbers_do_not_depend_on_how_bytes_come(self) -> None:
        """A pipe may give a byte at a time, blanks among them."""

        class Slow(io.BytesIO):
            def read1(self, size: int | None = -1) -> bytes:
                return super().read1(1)

        content = b"  \n \n" + cri(EVENTS[0])
        assert [(3, EVENTS[0])] == [*Lines("-", stdin=Slow(content), how=STRIP)]

    def test_too_long(self, tmp_path: Path) -> None:
        """Pieces make no line that is longer than a line may be."""
        piece = cri(b"x" * (LINE_LIMIT // 2), tag=b"P")
        path = tmp_path / "log"
        path.write_bytes(b"\n".join([cri(EVENTS[0]), piece, piece, piece, cri(EVENTS[1])]))

        found = [*Lines(str(path), how=STRIP)]

        assert [1, 4, 5] == [number for number, _ in found]
        assert [bytes, InputError, bytes] == [type(content) for _, content in found]

    @pytest.mark.parametrize(
        "line",
        [
            b'{"log": 3, "stream": "stdout", "time": "now"}',
            b'{"log": "a", "stream": "other", "time": "now"}',
            b'{"log": "a\\nb\\n", "stream": "stdout", "time": "now"}',
            b'{"log": "cut',
            b"Nov 28 12:00:00 host",
            b"2026-11-28 12:00:00 x",
        ],
    )
    def test_others(self, line: bytes) -> None:
        """Lines that only look like it stay as they are."""
        assert line == LogLines(STRIP, LINE_LIMIT).take(line)

    @given(st.lists(st.binary(max_size=40) | st.sampled_from([TIME + b"stdout P a", TIME])))
    def test_any(self, lines: list[bytes]) -> None:
        """Any lines are taken, and are no longer than before."""
        log = LogLines(BOTH, 50)
        size = sum(len(log.take(line) or b"") for line in lines) + len(log.flush())
        assert size <= sum(map(len, lines))


class TestOthers:
    @pytest.mark.parametrize("writer", WRITERS)
    def test_skipped(self, tmp_path: Path, writer: str) -> None:
        """Lines of other programs are skipped and counted."""
        lines = [WRITERS[writer](line) for event in EVENTS for line in (NOISE, b"[x] {", event)]
        says = f"{2 * len(EVENTS)} lines of other programs skipped"

        report = checked(tmp_path / "log", lines, BOTH)

        assert (ModeVerdict.KEPT, says) == (report.verdict, report.inputs[0].form)
        assert len(EVENTS) == report.events.read
        report, counts, errors = followed(lines, BOTH)
        assert (ModeVerdict.KEPT, says, []) == (report.verdict, report.inputs[0].form, errors)
        assert not counts.rejected

    @pytest.mark.parametrize("line", [b'{"level": "info"}', b'{"kind": "bl', b'  {"a": 1}'])
    def test_object(self, tmp_path: Path, line: bytes) -> None:
        """A line that begins with an object may have been an event: it is a break."""
        lines = [*EVENTS[:-1], line, EVENTS[-1]]

        report = checked(tmp_path / "log", lines, SKIP)

        assert [f"line {len(EVENTS)} could not be read"] == breaks(report)
        assert (ModeVerdict.INCONCLUSIVE, 1) == (report.verdict, report.events.rejected)
        report, counts, errors = followed(lines, SKIP)
        assert (ModeVerdict.INCONCLUSIVE, 1, 1) == (
            report.verdict,
            counts.rejected["s"],
            len(errors),
        )

    @pytest.mark.parametrize("prefix", [b"INFO ", b"\x1b[32m", b"[1, ", b"Loading 50%"])
    @pytest.mark.parametrize("place", [1, 2])
    def test_prefixed(self, tmp_path: Path, prefix: bytes, place: int) -> None:
        """An object after anything else in a line may have been an event, also at the end, where no
        number shows it.
        """
        lines = [captured(message(n, stored(n))) for n in range(3)]
        lines[place] = prefix + lines[place]

        report = checked(tmp_path / "log", lines, SKIP)

        assert [f"line {place + 1} could not be read"] == breaks(report)

    @pytest.mark.parametrize(
        "line",
        [
            b'{"kind": "request_finished", "request_id": "r"}',
            b'{"decoded": [1.5, [{"type": "BlockStored", "block_hashes": ["a"]}]]}',
        ],
    )
    @pytest.mark.parametrize("lenient", [False, True])
    def test_unnumbered(self, tmp_path: Path, line: bytes, lenient: bool) -> None:
        """Where a stream has no numbers a skipped event is not missed, so that is refused."""
        with pytest.raises(InputError, match="no sequence numbers") as caught:
            checked(tmp_path / "log", [NOISE, line], SKIP, lenient=lenient)
        assert (2, True) == (caught.value.line, "--others skip" in caught.value.hint)
        _, counts, errors = followed([NOISE, line], SKIP)
        assert (1, True) == (counts.rejected["s"], "no sequence numbers" in errors[0])

    def test_number_left_out(self, tmp_path: Path) -> None:
        """So is one line without a number in a stream that has them."""
        lines = [EVENTS[0], b'{"kind": "request_finished", "request_id": "r"}']

        with pytest.raises(InputError, match=":2: the stream has no sequence numbers"):
            checked(tmp_path / "log", lines, SKIP)

    def test_nothing_else(self, tmp_path: Path) -> None:
        """A file of other lines only is refused, and the error names what may help."""
        with pytest.raises(InputError) as caught:
            checked(tmp_path / "log", [journald(NOISE)] * 2, SKIP)

        assert "no line begins with an object: 2 lines of other programs skipped" == (
            caught.value.reason
        )
        assert caught.value.hint.startswith("--strip reads")

    def test_ranks(self, tmp_path: Path) -> None:
        """The ranks of an engine are recognised behind prefixes, too."""
        paths = []
        for rank in (0, 1):
            mark = {"kind": "stream_opened", "stream": f"e/{rank}", "engine": "e", "rank": rank}
            lines = [mark | {"ranks": 2, "sequence": 0, "time_ns": 1}]
            lines.append({"kind": "stream_closed", "stream": f"e/{rank}", "sequence": 1})
            path = tmp_path / str(rank)
            path.write_bytes(b"\n".join(cri(json.dumps(each).encode()) for each in lines))
            paths.append(str(path))

        for how in (STRIP, BOTH):
            assert [] == breaks(check(paths, None, Bundle.CONTRACT, how=how))


class TestCommands:
    LOG: Final = b"\n".join(line for event in EVENTS for line in (journald(NOISE), journald(event)))

    @pytest.mark.parametrize(
        ("options", "of_check", "of_follow"),
        [
            ([], 2, 2),
            (["--strip"], 2, 3),
            (["--strip", "--others", "skip"], 0, 0),
            (["--others", "skip"], 3, 2),
            (["--others", "drop"], 2, 2),
        ],
    )
    def test_options(
        self,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        options: list[str],
        of_check: int,
        of_follow: int,
    ) -> None:
        """Both commands have both options, and say how many lines they skipped."""
        path = tmp_path / "log"
        path.write_bytes(self.LOG)
        for command, code in ((["check"], of_check), (["follow", "--until-eof"], of_follow)):
            assert code == run(app, [*command, str(path), *options])
            said = f"{len(EVENTS)} lines of other programs skipped"
            assert ("skip" in options) == (said in capsys.readouterr().out)
