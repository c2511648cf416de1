"""What a live claim takes of memory, and what claims that came and went leave behind."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from xml.etree import ElementTree

import pytest

from monitor.stream import retired_claims
from tests.bench_bounded import LIVE as AT_A_TIME
from tests.bench_bounded import main
from tests.bench_memory import AT_ONCE, Run, gone

LIVE = 300
MOST = 5_500  # bytes for each claim of four blocks; the aim is 1,024
MOST_MORE = 220  # bytes for each further block; the aim is 100


def traced(blocks: int) -> float:
    """Bytes for each live claim."""
    run = Run()
    run.begin(LIVE, LIVE * blocks, blocks)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(LIVE):
            run.begin(number, number * blocks, blocks)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return (after - before) / LIVE


class TestMemory:
    def test_live(self) -> None:
        """A live claim, and each further block of one, take so much and no more."""
        few, more = traced(4), traced(12)
        assert few < MOST
        assert (more - few) / 8 < MOST_MORE

    def test_gone(self) -> None:
        """All claims that came and went are kept, and those that were forgotten are counted."""
        held, conclusion = gone(3 * AT_ONCE, parts=3, ended=AT_ONCE)
        assert "kept" == conclusion.verdict
        assert [0, AT_ONCE, 2 * AT_ONCE, 3 * AT_ONCE] == [each.claims for each in held]
        assert 2 * AT_ONCE == sum(number for _, number in conclusion.forgotten)

    @pytest.mark.slow
    def test_bounded(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The run of a bounded monitor: each claim leaves a line that says that it was kept; the
        limit that is reached is drawn.
        """
        monkeypatch.setattr(retired_claims, "_LONGEST", 0)  # no claim has a record
        drawn, claims = tmp_path / "memory.svg", 12 * AT_A_TIME
        asked = ["--claims", str(claims), "--ids", "200", "--format", "json"]
        assert 0 == main([*asked, "--plot", str(drawn)])
        found = json.loads(capsys.readouterr().out)
        assert {"kept": claims} == found["lines"]
        assert ["ids"] == list(found["limits"])
        texts = [each.text for each in ElementTree.parse(drawn).iter() if each.text]
        assert "limit: ids" in texts
