"""Tests of `python -m proofs counterexamples`, on one runtime."""

import json
from pathlib import Path

import pytest

from monitor import check_files
from proofs.__main__ import main
from proofs.counterexamples.folder import read_suite
from spec.digest import spec_digest
from spec.language.errors import SpecError

RUNTIME = ["--runtime", "vllm_pool"]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite of one runtime."""
    folder = tmp_path_factory.mktemp("suite")
    assert 0 == main(["counterexamples", *RUNTIME, "-o", str(folder)])
    return folder


def copy(suite: Path, to: Path) -> Path:
    """Another copy of it."""
    for path in suite.iterdir():
        (to / path.name).write_bytes(path.read_bytes())
    return to


def rows(folder: Path) -> list[dict[str, object]]:
    """The rows of its index."""
    index = json.loads((folder / "index.json").read_text())
    assert ("resident-claims/suite/1", spec_digest()) == (index["schema"], index["spec"])
    return index["rows"]


def test_each_run_has_its_verdict(suite: Path) -> None:
    """`monitor check` says of each run what the index says, in as many events."""
    assert rows(suite)
    for row in rows(suite):
        path = suite / str(row["trace"])
        report = check_files([str(path)], str(row["mode"]))
        assert row["verdict"] == report.verdict
        assert row["found"] == [n for n, v in report.obligations.items() if v == "violated"]
        assert set(row["found"]) <= set(row["broken"])
        assert row["events"] == len(path.read_bytes().splitlines())
        assert str(row["story"]).count("This breaks") == 1


def test_same_bytes(suite: Path, tmp_path: Path) -> None:
    """The suite is the same each time, to the byte."""
    assert 0 == main(["counterexamples", *RUNTIME, "-o", str(tmp_path / "again")])
    for path in suite.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


def test_index_in_three_forms(suite: Path) -> None:
    """The index is there as JSON, Markdown and CSV, with a line for each inference."""
    names = [str(row["inference"]) for row in rows(suite)]
    markdown = (suite / "index.md").read_text().splitlines()
    table = (suite / "index.csv").read_text().splitlines()
    assert len(names) == len(table) - 1
    assert all(any(name in line for line in markdown) for name in names)


def test_itf_carries_the_events(suite: Path) -> None:
    """The ITF of a run has the same events as its JSONL, state by state."""
    for row in rows(suite):
        name = str(row["trace"]).removesuffix(".jsonl")
        states = json.loads((suite / f"{name}.itf.json").read_text())["states"]
        lines = [json.loads(line) for line in (suite / f"{name}.jsonl").read_bytes().splitlines()]
        assert lines == [event for state in states for event in state["#meta"]["events"]]
        assert states[0]["#meta"]["events"] == []


def test_unchanged(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was just written is as it is now."""
    assert 0 == main(["counterexamples", "--check", str(suite)])
    assert "0 changes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (b'"request_id":"r2"', b'"request_id":"r7"', "trace"),
        (b'"kind":"block_evicted"', b'"kind":"block_lost"', "trace"),
    ],
)
def test_a_changed_trace_is_named(
    suite: Path,
    tmp_path: Path,
    old: bytes,
    new: bytes,
    what: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A trace that is no run of the model is found, and its inference named."""
    path = copy(suite, tmp_path) / "write-no-admit-hard-protected.jsonl"
    path.write_bytes(path.read_bytes().replace(old, new))
    assert 1 == main(["counterexamples", "--check", str(tmp_path), "--format", "json"])
    changes = json.loads(capsys.readouterr().out)["changes"]
    assert {"write no-admit -> hard_protected"} == {each["inference"] for each in changes}
    assert what in {each["what"] for each in changes}


def test_a_changed_index_is_named(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A label, a row and a specification that changed are named."""
    index = copy(suite, tmp_path) / "index.json"
    data = json.loads(index.read_text())
    data["spec"] = "0" * 64
    data["rows"][0]["result"] = "native_sound"
    del data["rows"][-1]
    index.write_text(json.dumps(data))
    assert 1 == main(["counterexamples", "--check", str(tmp_path), "--format", "json"])
    changes = json.loads(capsys.readouterr().out)["changes"]
    whats = [each["what"] for each in changes]
    assert ["spec", "result", "inference"] == [each for each in whats if "." not in each]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--runtime", "vlm_pool"], "did you mean vllm_pool"),
        (["--mode", "hard"], "there is no mode 'hard'"),
        ([*RUNTIME, "--mode", "offloadable"], "tempts anyone to offloadable"),
        (["--check", "nowhere"], "cannot read"),
        (["--check", "nowhere", "--force"], "--check takes only"),
        ([*RUNTIME, "-o", "/proc/none"], "cannot write"),
    ],
)
def test_bad_input(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is mistyped exits 2 with one line."""
    assert 2 == main(["counterexamples", *arguments])
    error = capsys.readouterr().err
    assert says in " ".join(error.split())
    assert 1 == error.count("\n")


def test_foreign_files_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written to a folder with files of no suite, unless it is forced."""
    (tmp_path / "index.md").write_text("mine")
    assert 2 == main(["counterexamples", *RUNTIME, "-o", str(tmp_path)])
    assert "holds files of no suite: index.md" in capsys.readouterr().err
    assert "mine" == (tmp_path / "index.md").read_text()
    assert 0 == main(["counterexamples", *RUNTIME, "-o", str(tmp_path), "--force"])
    assert "mine" != (tmp_path / "index.md").read_text()


@pytest.mark.parametrize("named", ["../outside.jsonl", "/etc/passwd", ".hidden"])
def test_a_trace_outside_the_folder_is_refused(
    suite: Path, tmp_path: Path, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A trace elsewhere is a changed row, and is not read; the suite's other readers refuse it."""
    index = copy(suite, tmp_path) / "index.json"
    data = json.loads(index.read_text())
    data["rows"][0]["trace"] = named
    index.write_text(json.dumps(data))
    assert 1 == main(["counterexamples", "--check", str(tmp_path)])
    (line, last) = capsys.readouterr().out.splitlines()
    assert f'trace was "{named}", is "' in line
    assert "3 inferences checked, 1 change" == last
    with pytest.raises(SpecError, match="is not in the folder"):
        read_suite(tmp_path)


def test_a_link_is_somebody_elses(suite: Path, tmp_path: Path) -> None:
    """What a link in the folder leads to is never written over."""
    mine = tmp_path / "mine"
    mine.write_text("mine")
    folder = tmp_path / "suite"
    folder.mkdir()
    (copy(suite, folder) / "index.md").unlink()
    (folder / "index.md").symlink_to(mine)
    assert 2 == main(["counterexamples", *RUNTIME, "-o", str(folder)])
    assert 0 == main(["counterexamples", *RUNTIME, "-o", str(folder), "--force"])
    assert "mine" == mine.read_text()


def test_an_index_without_rows_is_bad_input(suite: Path, tmp_path: Path) -> None:
    """An index that has no rows is none of a suite."""
    index = copy(suite, tmp_path) / "index.json"
    index.write_text(json.dumps({**json.loads(index.read_text()), "rows": []}))
    assert 2 == main(["counterexamples", "--check", str(tmp_path)])


def test_a_change_is_one_line(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A change in a long text is a line that shows both from where they differ."""
    index = copy(suite, tmp_path) / "index.json"
    story = json.loads(index.read_text())["rows"][1]["story"]
    at = len(story) // 2
    index.write_text(index.read_text().replace(story, f"{story[:at]}CHANGED{story[at:]}"))
    assert 1 == main(["counterexamples", "--check", str(tmp_path)])
    (line, _) = capsys.readouterr().out.splitlines()
    assert "story was ..." in line
    assert "CHANGED" in line
    assert len(line) < 240
