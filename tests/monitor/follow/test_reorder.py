"""Lines that come out of order, twice or too late are put back by a follower as by a check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.__main__ import main
from monitor.check.files import check
from monitor.follow.buffer import WhenFull
from monitor.follow.follower import Follower
from monitor.follow.growing_file import GrowingFile
from monitor.follow.judge import Judge
from monitor.follow.verdict_line import Counts, VerdictLine, ViolationLine
from monitor.input.records import Disorder
from monitor.input.reorder_window import Window
from spec.contract.modes import Bundle
from spec.language.errors import SpecError
from spec.stream.outcome import ModeVerdict
from tests.monitor.follow.ranks import engines
from tests.monitor.follow.traces import trace

TRACE = [line.rstrip() for line in trace(6)]
WINDOW = Window(4)


def judge() -> Judge:
    return Judge("s", None, Counts(), window=WINDOW)


def said(lines: Sequence[VerdictLine]) -> list[tuple[object, ...]]:
    """What lines state, but for where it was read."""
    return [
        (line.claim_id, line.obligation, line.at.sequence)
        if isinstance(line, ViolationLine)
        else (line.claim_id, line.verdict, line.state, line.obligations, line.at.sequence)
        for line in lines
    ]


def taken(judge: Judge, lines: Sequence[bytes | None]) -> list[VerdictLine]:
    return [found for line in lines for found in judge.take(line)]


@cache
def in_order() -> list[tuple[object, ...]]:
    """What is stated of the lines as they are."""
    return said(taken(Judge("s", None, Counts()), TRACE))


@st.composite
def disordered(draw: st.DrawFn) -> list[bytes]:
    """The lines, some of them moved back within the window and some of them twice."""
    lines = list(TRACE)
    for _ in range(draw(st.integers(0, 12))):
        where = draw(st.integers(0, len(lines) - 4))
        if draw(st.booleans()):
            lines[where : where + 3] = draw(st.permutations(lines[where : where + 3]))
        else:
            lines.insert(where + draw(st.integers(0, 3)), lines[where])
        lines = _within(lines)
    return lines


def _within(lines: list[bytes]) -> list[bytes]:
    """Those lines, if none comes later than the window."""
    first = {line: at for at, line in reversed(list(enumerate(dict.fromkeys(lines))))}
    near = all(abs(at - TRACE.index(line)) <= WINDOW.lines // 2 for line, at in first.items())
    return lines if near else list(TRACE)


class TestPutBack:
    @settings(max_examples=25)
    @given(disordered(), st.lists(st.integers(0, len(TRACE)), max_size=3))
    def test_restarted_anywhere(self, lines: list[bytes], cuts: list[int]) -> None:
        """What is decided is what is decided in order, wherever a snapshot is restored."""
        each, found = judge(), list[VerdictLine]()
        for number, line in enumerate(lines):
            for _ in range(cuts.count(number)):
                state, each = each.snapshot(), judge()
                each.restore(state)
            found += each.take(line)
        last, report = each.finish()
        assert in_order() == said(found)
        assert (ModeVerdict.VIOLATED, []) == (report.verdict, last)
        assert (len(TRACE), 0) == (report.events.read, report.events.late)
        assert len(lines) - len(TRACE) == report.events.duplicates

    def test_as_a_check(self, tmp_path: Path) -> None:
        """A line that comes later than the window is a gap, counted as by a check."""
        lines = [*TRACE[:20], *TRACE[21:40], TRACE[20], TRACE[40], *TRACE[40:]]
        path = tmp_path / "a"
        path.write_bytes(b"\n".join(lines))
        due = check([str(path)], None, Bundle.CONTRACT, window=WINDOW)
        each = judge()
        taken(each, lines)
        _, report = each.finish()
        assert (due.verdict, due.events) == (report.verdict, report.events)
        assert (1, 1) == (due.events.late, due.events.duplicates)
        assert [c.verdict for c in due.claims] == [c.verdict for c in report.claims]

    def test_counted_since_the_start(self) -> None:
        """A restarted judge counts what it saw itself; its report has all."""
        each = judge()
        taken(each, [*TRACE[:5], TRACE[4], TRACE[6]])
        assert (1, Disorder(duplicates=1, held=1)) == (each.held, each.disorder)
        state, each = each.snapshot(), judge()
        each.restore(state)
        assert (1, Disorder()) == (each.held, each.disorder)
        taken(each, [TRACE[5], TRACE[6], *TRACE[7:]])
        assert (0, Disorder(duplicates=1)) == (each.held, each.disorder)
        events = each.finish()[1].events
        assert (2, 1) == (events.duplicates, events.reordered)

    def test_no_state(self) -> None:
        """A snapshot whose lines that were held back cannot be read is refused."""
        plain = Judge("s", None, Counts())
        with pytest.raises(SpecError, match="held back"):
            judge().restore(plain.snapshot())


class TestGivenUp:
    """Where lines may be missing, those that are held back do not wait for them any longer."""

    @pytest.mark.parametrize("how", ["interrupt", "drop", "reject", "finish"])
    def test_judged_first(self, how: str) -> None:
        """What they decide is stated, and nobody who lived in the gap is kept."""
        each, before = judge(), 30
        found = taken(each, [*TRACE[:before], *TRACE[before + 1 : before + 3]])
        assert 2 == each.held
        if how == "interrupt":
            found += each.interrupt("lost")
        elif how == "drop":
            found += each.drop(1)
        elif how == "reject":
            found += each.take(b"{")
        if how != "finish":
            assert 0 == each.held
            found += taken(each, TRACE[before + 3 :])
        last, _ = each.finish()
        assert 0 == each.held
        lost = {line.claim_id for line in [*found, *last] if "inconclusive" in said([line])[0]}
        kept = [line for line in said([*found, *last]) if line[1] == ModeVerdict.KEPT]
        assert lost
        assert {*map(repr, kept)} <= {*map(repr, in_order())}

    def test_no_more_comes_after(self) -> None:
        """A line that was held back when lines may have been lost is no sign that none were."""
        lines = TRACE[:8]
        whole, lost, repeated = judge(), judge(), judge()
        taken(whole, lines)
        taken(lost, [*lines[:6], lines[7]])
        lost.interrupt("lost")
        taken(repeated, lines)
        repeated.interrupt("lost")
        taken(repeated, lines[7:])
        due = [ModeVerdict.KEPT, ModeVerdict.INCONCLUSIVE, ModeVerdict.INCONCLUSIVE]
        assert due == [each.finish()[1].verdict for each in (whole, lost, repeated)]


class TestCommand:
    def run(self, tmp_path: Path, *args: str) -> int:
        path = tmp_path / "a.jsonl"
        order = [TRACE[1], TRACE[0], *TRACE[2:9], *TRACE[8:]]
        path.write_bytes(b"".join(line + b"\n" for line in order))
        return main(["follow", str(path), "--until-eof", *args])

    def test_end(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The end states how many lines were out of order, for people and as JSON."""
        assert 1 == self.run(tmp_path, "--reorder", "100,5s", "--format", "json")
        end = msgspec.json.decode(capsys.readouterr().out.splitlines()[-1])
        due = {"duplicates": 1, "reordered": 1, "late": 0, "contradicting": 0}
        assert due == {name: end[name] for name in due}
        assert 1 == self.run(tmp_path, "--reorder", "100")
        assert "1 line repeated and dropped; 1 line held back" in capsys.readouterr().out

    def test_another_window(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A checkpoint that was made with another window is refused."""
        folder = ["--checkpoint", str(tmp_path / "c")]
        assert 1 == self.run(tmp_path, *folder, "--reorder", "100,0.5s")
        assert 2 == self.run(tmp_path, *folder)
        assert "made with --reorder 100,0.5s" in capsys.readouterr().err
        assert 1 == self.run(tmp_path, *folder, "--reorder", "100, 0.5 s")

    def test_no_window(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """What is no window is refused before anything is followed."""
        assert 2 == self.run(tmp_path, "--reorder", "soon")
        assert "no window" in capsys.readouterr().err


class TestRestarted:
    def test_given_up_at_once(self, tmp_path: Path) -> None:
        """Of pipes that cannot be read again, lines held back are judged before any checkpoint:
        one that was taken in between would have what they decide stated again.
        """
        saved: list[list[int]] = []

        class Recorder:
            def due(self) -> bool:
                return True

            def save(self, judges: Mapping[str, Judge], *_: object) -> None:
                saved.append([each.held for each in judges.values()])

        judges = {name: judge() for name in "ab"}
        for each in judges.values():
            taken(each, [*TRACE[:6], *TRACE[7:9]])
        (tmp_path / "empty").touch()
        told: list[VerdictLine] = []
        Follower(
            {name: GrowingFile(str(tmp_path / "empty"), until_eof=True) for name in judges},
            judges,
            Counts(),
            WhenFull.BLOCK,
            engines(),
            report=pytest.fail,
            tell=told.extend,
            recorder=Recorder(),
            interrupted=dict.fromkeys(judges, "restarted"),
        ).run()
        assert saved
        assert {(0, 0)} == {tuple(held) for held in saved}
