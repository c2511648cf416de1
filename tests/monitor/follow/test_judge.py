"""What is decided line by line is what a check of the file finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.check.files import check
from monitor.follow import judge as judge_module
from monitor.follow.judge import Judge
from monitor.follow.verdict_line import ClaimLine, Counts, VerdictLine, ViolationLine
from monitor.input.records import Record
from monitor.native import library
from monitor.report.verdict import Report
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.events.canonical import EVENT_ENCODER
from spec.language.errors import SpecError
from spec.language.verdicts import Verdict
from spec.stream.outcome import ModeVerdict
from tests.monitor.follow.traces import trace
from tests.monitor.test_hostile import FOLDER
from tests.native.differential import lines_of
from tests.native.mutated import mutated
from tests.streams.traffic import Traffic, as_events

SAMPLES = Path(__file__).parents[3] / "monitor" / "samples"
TRACES = sorted([*FOLDER.glob("*.jsonl"), *SAMPLES.glob("*.jsonl")])
CANONICAL = [path for path in TRACES if b'"kind"' in path.read_bytes().split(b"\n", 1)[0]]


def judged(path: Path) -> tuple[list[VerdictLine], Report]:
    """What a judge decides line by line, and its report."""
    judge = Judge(str(path), None, Counts())
    lines = [found for line in path.read_bytes().splitlines() for found in judge.take(line)]
    last, report = judge.finish()
    return [*lines, *last], report


@pytest.mark.parametrize("path", CANONICAL, ids=lambda path: path.stem)
class TestAgreesWithACheck:
    def test_report(self, path: Path) -> None:
        """The report is that of a check, but for the digest of the file."""
        whole = check([str(path)], None, Bundle.CONTRACT)
        _, report = judged(path)
        assert whole.verdict == report.verdict
        assert whole.claims == report.claims
        assert whole.obligations == report.obligations

    def test_violations(self, path: Path) -> None:
        """Each violation is stated once, at the event that decided it."""
        lines, report = judged(path)
        found = [
            (line.stream, line.claim_id, line.obligation, line.at, line.why)
            for line in lines
            if isinstance(line, ViolationLine)
        ]
        due = [
            (claim.stream, claim.claim_id, name, each.at, each.why)
            for claim in report.claims
            if claim.verdict is ModeVerdict.VIOLATED
            for name, each in claim.obligations.items()
            if each.verdict is Verdict.VIOLATED
        ]
        assert sorted(due, key=repr) == sorted(found, key=repr)

    def test_claims(self, path: Path) -> None:
        """The last line of each claim has its verdict in the report."""
        lines, report = judged(path)
        last = {(n.stream, n.claim_id): n for n in lines if isinstance(n, ClaimLine)}
        due = {(claim.stream, claim.claim_id): claim for claim in report.claims}
        away = {(each.stream, each.claim_id) for each in report.unjudged.claims}
        away |= {(each.stream, each.claim_id) for each in report.unjudged.turned_away}
        assert {*due, *away} == {*last}
        for key, claim in due.items():
            assert (claim.verdict, claim.state) == (last[key].verdict, last[key].state)

    @pytest.mark.slow
    def test_ids(self, path: Path) -> None:
        """No two lines have one id, and whoever judges again writes the same lines."""
        lines, _ = judged(path)
        assert len(lines) == len({line.id for line in lines})
        assert lines == judged(path)[0]


def test_some_end_before_the_stream() -> None:
    """Verdicts on claims that are over do not wait for the end of the stream."""
    path = SAMPLES / "hard_protected_refusal.jsonl"
    (line,) = judged(path)[0]
    assert isinstance(line, ClaimLine)
    assert (ModeVerdict.KEPT, False, 14) == (line.verdict, line.final, line.at.line)
    assert b"resident-claims/followed-claim/2" in msgspec.json.encode(line)


def test_claims_of_every_mode() -> None:
    """Each claim that is over has its line, also one of which only the registry entry ended."""
    traffic = Traffic(lines=3_000, live=14, modes=tuple(Mode))
    judge, found = Judge("s", None, Counts()), Counter[str]()
    claims = 0
    for event in as_events(traffic):
        claims += event.kind == "claim_registered"
        lines = judge.take(EVENT_ENCODER.encode(event))
        found.update(str(line.mode) for line in lines if isinstance(line, ClaimLine))
    last, _ = judge.finish()
    assert {*Mode} == found.keys()
    assert claims == found.total() + len(last)
    assert len(last) == traffic.live


TRACE = [line.rstrip() for line in trace(9)]


class TestSnapshot:
    @pytest.mark.slow
    @settings(max_examples=15)
    @given(st.lists(st.integers(0, len(TRACE)), max_size=3))
    def test_anywhere(self, cuts: list[int]) -> None:
        """A judge that is restored anywhere decides the same, nothing twice and nothing less."""
        whole = Judge("s", None, Counts())
        due = [found for line in TRACE for found in whole.take(line)]
        judge, found = Judge("s", None, Counts()), list[VerdictLine]()
        for number, line in enumerate(TRACE):
            for _ in range(cuts.count(number)):
                state = judge.snapshot()
                judge = Judge("s", None, Counts())
                judge.restore(state)
            found += judge.take(line)
        assert due == found
        assert whole.finish() == judge.finish()

    @pytest.mark.parametrize("state", [b"", b"\x90", b"\xff" * 9, b"\xc1"])
    def test_no_state(self, state: bytes) -> None:
        """What is no state is refused with a remedy."""
        with pytest.raises(SpecError, match="begin anew"):
            Judge("s", None, Counts()).restore(state)


REFUSAL = (SAMPLES / "hard_protected_refusal.jsonl").read_bytes().splitlines()


def bare(line: bytes) -> bytes:
    """The line without its number."""
    fields = msgspec.json.decode(line)
    del fields["sequence"]
    return msgspec.json.encode(fields)


def verdict(judge: Judge, lines: list[bytes]) -> ModeVerdict:
    for line in lines:
        judge.take(line)
    _, report = judge.finish()
    return report.verdict


class TestMissing:
    @pytest.mark.parametrize("where", range(1, len(REFUSAL) - 1))
    @pytest.mark.parametrize("lost", [0, 1])
    def test_numbered(self, where: int, lost: int) -> None:
        """Numbers show whether lines are missing where a source was interrupted."""
        judge = Judge("s", None, Counts())
        for line in REFUSAL[:where]:
            judge.take(line)
        judge.interrupt("lost")
        due = ModeVerdict.INCONCLUSIVE if lost else ModeVerdict.KEPT
        assert due == verdict(judge, REFUSAL[where + lost :])

    def test_nothing_comes_after(self) -> None:
        """Where no number comes after it, lines may be missing."""
        judge = Judge("s", None, Counts())
        for line in REFUSAL[:6]:
            judge.take(line)
        judge.interrupt("lost")
        assert ModeVerdict.INCONCLUSIVE == verdict(judge, [])

    def test_after_the_end_of_the_stream(self) -> None:
        """After the last mark of a stream nothing is missing."""
        stream = {"stream": "sample:refusal", "time_ns": 2_000_000_000}
        mark = {"kind": "stream_closed", "sequence": len(REFUSAL), **stream}
        judge = Judge("s", None, Counts())
        for line in [*REFUSAL, msgspec.json.encode(mark)]:
            judge.take(line)
        judge.interrupt("lost")
        assert ModeVerdict.KEPT == verdict(judge, [])

    @pytest.mark.parametrize("restored", [False, True])
    def test_another_stream(self, restored: bool) -> None:
        """An engine that is started again opens another stream: the claims that were alive in the
        one before are inconclusive then, also after a restart, and are not in hand any more.
        """
        opened = {"kind": "stream_opened", "stream": "next", "sequence": 0}
        judge = Judge("s", None, Counts())
        for line in REFUSAL[:6]:
            judge.take(line)
        judge.interrupt("the file was rotated")
        assert judge.live == 1
        if restored:
            state, judge = judge.snapshot(), Judge("s", None, Counts())
            judge.restore(state)
        (found,) = judge.take(msgspec.json.encode(opened))
        assert isinstance(found, ClaimLine)
        assert (found.verdict, judge.live) == (ModeVerdict.INCONCLUSIVE, 0)
        assert ModeVerdict.INCONCLUSIVE == verdict(judge, REFUSAL[6:])  # had it gone on

    @pytest.mark.parametrize("where", range(1, 10))
    def test_quiet(self, where: int) -> None:
        """Another engine of the source that was quiet meanwhile, and goes on, is not accused."""
        opened = {"kind": "stream_opened", "stream": "next", "sequence": 0}
        path = FOLDER / "one_load_for_two_claims_of_one_object.jsonl"
        lines = path.read_bytes().splitlines()
        judge = Judge("s", None, Counts())
        for line in lines[:where]:
            judge.take(line)
        judge.interrupt("the connection was lost")
        judge.take(msgspec.json.encode(opened))
        assert ModeVerdict.INCONCLUSIVE == verdict(judge, lines[where:])

    def test_beside(self) -> None:
        """Where no lines may be missing, a stream that opens does not change another."""
        opened = {"kind": "stream_opened", "stream": "next", "sequence": 0}
        closed = {"kind": "stream_closed", "stream": "next", "sequence": 1}
        marks = [msgspec.json.encode(mark) for mark in (opened, closed)]
        judge = Judge("s", None, Counts())
        assert ModeVerdict.KEPT == verdict(judge, [*REFUSAL[:6], *marks, *REFUSAL[6:]])

    @pytest.mark.parametrize("where", range(1, len(REFUSAL) - 1))
    def test_without_numbers(self, where: int) -> None:
        """Without numbers, nothing is concluded of the claims that are alive there."""
        lines = [bare(line) for line in REFUSAL]
        judge = Judge("s", None, Counts())
        for line in lines[:where]:
            judge.take(line)
        judge.interrupt("lost")
        assert ModeVerdict.INCONCLUSIVE == verdict(judge, lines[where:])
        assert ModeVerdict.KEPT == verdict(Judge("s", None, Counts()), lines)

    def test_lossy(self) -> None:
        """Of a source that loses lines silently, only a stream with numbers is judged."""
        assert ModeVerdict.KEPT == verdict(Judge("s", None, Counts(), lossy=True), REFUSAL)
        lines = [bare(line) for line in REFUSAL]
        judge = Judge("s", None, Counts(), lossy=True)
        assert ModeVerdict.INCONCLUSIVE == verdict(judge, lines)

    def test_dropped(self) -> None:
        """Lines that were dropped leave the claim inconclusive, and are counted."""
        counts = Counts()
        judge = Judge("s", None, counts)
        for line in REFUSAL[:8]:
            judge.take(line)
        judge.drop(2)
        assert ModeVerdict.INCONCLUSIVE == verdict(judge, REFUSAL[8:])
        assert (2, {"s": 2}, {"s": 1}) == (judge.dropped, counts.dropped, counts.gaps)


class TestRejected:
    @pytest.mark.parametrize("line", [b"{", b'{"kind":"no_such_kind"}', b"\xff", b"[]", None])
    def test_counted(self, line: bytes | None) -> None:
        """A line that cannot be read is counted, and nothing is kept from there on."""
        counts, told = Counts(), list[str]()
        judge = Judge("s", None, counts, on_reject=lambda error: told.append(str(error)))
        judge.take(line)
        assert ModeVerdict.INCONCLUSIVE == verdict(judge, REFUSAL)
        assert ({"s": 1}, 1) == (counts.rejected, len(told))

    def test_at_once(self) -> None:
        """What is decided by a line that cannot be read, or by a pause, is stated there."""
        for decide in (lambda judge: judge.take(b"{"), lambda judge: judge.drop(1)):
            judge = Judge("s", None, Counts())
            before = [found for line in REFUSAL[:6] for found in judge.take(line)]
            (last,) = decide(judge)
            assert ([], ModeVerdict.INCONCLUSIVE) == (before, last.verdict)

    def test_streams(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A source has a limited number of streams; a line of one more is rejected."""
        monkeypatch.setattr(judge_module, "STREAMS", 3)
        counts = Counts()
        judge = Judge("s", None, counts)
        for number in range(5):
            judge.take(b'{"kind":"stream_opened","stream":"%d","sequence":0}' % number)
        assert {"s": 2} == counts.rejected


