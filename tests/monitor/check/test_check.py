"""From files to a report."""

from __future__ import annotations

import gzip
import hashlib
import io
from pathlib import Path

import msgspec
import pytest

from monitor.check.files import EXIT_CODES, check
from monitor.input.errors import InputError
from monitor.native import core
from monitor.report.remedies import remedy
from monitor.report.report_text import as_text
from monitor.report.verdict import Report, verdict_schema
from spec import __version__
from spec.claims.states import Mode
from spec.cli.common import console
from spec.contract.modes import MODES, Bundle
from spec.digest import spec_digest
from spec.stream.breaks import Limits
from spec.stream.outcome import ModeVerdict
from tests.monitor.traces import CLAIM, OTHER, RUN, Trace, at, judge, text, write
from tests.monitor.traces_allocator import (
    allocator,
    allocator_conflict,
    allocator_end,
    allocator_losses,
    allocator_refusal,
    allocator_resident,
    allocator_victim,
)
from tests.monitor.traces_canonical import (
    about,
    canonical,
    canonical_claim,
    canonical_refusal,
)
from tests.monitor.traces_connector import (
    connector_end,
    connector_failure,
    connector_lookup,
    connector_store,
    connector_success,
)

ROOT = Path(__file__).parents[3]
RECORDED = ROOT.parent / "shared" / "traces"
OFFLOADABLE = set(MODES[Mode.OFFLOADABLE].names())
needs_recordings = pytest.mark.skipif(
    not RECORDED.is_dir(), reason="the recorded traces are not beside this checkout"
)


@needs_recordings
class TestRecorded:
    """The three files recorded from a real runtime."""

    def report(self, *names: str, bundle: Bundle = Bundle.CONTRACT, strict: bool = False) -> Report:
        paths = [str(RECORDED / f"{name}.jsonl") for name in names]
        return check(paths, Mode.OFFLOADABLE, bundle, strict=strict)

    @pytest.mark.parametrize("bundle", Bundle)
    @pytest.mark.parametrize(
        ("name", "lines", "idle"),
        [
            ("success_path", 17, {"restoration_failure_outcome", "claim_harm_attribution"}),
            ("claimed_load_failure", 21, {"offload_restorability"}),
        ],
    )
    def test_alone(self, name: str, lines: int, idle: set[str], bundle: Bundle) -> None:
        """Each story keeps the mode, and says what it gave no occasion for."""
        report = self.report(name, bundle=bundle)
        assert ("kept", lines, {}) == (report.verdict, report.events.read, report.events.unknown)
        assert idle == {n for n, v in report.obligations.items() if v == "unexercised"}
        assert OFFLOADABLE - idle == {n for n, v in report.obligations.items() if v == "satisfied"}
        assert "inconclusive" == self.report(name, bundle=bundle, strict=True).verdict

    @pytest.mark.parametrize("bundle", Bundle)
    def test_together(self, bundle: Bundle) -> None:
        """Both together exercise and satisfy every obligation."""
        report = self.report("success_path", "claimed_load_failure", bundle=bundle, strict=True)
        assert "kept" == report.verdict
        assert {"satisfied"} == set(report.obligations.values())
        assert ["kept", "kept"] == [claim.verdict for claim in report.claims]

    def test_counters(self) -> None:
        """Generic counters are no claim's telemetry."""
        report = self.report("generic_counter_only")
        assert ("inconclusive", "no accepted claim") == (report.verdict, report.why)
        counters = {"generic_kv_transfer_failed_counter": 1, "generic_request_error_counter": 1}
        assert counters == report.events.unknown
        assert [] == report.claims


