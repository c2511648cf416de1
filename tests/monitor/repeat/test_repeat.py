"""A repetition holds if every run that is due shows what its row expects, and by no less."""

from __future__ import annotations

import gzip
import json
import os
import re
import time
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from monitor.__main__ import main
from monitor.cli.pages import schema as schema_of
from monitor.repeat import cli
from monitor.repeat.judge import Latency, Repeated, judge
from monitor.repeat.run import Run, Shown, expected, read_run
from monitor.repeat.runs import ListedRow, ListedRun, RowKind, load_runs
from spec.cli import working
from spec.stream.outcome import ModeVerdict
from tests.schemas import faults

SAMPLES = Path(__file__).parents[3] / "monitor/samples"
RECORDINGS = Path(__file__).parents[2] / "recordings"
RECORDED = [
    (RowKind.SUCCESS, "offloadable"),
    (RowKind.FAILURE, "offloadable_load_fails"),
    (RowKind.CONTROL, "offloadable_blames"),
]
SAMPLE = str(SAMPLES / "repeat/runs.yaml")
KEPT, VIOLATED, INCONCLUSIVE = ModeVerdict
Capture = pytest.CaptureFixture[str]
Change = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


def shown(verdict: ModeVerdict = KEPT, broken: str = "", **counts: Any) -> Shown:
    """What a run shows: nothing but these counts."""
    names = ("restored", "failed", "outcomes", "reports", "others", "unrejected", "returned")
    usual: dict[str, Any] = {"latencies_ns": (), "idle": "", **dict.fromkeys(names, 0)}
    return Shown(verdict=verdict, broken=broken, **(usual | counts))


GOOD = {
    RowKind.SUCCESS: shown(restored=1, returned=1),
    RowKind.FAILURE: shown(failed=1, outcomes=1, reports=1, unrejected=1, latencies_ns=(7,)),
    RowKind.CONTROL: shown(VIOLATED, failed=1, reports=1),
}


def rows(**numbers: int) -> list[tuple[ListedRow, list[Run]]]:
    """A row of each kind with so many runs, each as it should be."""
    made = []
    for kind, number in numbers.items():
        listed = [ListedRun(trace=f"{kind}-{n}") for n in range(number)]
        row = ListedRow(row=kind, kind=RowKind(kind), due=max(1, number), runs=tuple(listed))
        each = [Run(run, GOOD[row.kind], run.trace, True) for run in listed]
        made.append((row, each))
    return made


class TestExpected:
    """Of one run."""

    @pytest.mark.parametrize("kind", RowKind)
    def test_good(self, kind: RowKind) -> None:
        """What is shown of each kind is as expected of that kind, and of no other."""
        met = {name: expected(name, GOOD[kind], "why")[0] for name in RowKind}
        assert [kind] == [name for name, each in met.items() if each]

    def test_any(self) -> None:
        """A run is as expected only if it is whole; success and failure only if kept, with the
        loads that they need and no others; a control only without an outcome that stands."""
        numbers = [(0, 1, 2)] * 4 + [(0, 1)] * 3
        flags: Iterable[Any] = product(RowKind, ModeVerdict, ("", "a gap"), ("", "idle"), *numbers)
        passed = set()
        for kind, verdict, broken, idle, restored, failed, outcomes, reports, *more in flags:
            others, stands, back = more
            if outcomes > min(failed, reports):
                continue
            found = shown(
                verdict,
                broken,
                restored=restored,
                failed=failed,
                outcomes=outcomes,
                reports=reports,
                others=others,
                unrejected=stands,
                returned=back,
                idle=idle,
            )
            met, why = expected(kind, found, "why")
            assert (met is True) == (why == "")
            good = verdict is KEPT and not others
            due = {
                RowKind.SUCCESS: good and restored and not failed and not reports,
                RowKind.FAILURE: good and failed and outcomes == failed,
                RowKind.CONTROL: not (outcomes or stands or back or idle),
            }
            assert (met is True) == bool(not broken and due[kind]), (kind, found)
            passed.add((kind, met))
        assert {*product(RowKind, (True, False, None))} == passed