def test_blank_lines_are_counted_as_lines() -> None:
    """Places cite the line as an editor numbers it."""
    judge = Judge("s", None, Counts())
    found = [each for line in [b"", b" ", *REFUSAL] for each in judge.take(line)]
    assert [len(REFUSAL) + 2] == [each.at.line for each in found]


def test_byte_order_mark() -> None:
    """A source may begin with the mark of byte order, as a file may that is checked."""
    marked = [b"\xef\xbb\xbf" + REFUSAL[0], *REFUSAL[1:]]
    assert ModeVerdict.KEPT == verdict(Judge("s", None, Counts()), marked)


HEADS = (
    b'{"kind":"claim_rejected","claim_id":"c","stream":"s","sequence":%d}',
    b' {"sequence": %d, "claim_id": "c", "stream": "s", "kind": "claim_rejected"} ',
    b'{"kind":"claim_rejected","claim_id":"c","str\\u0065am":"s","sequence":%d}',
    b'{"kind":"claim_rejected","claim_id":"c","stream":"\\u0073","sequence":%d}',
    b'{"kind":"claim_rejected","claim_id":"c","stream":"t","stream":"s","sequence":%d}',
    b'{"kind":"claim_rejected","kind":"claim_expired","claim_id":"c","stream":"s","sequence":%d}',
    b'{"kind":"claim_rejected","claim_id":"c","stream":"s","sequence":0,"sequence":%d}',
    b'{"kind":"claim_rejected","claim_id":"c","stream":"s","sequence":%d.0}',
    b'{"kind":"claim_rejected","claim_id":"c","stream":"s","sequence":1%020d}',
    b'{"kind":"claim_rejected","claim_id":"c","stream":"s","sequence":-%d}',
    b'{"kind":"claim_rejected","claim_id":"c","stream":"s","sequence":%d,"hit":"yes"}',
    b'{"kind":"claim_rejected","claim_id":"\xff","stream":"s","sequence":%d}',
    b'{"kind":"claim_rejected","claim_id":"c","sequence":%d}',
    b'{"kind":"claim_rejected","claim_id":"c","stream":"s"}#%d',
    b'{"kind":"claim_rejected","claim_id":"c","stream":"s","reason":"%d"}',
    b'{"kind":"stream_closed","stream":"s","sequence":%d}',
    b'{"kind":"no_kind","claim_id":"c","stream":"s","sequence":%d}',
    b"[" * 5_000 + b"%d",
)
"""Ways to write a line in which its stream, number and kind are, or are not, what they seem."""