class TestReport:
    """What a report carries."""

    def test_inputs(self, tmp_path: Path) -> None:
        """Files as they were named, with the hash of their bytes; one named twice is read once."""
        plain = write(tmp_path / "a.jsonl", connector_success())
        packed = tmp_path / "b.jsonl.gz"
        packed.write_bytes(gzip.compress(text(connector_failure())))
        report = check([plain, str(packed), plain], Mode.OFFLOADABLE, Bundle.CONTRACT, strict=True)
        assert [plain, str(packed)] == [i.file for i in report.inputs]
        hashes = [hashlib.sha256(Path(i.file).read_bytes()).hexdigest() for i in report.inputs]
        assert hashes == [i.sha256 for i in report.inputs]
        assert [17, 21] == [i.lines for i in report.inputs]
        assert ("kept", 38) == (report.verdict, report.events.read)

    def test_inputs_of_text(self, tmp_path: Path) -> None:
        """Unless every claim is asked for, the hash is there where lines may be quoted."""
        good = write(tmp_path / "a.jsonl", canonical_refusal())
        bad = write(tmp_path / "b.jsonl", [*allocator_refusal(), allocator_victim(100)])
        for path, verdict in ((good, "kept"), (bad, "violated")):
            whole = check([path], Mode.HARD_PROTECTED, Bundle.CONTRACT)
            short = check([path], Mode.HARD_PROTECTED, Bundle.CONTRACT, every=False)
            assert verdict == whole.verdict == short.verdict
            native = core() == "native" and verdict == "kept"
            assert ("" if native else whole.inputs[0].sha256) == short.inputs[0].sha256

    def test_who_judged(self) -> None:
        """The tool, the specification, the mode and the bundle are named."""
        report = judge(canonical_refusal(), Mode.HARD_PROTECTED, Bundle.PAPER)
        assert (__version__, spec_digest()) == (report.tool, report.spec)
        assert ("hard_protected", "paper", False) == (report.mode, report.bundle, report.strict)
        assert "resident-claims/verdict/2" == report.schema

    def test_two_files(self, tmp_path: Path) -> None:
        """One id in two files is two claims."""
        good = write(tmp_path / "a.jsonl", allocator_refusal())
        bad = write(tmp_path / "b.jsonl", [*allocator_refusal(), allocator_victim(100)])
        report = check([good, bad], Mode.HARD_PROTECTED, Bundle.CONTRACT)
        assert ["kept", "violated"] == [claim.verdict for claim in report.claims]
        assert "violated" == report.verdict

    def test_place(self) -> None:
        """A breach names file, line and sequence, why, and what would have been allowed."""
        trace = [*canonical_claim(), canonical("block_evicted", block_ids=[100])]
        report = judge(trace, Mode.HARD_PROTECTED)
        found = report.claims[0].obligations["victim_exclusion_before_violation"]
        assert found.at is not None
        assert ("-", 6, 5) == (found.at.file, found.at.line, found.at.sequence)
        assert "chosen as a victim" in found.why
        assert "another victim" in found.allowed

    def test_trust(self) -> None:
        """The facts that the verdict rests on are counted; what is derived is said to be."""
        trust = judge(canonical_refusal(), Mode.HARD_PROTECTED).trust
        assert [] == trust.derived
        assert 1 == trust.facts["block_cached"]
        assert "claim_accepted" not in trust.facts
        recorded = judge(connector_success(), Mode.OFFLOADABLE).trust
        assert ["claim_registered", "claim_committed", "prefix_reused"] == recorded.derived

    def test_bad_line(self, tmp_path: Path) -> None:
        """Without --lenient the first bad line ends the check."""
        path = tmp_path / "bad.jsonl"
        path.write_bytes(text(canonical_refusal()) + b"{")
        with pytest.raises(InputError, match=r"bad\.jsonl:9: not JSON"):
            check([str(path)], Mode.HARD_PROTECTED, Bundle.CONTRACT)

    def test_progress(self, tmp_path: Path) -> None:
        """Progress is reported in bytes, and ends at the size of all files."""
        path = tmp_path / "long.jsonl"
        path.write_bytes(text([allocator("gpu_hiccup", None) for _ in range(10_000)]))
        told: list[int] = []
        check([str(path)], Mode.HARD_PROTECTED, Bundle.CONTRACT, progress=told.append)
        assert sorted(told) == told
        assert len(told) > 3
        assert path.stat().st_size == told[-1]

    def test_exit_codes(self) -> None:
        """Each verdict has its exit code."""
        assert [0, 1, 3] == [EXIT_CODES[v] for v in ModeVerdict]

    def test_schema(self) -> None:
        """The published schema is that of the report, and a report decodes by it."""
        path = ROOT / "docs" / "schema" / "verdict.json"
        published = msgspec.json.decode(path.read_bytes())
        hint = "run python -m monitor schema -o docs/schema/verdict.json"
        assert verdict_schema() == published, hint
        report = judge(connector_failure(), Mode.OFFLOADABLE)
        assert report == msgspec.json.decode(msgspec.json.encode(report), type=Report)


WHOLE = [
    (connector_success(), Mode.OFFLOADABLE),
    (connector_failure(), Mode.OFFLOADABLE),
    (
        [
            *allocator_resident(CLAIM, 3, 2),
            allocator_conflict(3, 78),
            allocator_end("resident_claim_demoted"),
            *allocator_losses([2, 1, 0]),
        ],
        Mode.HARD_PROTECTED,
    ),
]


