"""The pages of the obligations and of the samples, as they are made and as they stand in docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from monitor.__main__ import main
from monitor.cli.sample_pages import pages
from monitor.samples.pairs import chosen
from spec.contract.obligations import OBLIGATIONS
from spec.files.writing import stale

ROOT = Path(__file__).parents[2]
PAGES = pages()
SHOWN = re.compile(r"\$ resident-claims check (\S+)\n(.*?)(?=\n\$ |\n```)", re.DOTALL)
Capture = pytest.CaptureFixture[str]


class TestPages:
    """What is on them."""

    def test_fresh(self) -> None:
        """The pages in docs are the ones that are made (else: make docs), and there is no other."""
        assert [] == stale(ROOT / "docs", PAGES)
        there = {f"obligations/{page.name}" for page in (ROOT / "docs/obligations").iterdir()}
        assert there == set(PAGES) - {"samples.md"}

    @pytest.mark.parametrize("name", OBLIGATIONS)
    def test_check(self, name: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
        """What a page shows of `check` is how its output begins, for a kept and a broken trace."""
        monkeypatch.chdir(ROOT)
        codes = []
        for path, shown in SHOWN.findall(PAGES[f"obligations/{name}.md"]):
            codes.append(main(["check", path]))
            assert capsys.readouterr().out.startswith(shown.rstrip("\n") + "\n")
        assert [0, 1] == codes

    def test_all(self) -> None:
        """The page of the samples has each sentence, with the file that it is about."""
        found = re.findall(r"([^|]+?) \(\[trace\]\(([^)]+)\)\)", PAGES["samples.md"])
        assert [(s.says, s.path) for s in chosen()] == [
            (says.strip(), (ROOT / "docs" / path).resolve()) for says, path in found
        ]

    @pytest.mark.parametrize("name", OBLIGATIONS)
    def test_exercised(self, name: str) -> None:
        """A page says what puts the obligation to the test, in at least one way."""
        part = PAGES[f"obligations/{name}.md"].partition("## Put to the test")[2]
        assert re.search(r"^\* \w", part.partition("\n## ")[0], re.M)