def test_page(tmp_path: Path, capsys: Capture) -> None:
    """The list of the page has runs that are due and were not made, so nothing is concluded."""
    page = (Path(__file__).parents[3] / "docs/repeat.md").read_text()
    (listed,) = re.findall(r"```yaml\n(.*?)```", page, re.S)
    (tmp_path / "runs.yaml").write_text(listed)
    (tmp_path / "traces").mkdir()
    for name, sample in {
        "restored-1": "offloadable_restore",
        "restored-2": "offloadable_restore",
        "load-fails-1": "offloadable_failed_restore",
        "control-1": "repeat/wrong_claim",
    }.items():
        content = (SAMPLES / f"{sample}.jsonl").read_bytes()
        later = content.replace(b'"monotonic_ns": 1', b'"monotonic_ns": 2')
        (tmp_path / f"traces/{name}.jsonl").write_bytes(later if "2" in name else content)
    assert main(["repeat", str(tmp_path / "runs.yaml")]) == 3
    assert "inconclusive: restored: 2 of 30 runs were made" in capsys.readouterr().out


class TestJudge:
    """Of all runs together."""

    def test_papers(self) -> None:
        """The papers' numbers: 30 successes, 60 failures and 41 controls."""
        found = judge(rows(success=30, failure=60, control=41))
        assert (Repeated.HOLDS, 131, {}, {}) == (
            found.verdict,
            found.runs,
            found.unmet,
            found.unclear,
        )
        counts = {row.kind: (row.met, row.restored, row.outcomes, row.failed) for row in found.rows}
        assert {
            RowKind.SUCCESS: (30, 30, 0, 0),
            RowKind.FAILURE: (60, 0, 60, 60),
            RowKind.CONTROL: (41, 0, 0, 41),
        } == counts

    @pytest.mark.parametrize("kind", RowKind)
    def test_missing(self, kind: RowKind) -> None:
        """A run that is due and was not made, and a kind without a row, leave it open."""
        every = rows(success=3, failure=3, control=3)
        others = [each for each in every if each[0].kind is not kind]
        ((row, made),) = (each for each in every if each[0].kind is kind)
        for fewer in (others, [*others, (row, made[1:])], [*others, (row, [])]):
            found = judge(fewer)
            assert (Repeated.INCONCLUSIVE, True) == (found.verdict, kind in found.why)

    @pytest.mark.parametrize(
        ("met", "verdict"), [(False, Repeated.VIOLATED), (None, Repeated.INCONCLUSIVE)]
    )
    def test_one(self, met: bool | None, verdict: Repeated) -> None:
        """One run decides against all others, and is named."""
        every = rows(success=3, failure=3, control=3)
        odd = Run(ListedRun(trace="odd"), shown(), "odd", met, "it is odd")
        every[1] = (every[1][0], [*every[1][1], odd])
        found = judge(every)
        assert (verdict, True) == (found.verdict, "odd: it is odd" in found.why)
        assert (3, 4) == (found.rows[1].met, found.rows[1].runs)

    def test_copy(self) -> None:
        """The events of another run are no second run."""
        every = rows(success=2, failure=1, control=1)
        first, second = every[0][1]
        every[0] = (every[0][0], [first, Run(second.listed, second.shown, first.sha256, True)])
        found = judge(every)
        assert Repeated.INCONCLUSIVE is found.verdict
        assert {"success-1": "it has the same events as success-0"} == found.unclear

    @pytest.mark.parametrize(
        ("times", "p50", "p95"),
        [([7], 7, 7), ([3, 1], 1, 3), ([*range(1, 101)], 50, 95), ([*range(30, 0, -1)], 15, 29)],
    )
    def test_latency(self, times: list[int], p50: int, p95: int) -> None:
        """Percentiles are values that occurred, at the nearest rank."""
        (row, made), *others = rows(failure=1, success=1, control=1)
        run = Run(made[0].listed, shown(latencies_ns=tuple(times)), "x", True)
        found = judge([(row, [run]), *others])
        assert Latency(len(times), p50, p95) == found.rows[0].latency
        assert found.rows[1].latency is None

    @pytest.mark.parametrize(
        ("stated", "total"), [([], None), ([5, 7], 12), ([5, None], None), ([0, 0], 0)]
    )
    def test_bytes(self, stated: list[int | None], total: int | None) -> None:
        """Bytes are added only if every run states them."""
        listed = [ListedRun(trace=str(n), loaded_bytes=each) for n, each in enumerate(stated)]
        row = ListedRow(row="a", kind=RowKind.SUCCESS, due=2, runs=())
        made = [Run(each, shown(), each.trace, True) for each in listed]
        (counts,) = judge([(row, made)]).rows
        assert (total, None) == (counts.loaded_bytes, counts.stored_bytes if stated else None)