@pytest.mark.skipif(library() is None, reason="no native core is built")
class TestLinesThatTheCoreReads:
    """A line whose text the native core takes decides what its record does."""

    def decided(
        self, lines: list[bytes], monkeypatch: pytest.MonkeyPatch, *, read: bool, lossy: bool
    ) -> object:
        counts, refused = Counts(), list[str]()
        judge = Judge("s", None, counts, lossy=lossy, on_reject=lambda e: refused.append(str(e)))
        with monkeypatch.context() as patch:
            if read:
                patch.setattr(judge_module, "head_of", lambda line: None)
            found = [judge.take(line) for line in lines[: len(lines) // 2]]
            found.append(judge.interrupt("some are gone"))
            found += [judge.take(line) for line in lines[len(lines) // 2 :]]
            last, report = judge.finish()
        return found, last, report, refused, counts.events, counts.rejected

    @pytest.mark.parametrize("lossy", [False, True])
    @pytest.mark.parametrize("seed", range(12))
    def test_mutated(self, seed: int, lossy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of random streams, some of whose lines cannot be read."""
        lines = [line for _, line in lines_of(mutated(seed)[1])]
        one, other = (
            self.decided(lines, monkeypatch, read=read, lossy=lossy) for read in (False, True)
        )
        assert one == other

    @pytest.mark.parametrize("strange", HEADS, ids=range(len(HEADS)))
    def test_strange(self, strange: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of a line that is written in another way, or whose stream or number is in doubt."""
        plain = [HEADS[0] % number for number in range(6)]
        for at in range(1, 6):
            lines = [*plain[:at], strange % at, *plain[at + 1 :]]
            one, other = (
                self.decided(lines, monkeypatch, read=read, lossy=False) for read in (False, True)
            )
            assert one == other

    def test_it_does(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """All lines of a known stream are taken without their records."""
        read = list[bytes]()
        judge = Judge("s", None, counts := Counts())

        def slowly(line: bytes) -> Sequence[Record]:
            read.append(line)
            return Judge._read(judge, line)

        monkeypatch.setattr(judge, "_read", slowly)
        for number in range(6):
            judge.take(HEADS[0] % number)
        assert ([HEADS[0] % 0], 6) == (read, counts.events.total())
