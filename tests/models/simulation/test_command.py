"""`resident-claims simulate`: its table, its JSON, its rows, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from spec.cli.console import main
from tests.bench_simulation import BLOCK, agents

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    """A file of 400 requests."""
    file = tmp_path / "requests.jsonl"
    lines = [json.dumps({"name": "agents", "block": BLOCK}).encode()]
    lines += [msgspec.json.encode(each) for each in agents(400)]
    file.write_bytes(b"\n".join(lines))
    return file


def test_table(workload: Path, capsys: Capture) -> None:
    """The best policy is first, lru is among them, and a sentence says what it costs."""
    asked = ["--blocks", "1200", "--policy", "no_reuse", "--claim", "hard_protected:quota=0.6"]
    assert 0 == main(["simulate", str(workload), *asked])
    text = capsys.readouterr().out
    table = text[: text.index("\n\nsaved: ")]
    assert table.index("  claim:") < table.index("  lru") < table.index("  no_")
    assert "of a pool, and saves" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_json(workload: Path, tmp_path: Path, capsys: Capture) -> None:
    """JSON has the counts of each policy; the same run gives the same; rows are written."""
    rows = tmp_path / "rows.jsonl"
    asked = ["simulate", str(workload), "--blocks", "900", "--format", "json", "--rows", str(rows)]
    assert 0 == main(asked)
    first = capsys.readouterr().out
    assert 0 == main(asked)
    assert first == capsys.readouterr().out
    document = json.loads(first)
    assert "resident-claims/simulation/1" == document["schema"]
    (lru,) = document["policies"]
    kept = lru["hit_tokens"] + lru["loaded_tokens"]
    assert lru["prompt_tokens"] == kept + lru["computed_tokens"]
    written = [json.loads(line) for line in rows.read_text().splitlines()]
    assert 400 == len(written) == lru["requests"]
    assert lru["hit_tokens"] == sum(row["hit"] for row in written)
    assert lru["evicted_blocks"] == sum(len(row["victims"]) for row in written)


def test_workload(workload: Path, capsys: Capture) -> None:
    """The first requests are taken, the seed chooses what is generated, and a file has a block."""
    found = []
    for more in ((), ("--limit", "30"), ("--seed", "5")):
        asked = ["agents:sessions=9,turns=5", "--blocks", "900", "--format", "json", *more]
        assert 0 == main(["simulate", *asked])
        found.append(json.loads(capsys.readouterr().out))
    assert [45, 30, 45] == [each["requests"] for each in found]
    assert found[0]["policies"] != found[2]["policies"]
    assert 2 == main(["simulate", str(workload), "--blocks", "900", "--block", "32"])
    assert "--block" in capsys.readouterr().err


def test_advice(capsys: Capture) -> None:
    """A sentence for each policy says what it wins, what it costs, or that it is as good as lru."""
    asked = ["agents:sessions=60,turns=6,jps=2", "--blocks", "900", "--format", "json"]
    policies = ["--policy", "pin:ttl=10", "--policy", "no_reuse", "--claim", "hard_protected"]
    assert 0 == main(["simulate", *asked, *policies])
    document = json.loads(capsys.readouterr().out)
    lru, pin, *_ = document["policies"]
    pins, no_reuse, claims = document["advice"]
    assert pin["wait_s"]["p99"] > 2 * lru["wait_s"]["p99"]
    wait = f"99 of 100 wait at most {pin['wait_s']['p99']:.1f} s (lru {lru['wait_s']['p99']:.1f} s)"
    assert wait in pins.partition("It costs: ")[2]
    assert f"{pin['claims']['most_blocks'] / 900:.0%} of a pool" in pins
    assert "points less than lru. It costs: " in no_reuse
    assert claims.startswith("claim:mode=hard_protected holds at most 1 claim, 7% of a pool, and ")
    assert "is as good as lru" in claims


class TestRegret:
    """What a policy loses against the oracle."""

    ASKED = ("agents:sessions=90,turns=1,jps=0.2,prompts=9,system=512", "--blocks", "250")

    def table(self, capsys: Capture, *options: str) -> dict[str, str]:
        """The column `regret`, by policy."""
        assert 0 == main(["simulate", *self.ASKED, *options])
        lines = capsys.readouterr().out.splitlines()
        (head,) = (at for at, line in enumerate(lines) if line.startswith("saved  "))
        assert "regret" == lines[head].split()[3]
        rows = [line.split() for line in lines[head + 1 : lines.index("", head)]]
        return {row[-1]: row[1 if row[-1] == "lru" else 2] for row in rows}

    def test_bound(self, capsys: Capture) -> None:
        """Where no request waits, each policy loses against the oracle, and by so much."""
        options = ("--policy", "oracle", "--policy", "no_reuse")
        found = self.table(capsys, *options)
        assert 0 == main(["simulate", *self.ASKED, *options, "--format", "json"])
        document = json.loads(capsys.readouterr().out)
        saved = {
            each["policy"]: each["hit_tokens"] / each["prompt_tokens"]
            for each in document["policies"]
        }
        lost = {name: saved["oracle"] - share for name, share in saved.items()}
        assert lost == document["regret"]
        assert {name: f"{100 * share:.1f}" for name, share in lost.items()} == found
        assert 0 == lost["oracle"] < lost["lru"] < lost["no_reuse"]

    @pytest.mark.parametrize(
        ("options", "without"),
        [
            (("--policy", "offload"), {"offload"}),
            (("--max-running", "1"), {"lru", "oracle"}),
            (("--engines", "2"), {"lru", "oracle"}),
        ],
    )
    def test_no_bound(self, options: tuple[str, ...], without: set[str], capsys: Capture) -> None:
        """It is not stated where a request waits, a tier is used, or engines divide requests."""
        found = self.table(capsys, "--policy", "oracle", *options)
        assert without == {policy for policy, regret in found.items() if regret == "-"}

    def test_turns(self, capsys: Capture) -> None:
        """Turns come when answers end, so that the order depends on the policy; it is said."""
        asked = ["agents:sessions=9,turns=4", "--blocks", "900", "--policy", "oracle"]
        assert 0 == main(["simulate", *asked])
        said = " ".join(capsys.readouterr().out.split())
        assert "There is none (-) where oracle is no bound" in said

    def test_not_asked(self, workload: Path, capsys: Capture) -> None:
        """Without the oracle there is no such column."""
        assert 0 == main(["simulate", str(workload), "--blocks", "900"])
        assert "regret" not in capsys.readouterr().out


def test_groups(workload: Path, capsys: Capture) -> None:
    """A comparison and a sweep say that windows and several groups are not simulated."""
    for options in (("--blocks", "900"), ("--sweep", "blocks=400..900/2")):
        assert 0 == main(["simulate", str(workload), *options])
        said = " ".join(capsys.readouterr().out.split())
        assert "windows, states and several groups are not simulated" in said


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"schema": "resident-claims/cost/2", "cost": {}}', "resident-claims/cost/1"),
        ('{"schema": "resident-claims/cost/1", "cost": {"decode": 1}}', "decode"),
        ('{"schema": "resident-claims/cost/1", "cost": {"decode_s": -1}}', "decode_s"),
        ('{"schema": "resident-claims/cost/1", "cost": {"decode_s": 1e308}}', "decode_s"),
        ('{"schema": "resident-claims/cost/1", "cost": {"step_s": 1e300}}', "step_s"),
        ("[" * 70_000, "it has over 65536 bytes"),
    ],
)
def test_bad_cost(workload: Path, tmp_path: Path, capsys: Capture, content: str, says: str) -> None:
    """A cost file of another form is bad input."""
    cost = tmp_path / "cost.json"
    cost.write_text(content)
    assert 2 == main(["simulate", str(workload), "--blocks", "900", "--cost", str(cost)])
    assert says in capsys.readouterr().err


def test_cost(workload: Path, tmp_path: Path, capsys: Capture) -> None:
    """The figures of a cost file are used: what computes faster answers sooner."""
    cost = tmp_path / "cost.json"
    figures = {"schema": "resident-claims/cost/1", "cost": {"prefill_tokens_s": 1e9, "step_s": 0}}
    cost.write_text(json.dumps(figures))
    asked = ["simulate", str(workload), "--blocks", "900", "--format", "json"]
    assert 0 == main([*asked, "--cost", str(cost)])
    (lru,) = json.loads(capsys.readouterr().out)["policies"]
    assert 0.001 > lru["first_token_s"]["p99"]


def test_no_file(tmp_path: Path, capsys: Capture) -> None:
    """A workload that is not there is bad input."""
    assert 2 == main(["simulate", str(tmp_path / "none.jsonl"), "--blocks", "9"])
    assert "none.jsonl" in capsys.readouterr().err


def test_too_many_blocks(workload: Path, capsys: Capture) -> None:
    """Pools that would not fit into memory together are refused."""
    asked = ["simulate", str(workload), "--blocks", str(1 << 24), "--engines", "1024"]
    assert 2 == main(asked)
    assert "blocks are over" in capsys.readouterr().err