def changed(folder: Path, change: Change, name: str = "offloadable_failed_restore") -> Run:
    """A sample with its lines changed and numbered again, as a failure."""
    lines = [json.loads(each) for each in (SAMPLES / f"{name}.jsonl").read_text().splitlines()]
    lines = [{**each, "event_sequence": n} for n, each in enumerate(change(lines))]
    path = folder / "run.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return read_run(RowKind.FAILURE, ListedRun(trace=str(path)))


def content_of(name: str) -> bytes:
    """A recording; `offloadable_blames` is one whose outcome names another claim."""
    if name != "offloadable_blames":
        return (RECORDINGS / f"{name}.jsonl").read_bytes()
    content = (RECORDINGS / "offloadable_load_fails.jsonl").read_bytes()
    lines = content.splitlines(keepends=True)
    reports = [n for n, line in enumerate(lines) if b'"claim_restoration_failed"' in line]
    for n in reports:
        lines[n] = lines[n].replace(b'"claim:resident"', b'"claim:other"')
    return b"".join(lines)


class Trace:
    """A canonical trace with claims, each of which is offloaded."""

    def __init__(self, *claims: tuple[str, str]) -> None:
        self.lines: list[dict[str, Any]] = [{"kind": "stream_opened"}]
        for number, (name, mode) in enumerate(claims):
            self._offload(name, mode, [2 * number, 2 * number + 1])

    def _offload(self, name: str, mode: str, blocks: list[int]) -> None:
        claim, first = {"claim_id": name}, f"first-{name}"
        about = {"cache_identity": "m", "object_id": f"of {name}", "owner_scope": "t"}
        self.add(
            "claim_registered", predicate="leading_prefix_at_least(2)", mode=mode, **claim | about
        )
        self.add("claim_committed", footprint=2, **claim)
        self.add("claim_accepted", footprint=2, **claim)
        self.add("request_arrived", request_id=first, needed=2, usable=100)
        self.add("block_cached", block_ids=blocks, positions=[0, 1], request_id=first, **claim)
        self.add("claim_materialized", **claim)
        self.add("request_finished", request_id=first)
        self.add("store_finished", block_ids=blocks, **claim)
        self.add("claim_offloaded", **claim)
        self.add("block_evicted", block_ids=blocks)

    def add(self, kind: str, **fields: Any) -> None:
        self.lines.append({"kind": kind, **fields})

    def ask(self, name: str) -> None:
        """A request needs a claim back."""
        self.add("request_arrived", request_id="r", needed=2, usable=100)
        self.add("prefix_lookup", claim_id=name, request_id="r", held=0, asked=2)
        self.add("claim_restore_required", claim_id=name, request_id="r")

    def restore(self, name: str) -> None:
        """A claim comes back."""
        self.ask(name)
        self.add("load_finished", claim_id=name, request_id="r", block_ids=[7, 8], positions=[0, 1])
        self.add("claim_restored", claim_id=name, request_id="r", from_tier=True)
        self.add("prefix_reused", claim_id=name, request_id="r")
        self.add("request_finished", request_id="r")

    def fail(self, name: str, *loads: dict[str, str], blamed: str = "") -> None:
        """Loads fail, and the outcome names the claim."""
        self.ask(name)
        for load in loads or ({"claim_id": name},):
            self.add("load_failed", request_id="r", **load)
        named = {"claim_id": name, "blocking_claim_ids": [blamed or name]}
        outcome = {"outcome": "refusal", "outcome_claim_id": name}
        self.add("claim_restoration_failed", request_id="r", **named, **outcome)
        self.add(
            "request_refused", request_id="r", blocking_claim_ids=[blamed or name], restore=True
        )
        self.add("request_finished", request_id="r")

    def run(self, folder: Path, kind: RowKind, *, closed: bool = True) -> Run:
        """The trace as a run of a row."""
        lines = [*self.lines, *([{"kind": "stream_closed"}] if closed else [])]
        path = folder / "run.jsonl"
        path.write_text(
            "".join(json.dumps(e | {"sequence": n}) + "\n" for n, e in enumerate(lines))
        )
        return read_run(kind, ListedRun(trace=str(path)))


