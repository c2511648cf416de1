"""Tests of the command `workload`."""

import gzip
import json
from pathlib import Path

import pytest

from spec.cli.console import main

AGENTS = "agents:sessions=6,turns=4,system=1024,block=512"


def test_describe(capsys: pytest.CaptureFixture[str]) -> None:
    """A workload is counted, as text and as JSON."""
    assert 0 == main(["workload", AGENTS])
    assert "agents:sessions=6,turns=4,system=1024,block=512: 24 requests" in capsys.readouterr().out
    assert 0 == main(["workload", AGENTS, "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    expected = {"requests": 24, "sessions": 6, "turns": 18, "block": 512, "output_tokens": 2400}
    assert expected == {name: found[name] for name in expected}
    prompts = [1124 + 400 * turn for turn in range(4)]
    assert (6 * sum(prompts), max(prompts)) == (found["prompt_tokens"], found["longest_prompt"])
    blocks = [each // 512 for each in prompts]
    known = [2, *((each + 100) // 512 for each in prompts)]  # the system prompt, then each turn
    new = 2 + 6 * sum(max(0, one - other) for one, other in zip(blocks, known, strict=False))
    assert 1 - new / (6 * sum(blocks)) == pytest.approx(found["repeated"])


@pytest.mark.parametrize("form", ["mooncake", "dynamo"])
def test_write_and_read(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is written has the same counts, packed or not, and the same bytes each time."""
    found = []
    for name in ("w.jsonl", "w.jsonl.gz", "again.jsonl.gz"):
        path = str(tmp_path / name)
        assert 0 == main(["workload", AGENTS, "-o", path, "--as", form, "--seed", "3"])
        capsys.readouterr()
        assert 0 == main(["workload", path, "--format", "json"])
        found.append(json.loads(capsys.readouterr().out))
    plain, packed, again = ((tmp_path / each["name"]).read_bytes() for each in found)
    assert plain == gzip.decompress(packed)
    assert packed == again
    assert 1 == len({(each["requests"], each["prompt_tokens"], each["repeated"]) for each in found})


def test_from_one_form_to_the_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A trace is converted, and described as it was before."""
    first, second = str(tmp_path / "m.jsonl"), str(tmp_path / "d.jsonl")
    assert 0 == main(["workload", AGENTS, "-o", first, "--as", "mooncake"])
    assert 0 == main(["workload", first, "-o", second, "--as", "dynamo"])
    capsys.readouterr()
    found = []
    for path in (first, second):
        assert 0 == main(["workload", path, "--format", "json"])
        found.append(json.loads(capsys.readouterr().out) | {"name": "", "span_s": 0})
    assert found[0] == found[1]


def test_an_input_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file that is read cannot be the output."""
    path = str(tmp_path / "w.jsonl")
    assert 0 == main(["workload", AGENTS, "-o", path])
    before = Path(path).read_bytes()
    assert 2 == main(["workload", path, "-o", path])
    assert "it is also an input" in capsys.readouterr().err
    assert before == Path(path).read_bytes()


def test_a_folder_is_no_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be written is named."""
    assert 2 == main(["workload", AGENTS, "-o", str(tmp_path)])
    assert "is a folder" in capsys.readouterr().err