@pytest.mark.parametrize(("trace", "mode"), WHOLE)
class TestTornRuns:
    """A stream is a run in one file: a run that is torn in two is no evidence for a pass."""

    def parts(self, trace: Trace, folder: Path) -> list[tuple[str, str]]:
        """The trace torn at each line."""
        lines = text(trace).splitlines(keepends=True)
        torn = []
        for index in range(1, len(lines)):
            paths = folder / f"{index}.a.jsonl", folder / f"{index}.b.jsonl"
            for path, part in zip(paths, (lines[:index], lines[index:]), strict=True):
                path.write_bytes(b"".join(part))
            torn.append((str(paths[0]), str(paths[1])))
        return torn

    def test_second_part(self, trace: Trace, mode: Mode, tmp_path: Path) -> None:
        """What is left of a run from any line on does not pass by itself."""
        for _, second in self.parts(trace, tmp_path):
            report = check([second], mode, Bundle.CONTRACT)
            assert report.verdict in {"inconclusive", "violated"}, second

    def test_both_parts(self, trace: Trace, mode: Mode, tmp_path: Path) -> None:
        """Nor does it beside the part before it, while the run in one file does."""
        assert "kept" == judge(trace, mode).verdict
        for parts in self.parts(trace, tmp_path):
            for files in (parts, parts[::-1]):
                report = check(files, mode, Bundle.CONTRACT)
                assert report.verdict in {"inconclusive", "violated"}, files

    def test_no_claim(self, trace: Trace, mode: Mode, tmp_path: Path) -> None:
        """A second part that names no claim at all may hide what became of those of the first."""
        rest = [{"event": "future", "run_id": RUN}]
        files = [write(tmp_path / "a.jsonl", trace), write(tmp_path / "b.jsonl", rest)]
        report = check(files, mode, Bundle.CONTRACT)
        assert "inconclusive" == report.verdict
        assert report.why.startswith(f"run {RUN} continues in a file in which its claims are not")


def test_torn_between_two_claims(tmp_path: Path) -> None:
    """A second part that accepts one claim of the run does not speak for another."""
    other = [{**line, "claim_id": OTHER, "request_id": "r9"} for line in connector_store()]
    rest = [*other, *connector_lookup("r2"), *connector_end("r2")]
    files = [write(tmp_path / "a.jsonl", connector_success())]
    assert "kept" == judge(rest, Mode.OFFLOADABLE).verdict
    report = check([*files, write(tmp_path / "b.jsonl", rest)], Mode.OFFLOADABLE, Bundle.CONTRACT)
    assert f"run {RUN} continues in a file in which its claims are not accepted" == report.why
    assert ("inconclusive", "RC403", "run-continues") == (
        report.verdict,
        report.code,
        report.reason,
    )
    assert "check the files of a run as one" in remedy(report)


def test_torn_between_two_modes(tmp_path: Path) -> None:
    """Neither does one that accepts only a claim of another mode."""
    victim = canonical("block_evicted", block_ids=[100])
    rest = [*canonical_claim(OTHER, first=500, mode="demotable"), victim]
    parts = {"a": canonical_claim(), "b": rest}
    files = [write(tmp_path / f"{name}.jsonl", part) for name, part in parts.items()]
    report = check(files, Mode.HARD_PROTECTED, Bundle.CONTRACT)
    assert "continues in a file in which its claims are not accepted" in report.why
    assert "inconclusive" == report.verdict


def test_goes_on(tmp_path: Path) -> None:
    """A second part with a claim of its own may hide what became of one that was alive, where the
    first has not the end that it promised."""
    victim = canonical("block_evicted", block_ids=[100])
    ends = [about("claim_retired", by="tenant:1"), about("claim_released", by="tenant:1")]
    another = canonical_claim(OTHER, first=500)
    marked = [canonical("stream_opened"), *canonical_claim(), canonical("stream_closed")]
    firsts = (
        (canonical_claim(), "inconclusive"),
        ([*canonical_claim(), *ends], "kept"),
        (marked, "kept"),
    )
    for first, code in firsts:
        last = [about(line["kind"], OTHER, by="tenant:1") for line in ends]
        parts = {"a": first, "b": [victim, *another, *last]}
        files = [write(tmp_path / f"{name}.jsonl", part) for name, part in parts.items()]
        report = check([*map(str, files)], Mode.HARD_PROTECTED, Bundle.CONTRACT)
        assert code == report.verdict
        assert ("continues in another file" in report.why) == (code == "inconclusive")


@pytest.mark.parametrize(
    ("first", "verdict"),
    [pytest.param(50, "inconclusive", id="later"), pytest.param(0, "kept", id="another engine")],
)
def test_recorded_goes_on(first: int, verdict: str, tmp_path: Path) -> None:
    """A recorded run continues in a file whose numbers come later; a file that is numbered from the
    beginning is another engine's of the same run."""
    other = [
        {**line, "claim_id": OTHER, "request_id": "r9", "event_sequence": first + number}
        for number, line in enumerate(connector_success())
    ]
    own = [{**line, "event_sequence": at} for at, line in enumerate(connector_success())]
    files = [str(write(tmp_path / "a.jsonl", own)), str(write(tmp_path / "b.jsonl", other))]
    assert verdict == check(files, Mode.OFFLOADABLE, Bundle.CONTRACT).verdict


