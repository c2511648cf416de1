"""Streams made from public bug reports of serving engines end as their table says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from monitor.check.files import EXIT_CODES, check
from spec.contract.modes import Bundle

FOLDER: Final = Path(__file__).parents[3] / "shared" / "traces" / "public"
_ROW: Final = re.compile(r"\| (\w+\.jsonl) \|[^|]*\| ([^|]*) \|")


def _rows() -> list[tuple[str, set[int]]]:
    """Each file with the exits that its table allows."""
    page = FOLDER / "README.md"
    if not page.exists():
        return []
    found = _ROW.findall(page.read_text(encoding="utf-8"))
    return [(name, {int(digit) for digit in re.findall(r"\d", exits)}) for name, exits in found]


@pytest.mark.skipif(not FOLDER.exists(), reason="the streams are kept beside the checkout")
class TestPublic:
    """The table of the folder."""

    def test_whole(self) -> None:
        """Each of the eight streams has a row."""
        assert sorted(path.name for path in FOLDER.glob("*.jsonl")) == sorted(n for n, _ in _rows())
        assert len(_rows()) == 8

    @pytest.mark.parametrize(("name", "exits"), _rows())
    def test_exit(self, name: str, exits: set[int]) -> None:
        """A check of the stream ends with one of the exits that are stated."""
        report = check([str(FOLDER / name)], None, Bundle.CONTRACT)
        assert EXIT_CODES[report.verdict] in exits

    def test_it_says_where_it_contradicts(self) -> None:
        """A violated stream says where it contradicts itself later, and that the theorem ends."""
        report = check([str(FOLDER / "store_event_missing.jsonl")], None, Bundle.CONTRACT)
        assert [(each.code, each.at and each.at.line) for each in report.breaks] == [("RC113", 13)]
        assert not report.theorem.applies
