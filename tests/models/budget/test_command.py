"""Tests of `python -m models budget`."""

import json
from pathlib import Path

import pytest

from models.__main__ import main

LLAMA = str(Path(__file__).parents[3] / "docs/examples/llama-3.1-8b.json")


@pytest.mark.parametrize(("memory", "blocks"), [("11328937984", 5402), ("10.55GiB", 5401)])
def test_example(memory: str, blocks: int, capsys: pytest.CaptureFixture[str]) -> None:
    """The execution note's pool has 5,402 blocks by its bytes; 10.55 GiB, to which it rounds them,
    is half a block less."""
    assert 0 == main(["budget", LLAMA, "--kv-cache-memory", memory, "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert 2 << 20 == found["block_bytes"]
    assert blocks == found["tiers"][0]["blocks"]
    assert (blocks - 1) * 16 == found["tiers"][0]["longest"]


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    """The answer comes first, within 80 columns."""
    arguments = ["budget", LLAMA, "--kv-cache-memory", "11328937984", "--prefix", "2048"]
    assert 0 == main(arguments)
    text = capsys.readouterr().out
    expected = (
        "5,402 blocks of 16 tokens: 86,416 tokens; 42 claims of a prefix of "
        "2,048 tokens fit into an empty pool."
    )
    assert " ".join(text.split()).startswith(expected)
    assert max(map(len, text.splitlines())) <= 80


def test_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    """An estimate says that it is one, and is a range."""
    arguments = ["budget", LLAMA, "--gpu-memory", "31.34GiB", "--gpu-memory-utilization", "0.85"]
    assert 0 == main([*arguments, "--prefix", "2048"])
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith(
        "An estimate: 3,875 to 5,830 blocks of 16 tokens: 61,984 to 93,264 tokens"
    )
    assert "gpu, at least 7.57 GiB 3,875" in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no memory is stated; give --kv-cache-memory or"),
        (["--kv-cache-memory", "1GiB", "--gpu-memory", "1GiB"], "more than one memory is stated"),
        (["--kv-cache-memory", "1GiB", "--weights", "1GiB"], "--weights is for an estimate"),
        (["--kv-cache-memory", "lots"], "'lots' is no size"),
        (["--kv-cache-memory", "10.55"], "'10.55' has no unit; write 10.55GiB"),
        (["--kv-cache-memory", "80"], "80 bytes of gpu hold no block, which has 2 MiB"),
        (["--kv-cache-memory", "1GiB", "--tier", "cpu=64"], "64 bytes of cpu hold no block"),
        (["--gpu-memory", "1GiB"], "the weights alone take"),
        (["--gpu-memory", "80GiB", "--gpu-memory-utilization", "nan"], "utilization"),
        (["--kv-cache-memory", "1GiB", "--prefix", "7"], "has no whole block"),
        (["--kv-cache-memory", "1GiB", "--tier", "cpu"], "write NAME=SIZE"),
        (["--kv-cache-memory", "1GiB", "--tier", "gpu=1GiB"], "and not gpu"),
        (["--kv-cache-memory", "1GiB", *["--tier", "cpu=1GiB"] * 2], "each name once"),
        (["--kv-cache-memory", "1GiB", *["--tier", "cpu=1GiB"] * 17], "17 tiers are stated"),
        (["--kv-cache-memory", "1GiB", "--kv-cache-dtype", "nvfp4"], "nvfp4"),
    ],
)
def test_bad_input(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is mistyped exits 2 with one line."""
    assert 2 == main(["budget", LLAMA, *arguments])
    error = capsys.readouterr().err
    assert says in error
    assert 1 == error.count("\n")


def test_hub_id(capsys: pytest.CaptureFixture[str]) -> None:
    """For the id of a model on a hub, one line says how its config is fetched."""
    assert 2 == main(["budget", "meta-llama/Llama-3.1-8B", "--kv-cache-memory", "1GiB"])
    error = capsys.readouterr().err
    assert "hf download meta-llama/Llama-3.1-8B config.json --local-dir DIR" in error
    assert 1 == error.count("\n")


def test_not_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a model with windows it is said that `simulate` has none."""
    said = "`simulate` has one group of full attention"
    for name, times in (("gpt-oss-20b.json", 1), ("llama-3.1-8b.json", 0)):
        config = str(Path(LLAMA).parent / name)
        assert 0 == main(["budget", config, "--kv-cache-memory", "10GiB"])
        assert times == " ".join(capsys.readouterr().out.split()).count(said)


def test_broken_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A broken link in a folder of a checkpoint is said so."""
    (tmp_path / "config.json").write_bytes(Path(LLAMA).read_bytes())
    (tmp_path / "a.safetensors").symlink_to("gone")
    assert 2 == main(["budget", str(tmp_path), "--gpu-memory", "80GiB"])
    assert "a.safetensors: No such file or directory; give --weights" in capsys.readouterr().err
