"""The page on the frame theorem names what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proofs.checks.frame.statements import Lemma
from spec.stream.scopes import DELIVERY

PAGE = (Path(__file__).parents[4] / "docs" / "frame.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\|([^|]*)\|([^|]*)\|", PAGE, re.MULTILINE)


class TestPage:
    """docs/frame.md"""

    def test_lemmas(self) -> None:
        """Its tables have each lemma and no other."""
        first = [name.strip() for row, _ in ROWS for name in row.split(",")]
        shown = [name for name in first if name in {*Lemma}]
        assert [*Lemma] == shown

    def test_reasons(self) -> None:
        """It has each reason of delivery, in order."""
        start = next(n for n, (_, second) in enumerate(ROWS) if second.strip() == "reason") + 2
        reasons = [name for each in DELIVERY.reasons.values() for name in each]
        assert reasons == [second.strip() for _, second in ROWS[start : start + len(reasons)]]

    @pytest.mark.parametrize("names", [DELIVERY.known, DELIVERY.left])
    def test_registers(self, names: frozenset[str]) -> None:
        """It names the registers that the pool knows, and those that an ended request leaves."""
        assert all(f"`{name}`" in PAGE for name in names)
