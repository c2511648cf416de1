"""A drawing by its name, in each form."""

import pytest

from spec.docs.drawing import drawing
from spec.language.errors import UnknownName


class TestDrawing:
    def test_forms(self) -> None:
        """Mermaid, DOT, and an SVG that a notebook shows."""
        found = drawing("lifecycle")

        assert "stateDiagram-v2" in found.mermaid
        assert found.dot.startswith("digraph")
        assert "<svg" in found.svg
        assert found.svg == found._repr_svg_()

    @pytest.mark.parametrize(
        "name", ["hard_protected", "claim_expired_boundary", "V", "HARD-PROTECTED"]
    )
    def test_name(self, name: str) -> None:
        """A mode, an obligation, its code, or a name in another case is drawn."""
        assert repr(drawing(name)).startswith("<drawing: ")

    def test_unknown(self) -> None:
        """Any other name is refused, with what was perhaps meant."""
        with pytest.raises(UnknownName, match="lifecycle"):
            drawing("lifecicle")
