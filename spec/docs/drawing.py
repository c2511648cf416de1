"""Makes a diagram by its name, in the format that was asked for, or as a notebook shows it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from spec.contract.modes import MODES
from spec.contract.names import OTHER_NAMES, find_mode
from spec.contract.obligations import OBLIGATIONS
from spec.docs.diagrams import Diagram, lifecycle_diagram, mode_diagram, observer_diagram
from spec.docs.mermaid import to_mermaid
from spec.docs.render import DPI, draw, to_dot
from spec.language.errors import OutputError
from spec.language.suggest import resolve

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Drawing", "Picture", "diagram_named", "drawing", "in_form", "picture_for"]


class Picture(StrEnum):
    """The forms in which a diagram can be had."""

    SVG = "svg"
    PNG = "png"
    PDF = "pdf"
    DOT = "dot"
    MERMAID = "mmd"


_OTHERS = {"mermaid": "mmd", "gv": "dot"}
_LIFECYCLE = "lifecycle"


def diagram_named(text: str) -> Diagram:
    """The diagram of the lifecycle, of a mode or of an obligation; raises UnknownName."""
    names = (_LIFECYCLE, *(mode.value for mode in MODES), *OBLIGATIONS)
    name = resolve(text, names, what="diagram", aliases=OTHER_NAMES)
    if name == _LIFECYCLE:
        return lifecycle_diagram()
    observer = OBLIGATIONS.get(name)
    return mode_diagram(find_mode(name)) if observer is None else observer_diagram(observer)


def picture_for(path: Path | None, form: str | None) -> Picture:
    """The form asked for by name, or by the suffix of the file; Mermaid where neither is given.

    Raises UnknownName for a form that there is not, OutputError for a picture onto a terminal.
    """
    if form is not None:
        picture = resolve(form, Picture, what="format", aliases=_OTHERS)
    elif path is not None:
        suffix = path.suffix.removeprefix(".")
        picture = resolve(suffix, Picture, what="format with suffix", aliases=_OTHERS)
    else:
        return Picture.MERMAID
    if path is None and picture in {Picture.PNG, Picture.PDF} and sys.stdout.isatty():
        raise OutputError("a picture cannot be written to a terminal", "name a file with -o")
    return picture


def in_form(diagram: Diagram, picture: Picture, dpi: int = DPI) -> bytes:
    """The diagram in that form, a PNG with so many dots per inch.

    Raises DrawingError if no program here draws it.
    """
    if picture is Picture.MERMAID:
        return to_mermaid(diagram).encode()
    if picture is Picture.DOT:
        return to_dot(diagram).encode()
    return draw(diagram, picture.value, dpi)


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
