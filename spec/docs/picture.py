"""Makes a diagram by its name, as text or as a picture that a notebook shows."""

from __future__ import annotations

from dataclasses import dataclass

from spec.docs.diagrams import Diagram
from spec.docs.drawing import Picture, diagram_named, in_form

__all__ = ["Drawing", "drawing"]


@dataclass(frozen=True, slots=True, repr=False)
class Drawing:
    """A diagram in each of its forms; a notebook shows it as SVG."""

    diagram: Diagram

    @property
    def mermaid(self) -> str:
        """Mermaid text, the same each time."""
        return in_form(self.diagram, Picture.MERMAID).decode()

    @property
    def dot(self) -> str:
        """DOT text, the same each time."""
        return in_form(self.diagram, Picture.DOT).decode()

    @property
    def svg(self) -> str:
        """An SVG picture; raises DrawingError if no program here draws."""
        return in_form(self.diagram, Picture.SVG).decode()

    def __repr__(self) -> str:
        return f"<drawing: {self.diagram.title}>"

    def _repr_svg_(self) -> str:
        return self.svg


def drawing(name: str) -> Drawing:
    """The drawing of the lifecycle, of a mode or of an obligation; raises UnknownName."""
    return Drawing(diagram_named(name))
