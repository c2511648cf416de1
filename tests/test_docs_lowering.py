"""The page about lowering says what is so."""

import re
from pathlib import Path

from models.catalog import NAMES
from spec.claims.states import Mode
from spec.contract.supply import Depth
from spec.lowering.load import parse_descriptor
from spec.lowering.relation import lower
from spec.lowering.vocabulary import Label

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "lowering.md").read_text()


class TestPage:
    def test_example(self) -> None:
        """The descriptor on the page is read, and labelled as the page says."""
        (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
        row = lower(
            parse_descriptor(text.encode(), "mine.yaml"), Mode.BEST_EFFORT, Depth.TELEMETRY_JOIN
        )
        assert Label.APPROXIMATE is row.label

    def test_labels(self) -> None:
        """The lines of the table name each label, in the order in which they are decided."""
        table = PAGE.split("## The label")[1].split("##")[0]
        assert [
            "rejected",
            "native_sound",
            "sound_with_adapter",
            "unknown",
            "rejected",
            "approximate",
        ] == re.findall(r"\| `(\w+)` \|", table)

    def test_readme(self) -> None:
        """The README counts the descriptors."""
        readme = " ".join((ROOT / "README.md").read_text().split())
        assert (
            "Twenty-three descriptors, of this plugin and of eighteen systems as publicly" in readme
        )
        assert 23 == len(NAMES)
