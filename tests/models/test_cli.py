"""Tests of `python -m models`."""

import json
from pathlib import Path

import pytest

from models.__main__ import main
from models.registry import RUNTIMES
from monitor import check_files


def test_list_names_every_model(capsys: pytest.CaptureFixture[str]) -> None:
    """Every model is listed, as text and as JSON, within 80 columns."""
    assert 0 == main(["list"])
    text = capsys.readouterr().out
    assert all(name in text for name in RUNTIMES)
    assert max(map(len, text.splitlines())) <= 80
    assert 0 == main(["list", "--format", "json"])
    assert list(RUNTIMES) == [each["name"] for each in json.loads(capsys.readouterr().out)]


@pytest.mark.parametrize("name", RUNTIMES)
def test_show_says_what_holds(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What a model says of its states is checked where it is shown."""
    code = main(["show", name, "--format", "json"])
    view = json.loads(capsys.readouterr().out)
    assert code == int(bool(view["broken"] or view["missed"]))
    assert view["states"] > 1
    assert view["source"]


def test_diagram(capsys: pytest.CaptureFixture[str]) -> None:
    """A small model is drawn as Mermaid, each state once and each transition."""
    assert 0 == main(["show", "vllm_pool", "--diagram"])
    text = capsys.readouterr().out
    assert (34, 57) == (text.count(" as s"), text.count(" : "))


def test_simulate_is_reproducible(tmp_path: Path) -> None:
    """The same seed writes the same bytes, another seed others; the monitor reads them."""
    paths = [tmp_path / f"{n}.jsonl" for n in range(3)]
    for path, seed in zip(paths, (7, 7, 8), strict=True):
        name = "prefix cached -> best_effort"
        options = ["--seed", str(seed), "--inference", name, "-o", str(path)]
        assert 0 == main(["walk", "vllm_pool", *options])
    assert paths[0].read_bytes() == paths[1].read_bytes() != paths[2].read_bytes()
    assert "violated" == check_files([str(paths[0])]).verdict


def test_simulate_says_which_folder_it_makes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that is not there is made for `-o`, and that is said, once."""
    target = tmp_path / "new" / "folder" / "run.jsonl"
    for said in (f"made the folder {target.parent}\n", ""):
        assert 0 == main(["walk", "vllm_pool", "--steps", "3", "-o", str(target)])
        assert ("", said) == capsys.readouterr()
    assert target.read_bytes()


def test_simulate_without_an_inference_states_facts_alone(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    """A runtime without claims names none."""
    assert 0 == main(["walk", "vllm_pool", "--steps", "20"])
    lines = [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]
    assert lines
    assert not any("claim_id" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "vllm_poo"], "did you mean vllm_pool"),
        (["show", "vllm_pool:no"], "there is no variant 'no'"),
        (["walk", "vllm_pool", "--seed", "seven"], "--seed"),
        (["walk", "vllm_pool", "--seed", "-1"], "--seed"),
        (["walk", "vllm_pool", "--steps", "0"], "--steps"),
        (["walk", "vllm_pool", "--inference", "pin"], "inference of this model"),
        (["walk", "vllm_pool", "-o", "/proc/none/x"], "cannot write"),
    ],
)
def test_bad_input(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is mistyped exits 2 with one line."""
    assert 2 == main(arguments)
    error = capsys.readouterr().err
    assert says in error
    assert 1 == error.count("\n")