class TestLenient:
    """Lines that could not be read."""

    def test_before_a_stream(self) -> None:
        """A line lost before a stream began may have been its acceptance."""
        trace = canonical_claim()[3:]
        broken = [{"kind": "claim_accepted", "stream": RUN}, *trace]
        report = judge(broken, Mode.HARD_PROTECTED, lenient=True)
        assert ("inconclusive", "1 line could not be read") == (report.verdict, report.why)
        assert "violated" not in report.obligations.values()

    def test_after_a_breach(self) -> None:
        """A breach that was seen stays one."""
        victim = canonical("block_evicted", block_ids=[100])
        trace = [*canonical_claim(), victim, {"kind": "block_cached", "stream": RUN, "held": -1}]
        assert "violated" == judge(trace, Mode.HARD_PROTECTED, lenient=True).verdict

    def test_where_it_stands(self) -> None:
        """What is said of the claim after the lost line is in doubt, and the line is named."""
        trace = canonical_refusal()
        index = at(trace, "request_arrived")
        trace[index] = {**trace[index], "needed": -7}
        report = judge(trace, Mode.HARD_PROTECTED, lenient=True)
        found = report.claims[0].obligations["blocking_claim_ids"]
        assert "inconclusive" == found.verdict
        assert found.at is not None
        assert index + 1 == found.at.line

    def test_counted(self) -> None:
        """Rejected lines are counted by file, with what was wrong with the first."""
        stdin = io.BytesIO(b"{\n[]\n" + text(canonical_refusal()))
        report = check(["-"], Mode.HARD_PROTECTED, Bundle.CONTRACT, lenient=True, stdin=stdin)
        assert 2 == report.events.rejected
        assert len(canonical_refusal()) == report.events.read
        assert 2 == report.inputs[0].rejected
        assert report.inputs[0].rejection.startswith("-:1: not JSON")

    def test_other_file(self, tmp_path: Path) -> None:
        """A line lost in one file throws no doubt on the claims of another."""
        good = write(tmp_path / "good.jsonl", canonical_refusal())
        bad = tmp_path / "bad.jsonl"
        bad.write_bytes(b"{\n" + text(canonical_refusal()))
        report = check([str(bad), good], Mode.HARD_PROTECTED, Bundle.CONTRACT, lenient=True)
        assert "inconclusive" == report.verdict
        assert "kept" == report.claims[1].verdict


class TestForgotten:
    """Claims that ended and are not listed any more."""

    def claims(self, count: int) -> Trace:
        """Claims that come and go."""
        return [
            line
            for number in range(count)
            for line in (
                *canonical_claim(f"claim:{number}", first=100 * number),
                about("claim_retired", f"claim:{number}"),
                about("claim_released", f"claim:{number}", by="tenant:1"),
            )
        ]

    def test_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """They are counted with their verdicts, and the verdict on the whole is what it was."""
        whole = judge(self.claims(5), Mode.HARD_PROTECTED)
        monkeypatch.setattr("monitor.check.files.USUAL", Limits(ended=2))
        short = judge(self.claims(5), Mode.HARD_PROTECTED)
        assert (whole.verdict, whole.why) == (short.verdict, short.why)
        assert whole.obligations == short.obligations
        assert (0, {}) == (whole.forgotten.claims, whole.forgotten.obligations)
        assert whole.claims[3:] == short.claims
        assert (3, {"kept": 3}) == (short.forgotten.claims, short.forgotten.verdicts)
        assert {"satisfied": 3} == short.forgotten.obligations["claim_identity"]
        text = as_text(short, console())
        assert "kept in all 5 claims" in text
        assert "3 claims: ended, counted above, not listed" in text

    def test_violated(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One that was violated is listed, though others that ended later are not."""
        monkeypatch.setattr("monitor.check.files.USUAL", Limits(ended=1))
        claims = self.claims(3)
        ended = len(claims) // 3
        trace = [*claims[:ended], about("claim_harmed", "claim:0"), *claims[ended:]]
        report = judge(trace, Mode.HARD_PROTECTED)
        assert "violated" == report.verdict
        assert [("claim:0", "violated"), ("claim:2", "kept")] == [
            (c.claim_id, c.verdict) for c in report.claims
        ]
        assert {"kept": 1} == report.forgotten.verdicts

    def test_parts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file in which claims of another are not accepted is noticed after they ended, too."""
        monkeypatch.setattr("monitor.check.files.USUAL", Limits(ended=0))
        whole = write(tmp_path / "whole.jsonl", self.claims(2))
        rest = write(
            tmp_path / "rest.jsonl",
            [about("block_cached", "claim:0", block_ids=[1], positions=[0])],
        )
        report = check([whole, rest], Mode.HARD_PROTECTED, Bundle.CONTRACT)
        assert "inconclusive" == report.verdict
        assert "continues in a file in which its claims are not accepted" in report.why