class TestClaims:
    """Of the claims of one trace."""

    def test_two_failures(self, tmp_path: Path) -> None:
        """Two failed loads before one outcome are one failure, as the check says."""
        trace = Trace(("a", "offloadable"))
        trace.fail("a", {"claim_id": "a"}, {"claim_id": "a"})
        run = trace.run(tmp_path, RowKind.FAILURE)
        assert (KEPT, True, 1, 1) == (
            run.shown.verdict,
            run.met,
            run.shown.failed,
            run.shown.outcomes,
        )

    def test_other_mode(self, tmp_path: Path) -> None:
        """A restore and an outcome of a claim of another mode do not count for offloadable."""
        restored = Trace(("a", "best_effort"), ("b", "offloadable"))
        restored.restore("a")
        run = restored.run(tmp_path, RowKind.SUCCESS)
        assert (0, False) == (run.shown.restored, run.met is True)
        failed = Trace(("a", "best_effort"), ("b", "offloadable"))
        failed.fail("a", blamed="z")
        run = failed.run(tmp_path, RowKind.FAILURE)
        assert (0, 0, False) == (run.shown.failed, run.shown.outcomes, run.met is True)

    @pytest.mark.parametrize("kind", RowKind)
    def test_other_verdict(self, kind: RowKind, tmp_path: Path) -> None:
        """Each claim is judged by its own mode: a violation of another mode is one."""
        trace = Trace(("a", "offloadable"), ("b", "hard_protected"))
        trace.fail("a")
        run = trace.run(tmp_path, kind)
        assert (VIOLATED, False) == (run.shown.verdict, run.met)

    def test_unnamed(self, tmp_path: Path) -> None:
        """A failed load that names the object is resolved by the check, and the run is unclear."""
        trace = Trace(("a", "offloadable"))
        trace.fail("a", {"object_id": "of a"})
        run = trace.run(tmp_path, RowKind.FAILURE)
        assert (KEPT, None) == (run.shown.verdict, run.met)
        assert trace.run(tmp_path, RowKind.CONTROL).met is False
        assert trace.run(tmp_path, RowKind.SUCCESS).met is False

    @pytest.mark.parametrize("load", [{"claim_id": "a"}, {"object_id": "of a"}])
    def test_violated_elsewhere(self, load: dict[str, str], tmp_path: Path) -> None:
        """An honest outcome is no control because another claim is violated."""
        trace = Trace(("a", "offloadable"), ("b", "offloadable"))
        trace.fail("a", load)
        trace.add("claim_restored", claim_id="b", request_id="x", from_tier=True)
        run = trace.run(tmp_path, RowKind.CONTROL)
        assert (VIOLATED, False) == (run.shown.verdict, run.met is True)

    def test_returned(self, tmp_path: Path) -> None:
        """An honest restore is no control because another claim's load failed."""
        trace = Trace(("a", "offloadable"), ("b", "offloadable"))
        trace.restore("a")
        trace.ask("b")
        trace.add("load_failed", claim_id="b", request_id="r")
        trace.add("request_finished", request_id="r")
        run = trace.run(tmp_path, RowKind.CONTROL)
        assert (VIOLATED, None) == (run.shown.verdict, run.met)

    def test_unreported(self, tmp_path: Path) -> None:
        """A failed load without an outcome is a control in a stream that states its end."""
        trace = Trace(("a", "offloadable"))
        trace.ask("a")
        trace.add("load_failed", claim_id="a", request_id="r")
        trace.add("request_finished", request_id="r")
        assert trace.run(tmp_path, RowKind.CONTROL).met is True
        assert trace.run(tmp_path, RowKind.CONTROL, closed=False).met is None
        del trace.lines[0]
        assert trace.run(tmp_path, RowKind.CONTROL, closed=False).met is None

    def test_idle(self, tmp_path: Path) -> None:
        """A control has an event in a stream that states its end; in a dialect that states none, a
        load, or no event at all: counters, each file of which is a run of its own."""
        assert Trace(("a", "offloadable")).run(tmp_path, RowKind.CONTROL).met is True
        assert Trace().run(tmp_path, RowKind.CONTROL).met is None
        path, runs = tmp_path / "other.jsonl", []
        listed = ListedRun(trace=str(path))
        content = (SAMPLES / "offloadable_restore.jsonl").read_bytes()
        path.write_bytes(b"".join(content.splitlines(keepends=True)[:8]))
        assert read_run(RowKind.CONTROL, listed).met is None
        for number in range(2):
            path.write_text(json.dumps({"event": "x", "event_sequence": 0, "value": number}))
            runs.append(read_run(RowKind.CONTROL, listed))
        assert [True, True] == [run.met for run in runs]
        assert runs[0].sha256 != runs[1].sha256


