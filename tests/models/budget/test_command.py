"""Tests of `python -m models budget`."""

import json
from pathlib import Path

import pytest

from models.__main__ import main

LLAMA = str(Path(__file__).parents[3] / "docs/examples/llama-3.1-8b.json")


@pytest.mark.parametrize(("memory", "blocks"), [("11328937984", 5402), ("10.55GiB", 5401)])
def test_example(memory: str, blocks: int, capsys: pytest.CaptureFixture[str]) -> None:
    """The papers' pool has 5,402 blocks by its bytes; 10.55 GiB, to which they round them, is half
    a block less."""
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
