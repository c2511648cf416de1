"""A fleet of files of each form, judged in two runs with more lines for the second."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow
import pyarrow.parquet
import pytest

from monitor.check.files import check
from monitor.follow.verdict_line import VerdictLine
from spec.contract.modes import Bundle
from tests.monitor.follow.traces import trace
from tests.monitor.input.kv_lines import captured, message, stored
from tests.soak.clean import clean
from tests.soak.compare import compared, due_of
from tests_fleet.runs import QUICK, Printed, fleet, parquet_rows, verdicts, write

SAMPLES = Path("monitor/samples")
ROUTED = SAMPLES / "modes/routed_reuse/reuse_routing_attribution.broken.jsonl"


class Judged(NamedTuple):
    """What two runs wrote and printed, and the files with which each source is compared."""

    folder: Path
    whole: dict[str, Path]
    printed: list[Printed]
    after_first: list[VerdictLine]

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def rows(self, kind: str) -> list[dict[str, Any]]:
        parts = (self.out / "rows" / "parquet").glob(f"batch=*/kind={kind}")
        return [row for part in parts for row in parquet_rows(part)]

    def table(self, name: str) -> list[dict[str, Any]]:
        return parquet_rows(self.out / "fleet" / name / "parquet")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """Two runs over one folder of checkpoints; a piece of `pods/` comes between them."""
    folder = tmp_path_factory.mktemp("fleet")
    source, whole = folder / "source", {}
    streams = clean(Random(5), "s", 700)
    whole["streams.jsonl.gz"] = write(folder / "streams.jsonl", streams)
    source.mkdir()
    (source / "streams.jsonl.gz").write_bytes(gzip.compress(b"\n".join(streams)))
    rows = trace(30)
    whole["rows.parquet"] = write(folder / "rows.jsonl", rows)
    table = pyarrow.table({"line": [row.decode() for row in rows]})
    pyarrow.parquet.write_table(table, source / "rows.parquet")
    lines = trace(90)
    whole["pods/"] = write(folder / "pods.jsonl", lines)
    write(source / "pods" / "p-9.jsonl", lines[:400])
    write(source / "bad.jsonl", [*rows[:100], b"{no", *rows[100:]])
    write(source / "victim 1%41.jsonl", (SAMPLES / "hard_protected_victim.jsonl").open("rb"))
    write(source / "router.jsonl", ROUTED.open("rb"))
    same_id = (b'"claim:system-prompt"', b'"claim:C"')
    sample = (SAMPLES / "hard_protected_refusal.jsonl").read_bytes().replace(*same_id)
    write(source / "engine.jsonl", sample.splitlines())
    write(source / "capture.jsonl", [captured(message(n, stored(n))) for n in range(3)])
    first = fleet(source, folder / "state", folder / "out")
    after_first = verdicts(folder / "out", "verdicts")
    write(source / "pods" / "p-10.jsonl", lines[400:])
    second = fleet(source, folder / "state", folder / "out")
    return Judged(folder, whole, [first, second], after_first)


class TestVerdicts:
    @pytest.mark.parametrize("source", ["streams.jsonl.gz", "rows.parquet", "pods/"])
    def test_as_one_machine(self, judged: Judged, source: str) -> None:
        """Each source has the verdicts that `check` finds in its lines, each once."""
        own = [line for line in verdicts(judged.out) if line.source == source]
        assert compared(own, due_of(judged.whole[source]), whole=True)["equal"] >= 30

    def test_a_bad_line(self, judged: Judged) -> None:
        """Where `check` is inconclusive because of a bad line, so is the fleet."""
        path = judged.folder / "source" / "bad.jsonl"
        report = check([str(path)], None, Bundle.CONTRACT, lenient=True)
        due = {claim.claim_id: str(claim.verdict) for claim in report.claims}
        rows = judged.table("claims")
        assert due == {r["claim_id"]: r["verdict"] for r in rows if r["source"] == "bad.jsonl"}

    def test_the_second_run_goes_on(self, judged: Judged) -> None:
        """The second run judges the new piece alone, and writes no line of the first again."""
        ids = [line.id for line in verdicts(judged.out, "verdicts")]
        assert len({*ids}) == len(ids)
        before = {line.id for line in judged.after_first}
        new = [line for line in verdicts(judged.out, "verdicts") if line.id not in before]
        assert before < {*ids}
        assert {"pods/"} == {line.source for line in new}

    def test_a_capture_of_kv_events(self, judged: Judged) -> None:
        """A capture is read to its end: no line of it is refused, and it has no verdict."""
        kinds = ("verdicts", "claims", "routes", "rejected")
        assert not [r for k in kinds for r in judged.rows(k) if r["source"] == "capture.jsonl"]
        assert {"bad.jsonl"} == {row["source"] for row in judged.rows("rejected")}

    def test_parquet_and_lines_are_the_same(self, judged: Judged) -> None:
        """The rows in Parquet have the lines of the JSON files."""
        rows = judged.rows("verdicts")
        lines = {line.id: line for line in verdicts(judged.out, "verdicts")}
        assert lines.keys() == {row["id"] for row in rows}
        assert all(lines[row["id"]].source == row["source"] for row in rows)

    def test_what_is_printed(self, judged: Judged) -> None:
        """Both runs print counts by verdict, and exit with the code of a violation."""
        for code, said, _ in judged.printed:
            assert (1, "violated") == (code, said["verdict"])
        last = judged.printed[1].found
        assert len(judged.table("claims")) == last["kept"] + last["violated"] + last["inconclusive"]
        assert len(judged.table("alerts")) == last["alerts"]


class TestTables:
    def test_an_id_in_two_streams(self, judged: Judged) -> None:
        """A claim id in the streams of two sources is listed with both."""
        (row,) = (r for r in judged.table("shared") if r["claim_id"] == "claim:C")
        assert 2 == row["streams"]
        assert {"engine.jsonl", "router.jsonl"} == {p.split(" ")[0] for p in row["places"]}

    def test_owners(self, judged: Judged) -> None:
        """The blocks of an owner are summed over the engines."""
        owners = {row["owner"]: row for row in judged.table("owners")}
        claims = judged.table("claims")
        for name, row in owners.items():
            own = [c for c in claims if c["owner"] == name]
            held = [c["footprint"] or 0 for c in own if c["owed"]]
            assert (len(own), sum(held)) == (row["claims"], row["owed_blocks"])
        assert owners["tenant-a"]["sources"] >= 2

    def test_residency(self, judged: Judged) -> None:
        """Claims are counted by model and owner, with those that were harmed."""
        rows = judged.table("residency")
        assert len(judged.table("claims")) == sum(row["claims"] for row in rows)
        assert "kv:sample-model:v1" in {row["model"] for row in rows}

    def test_a_route_leads_to_an_engine(self, judged: Judged) -> None:
        """A router's stream is joined with the engine that has a claim of the same id."""
        (row,) = (r for r in judged.table("routes") if r["source"] == "router.jsonl")
        assert "engine.jsonl" == row["engine_source"]
        assert row["routed"] >= 1

    def test_a_file_of_any_name(self, judged: Judged) -> None:
        """A blank and a percent sign in the name of a file are what they are."""
        (row,) = (r for r in judged.table("claims") if r["source"] == "victim 1%41.jsonl")
        assert ("violated", 60) == (row["verdict"], row["footprint"])

    def test_alerts(self, judged: Judged) -> None:
        """Each violation is an alert, and so is the first line of a stream that was refused."""
        alerts = judged.table("alerts")
        of = {kind: [a for a in alerts if a["what"] == kind] for kind in ("violation", "rejected")}
        lines = judged.rows("verdicts")
        assert len([r for r in lines if r["what"] == "violation"]) == len(of["violation"]) > 0
        assert {("bad.jsonl", 101)} == {(a["file"], a["line"]) for a in of["rejected"]}


class TestErrors:
    def test_other_options(self, judged: Judged) -> None:
        """A folder of checkpoints that was begun with another mode is refused in a sentence."""
        folder = judged.folder
        done = fleet(folder / "source", folder / "state", judged.out, "--mode", "offloadable")
        assert 2 == done.code
        assert "was begun with other options" in done.wrong


def test_submitted(tmp_path: Path) -> None:
    """spark-submit runs the command by one file."""
    import pyspark

    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    write(tmp_path / "in" / "a.jsonl", (SAMPLES / "hard_protected_refusal.jsonl").open("rb"))
    command = [str(submit), "--master", "local[1]", "--conf", "spark.ui.enabled=false"]
    command += ["monitor/fleet/submit.py", str(tmp_path / "in"), "--format", "json"]
    command += ["--checkpoint", str(tmp_path / "state"), "--out", str(tmp_path / "out")]
    own = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    own |= {"PYTHONPATH": str(Path.cwd())}
    done = subprocess.run(
        [*command, "--partitions", "1"],
        env=os.environ | QUICK | own,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode, done.stderr[-2000:]
    printed = json.loads(done.stdout[done.stdout.rfind("\n{") + 1 :])
    assert 1 == printed["kept"]