class TestRun:
    """Of one trace."""

    @pytest.mark.parametrize("kind", RowKind)
    def test_samples(self, kind: RowKind) -> None:
        """Each sample shows what its row expects, and what no other row does."""
        (row,) = (row for row in load_runs(Path(SAMPLE)) if row.kind is kind)
        met = {name: read_run(name, row.runs[0]).met for name in RowKind}
        assert [kind] == [name for name, each in met.items() if each]

    def test_same(self, tmp_path: Path) -> None:
        """A failure, its outcome, and the time from one to the other."""
        run = changed(tmp_path, lambda lines: lines)
        assert (True, 1, 1, (500_000,)) == (
            run.met,
            run.shown.failed,
            run.shown.outcomes,
            run.shown.latencies_ns,
        )

    def test_unreported(self, tmp_path: Path) -> None:
        """A failure without its report is not as expected."""

        def unreported(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return [each for each in lines if "claim_scoped_outcome_type" not in each]

        run = changed(tmp_path, unreported)
        assert (False, 1, 0) == (run.met, run.shown.failed, run.shown.outcomes)

    def test_before(self, tmp_path: Path) -> None:
        """A report that comes before the failure is no outcome."""

        def early(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
            reports = [each for each in lines if "claim_scoped_outcome_type" in each]
            rest = [each for each in lines if "claim_scoped_outcome_type" not in each]
            at = next(n for n, each in enumerate(rest) if each["event"].endswith("load_failed"))
            moved = [*rest[: at - 1], *reports[:2], *rest[at - 1 :]]
            return [{**each, "monotonic_ns": n} for n, each in enumerate(moved)]

        run = changed(tmp_path, early)
        assert (0, False) == (run.shown.outcomes, run.met is True)

    def test_one_moment(self, tmp_path: Path) -> None:
        """Events of one time state no latency, and neither do events without times."""
        for change in ({"monotonic_ns": 5}, {"monotonic_ns": None, "timestamp_ns": None}):

            def timed(
                lines: list[dict[str, Any]], change: dict[str, Any] = change
            ) -> list[dict[str, Any]]:
                return [
                    {k: v for k, v in (each | change).items() if v is not None} for each in lines
                ]

            run = changed(tmp_path, timed)
            assert (1, ()) == (run.shown.outcomes, run.shown.latencies_ns)

    def recorded(self, folder: Path, change: Change, name: str) -> Shown:
        """What a recorded trace shows with its lines changed and numbered again."""
        lines = [json.loads(each) for each in (RECORDINGS / f"{name}.jsonl").open()]
        lines = [{**each, "sequence": n} for n, each in enumerate(change(lines))]
        path = folder / "run.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in lines))
        return read_run(RowKind.FAILURE, ListedRun(trace=str(path))).shown

    def test_unloaded(self, tmp_path: Path) -> None:
        """A claim that is reported restored without a load was not."""

        def unloaded(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return [each for each in lines if each["kind"] != "load_finished"]

        assert 1 == self.recorded(tmp_path, lambda lines: lines, "offloadable").restored
        assert 0 == self.recorded(tmp_path, unloaded, "offloadable").restored

    @pytest.mark.parametrize(
        "other",
        [{"claim_id": "x"}, {"request_id": "x"}, {"outcome_claim_id": "x"}],
        ids=lambda other: "".join(other),
    )
    def test_other(self, other: dict[str, str], tmp_path: Path) -> None:
        """An outcome that names another claim or request is none."""

        def changed(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
            named = "claim_restoration_failed"
            return [each | other if each["kind"] == named else each for each in lines]

        found = self.recorded(tmp_path, changed, "offloadable_load_fails")
        assert (1, 0, True) == (found.failed, found.outcomes, found.reports > 0)

    def test_restated(self, tmp_path: Path) -> None:
        """What is stated again does not count twice."""

        def again(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
            (report,) = (each for each in lines if each["kind"] == "claim_restoration_failed")
            report = report | {"restated": True, "time_ns": lines[-2]["time_ns"]}
            mark = {"kind": "stream_restated", "stream": report["stream"]}
            return [*lines[:-1], mark, report, lines[-1]]

        assert 1 == self.recorded(tmp_path, again, "offloadable_load_fails").reports

    def test_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A run with more loads than are followed is unclear."""
        monkeypatch.setattr("monitor.repeat.run.MOST_LOADS", 0)
        trace = ListedRun(trace=str(SAMPLES / "offloadable_failed_restore.jsonl"))
        run = read_run(RowKind.FAILURE, trace)
        assert (None, "it has more than 0 loads") == (run.met, run.why)

    @pytest.mark.parametrize(("kind", "name"), RECORDED)
    def test_gap(self, kind: RowKind, name: str, tmp_path: Path) -> None:
        """A recorded trace that lacks any one of its lines is not as expected, or leaves it open;
        whole, it is."""
        lines = content_of(name).splitlines(keepends=True)
        path = tmp_path / "run.jsonl"
        path.write_bytes(b"".join(lines))
        assert read_run(kind, ListedRun(trace=str(path))).met is True
        for without in range(len(lines)):
            path.write_bytes(b"".join([*lines[:without], *lines[without + 1 :]]))
            run = read_run(kind, ListedRun(trace=str(path)))
            assert run.met is not True, lines[without]


def listed(**more: Any) -> dict[str, Any]:
    """A list of one row with one run."""
    row = {"row": "a", "kind": "success", "due": 1, "runs": [{"trace": "a.jsonl"}]}
    return {"schema": "resident-claims/runs/1", "rows": [row | more]}


class TestCommand:
    def test_text(self, capsys: Capture) -> None:
        """The samples hold, in tables that fit."""
        assert 0 == main(["repeat", SAMPLE])
        out = capsys.readouterr().out
        assert out.startswith("holds: each of 3 runs shows what is expected of its row\n")
        assert max(map(len, out.splitlines())) <= 80
        assert "not stated" in out

    def test_json(self, capsys: Capture) -> None:
        """JSON is as its schema says."""
        assert 0 == main(["repeat", SAMPLE, "--format", "json"])
        found, schema = json.loads(capsys.readouterr().out), schema_of("repeat/1")
        assert [] == faults(found, schema, schema)
        assert [None, {"failures": 1, "p50_ns": 500_000, "p95_ns": 500_000}, None] == [
            row["latency"] for row in found["rows"]
        ]

    def test_progress(self, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
        """Where it is piped, long reading says which run is read, and for how many seconds."""
        monkeypatch.setattr(working, "EVERY", 0.01)
        monkeypatch.setattr(cli, "read_run", lambda *of: (time.sleep(0.1), read_run(*of))[1])
        assert 0 == main(["repeat", SAMPLE])
        said = capsys.readouterr().err.splitlines()
        assert all(re.fullmatch(r"run [123] of 3: .*\.jsonl \(\d+ s\)", line) for line in said)
        assert {"1", "2", "3"} == {line.split()[1] for line in said}

    def test_markdown(self, tmp_path: Path, capsys: Capture) -> None:
        """Markdown is written to a file, and over no input."""
        path = tmp_path / "table.md"
        assert 0 == main(["repeat", SAMPLE, "--format", "md", "-o", str(path)])
        assert "| failure | 1 | 1 | 1 | 0 | 1 | 1 | 1 | load fails |" in path.read_text()
        assert 2 == main(["repeat", SAMPLE, "-o", SAMPLE])
        assert "it is also an input" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("more", "says"),
        [
            ({}, "a.jsonl"),
            ({"runs": [{"trace": "a.jsonl"}] * 2}, "two runs have the trace a.jsonl"),
            ({"runs": [{"trace": "a.jsonl", "loaded_bytes": -1}]}, "loaded_bytes"),
            ({"runs": [{"trace": ""}]}, "trace"),
            ({"kind": "other"}, "kind"),
            ({"due": 0}, "due"),
            ({"times": 3}, "times"),
        ],
    )
    def test_refused(
        self, more: dict[str, Any], says: str, tmp_path: Path, capsys: Capture
    ) -> None:
        """A list that is none, or names a trace that is not there, is bad input."""
        path = tmp_path / "runs.json"
        path.write_text(json.dumps(listed(**more)))
        assert 2 == main(["repeat", str(path)])
        err = capsys.readouterr().err
        assert (True, 1) == (says in err, err.count("error:"))

    def test_two_rows(self, tmp_path: Path, capsys: Capture) -> None:
        """Two rows of one name are bad input."""
        path = tmp_path / "runs.json"
        twice = listed()
        twice["rows"].append(twice["rows"][0] | {"runs": []})
        path.write_text(json.dumps(twice))
        assert 2 == main(["repeat", str(path)])
        err = capsys.readouterr().err
        assert ("two rows are called a" in err, "'due'" in err) == (True, False)

    def test_copies(self, tmp_path: Path, capsys: Capture) -> None:
        """One run is no second one: not by an absolute path, a link, spaces, or compression."""
        rows = [
            {**row.model_dump(), "runs": [{"trace": os.path.abspath(e.trace)} for e in row.runs]}
            for row in load_runs(Path(SAMPLE))
        ]
        content = (RECORDINGS / "offloadable.jsonl").read_bytes()
        content = re.sub(rb',"stream":"[^"]*"', b"", content)
        (tmp_path / "a.jsonl").write_bytes(content)
        (tmp_path / "link.jsonl").symlink_to("a.jsonl")
        (tmp_path / "spaces.jsonl").write_bytes(content.replace(b'":', b'": '))
        (tmp_path / "packed.jsonl.gz").write_bytes(gzip.compress(content))
        for copy in (tmp_path / "a.jsonl", "./a.jsonl", *map(str, tmp_path.glob("*.jsonl*"))):
            rows[0] |= {"due": 2, "runs": [{"trace": "a.jsonl"}, {"trace": str(copy)}]}
            (tmp_path / "runs.json").write_text(json.dumps(listed() | {"rows": rows}))
            assert 3 == main(["repeat", str(tmp_path / "runs.json")]), copy
            assert "it has the same events as" in " ".join(capsys.readouterr().out.split())

    @pytest.mark.parametrize("more", [{"runs": None}, {"rows": None}])
    def test_null(self, more: dict[str, None], tmp_path: Path, capsys: Capture) -> None:
        """A list that is null is bad input, and the error says what to write."""
        path = tmp_path / "runs.json"
        path.write_text(json.dumps(listed() | more if "rows" in more else listed(**more)))
        assert 2 == main(["repeat", str(path)])
        assert "a list is missing" in capsys.readouterr().err

    def test_standard_input(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A trace that is called - is a file of that name, and not standard input."""
        monkeypatch.chdir(tmp_path)
        Path("runs.json").write_text(json.dumps(listed(runs=[{"trace": "-"}])))
        Path("-").write_bytes((SAMPLES / "offloadable_restore.jsonl").read_bytes())
        (row,) = load_runs(Path("runs.json"))
        assert read_run(row.kind, row.runs[0]).met

    def test_list_schema(self) -> None:
        """A list is as its schema says."""
        schema = schema_of("runs/1")
        assert [] == faults(listed(), schema, schema)
        assert [] != faults(listed(kind="other"), schema, schema)
