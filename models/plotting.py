"""Draws figures: one style, and bytes that are the same for the same values.

Importing this module imports matplotlib, the extra `plots`. There is no date in a figure, its ids
are fixed, and its text is drawn as paths. Colours are those of Okabe and Ito, which people with
deficient colour vision distinguish; marks, dashes and labels repeat what colours say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from itertools import pairwise
from typing import Any, Final

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "INK",
    "ORANGE",
    "PALE",
    "PURPLE",
    "SKY",
    "VERMILION",
    "apart",
    "assumed",
    "canvas",
    "drawn",
]

INK, GREY, PALE = "#1b1f24", "#6b7280", "#e5e7eb"
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#aa4499",
    "#56b4e9",
)
_STYLE: Final[dict[Any, Any]] = {
    "svg.hashsalt": "resident-claims",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 10.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 12.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 14,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


def drawn(draw: Callable[[], Any], form: str, says: str) -> bytes:
    """The figure that `draw` makes, as `svg` or as `png` of 1,600 pixels width.

    Args:
        says: the description in its metadata.
    """
    with matplotlib.rc_context(_STYLE):
        figure = draw()
        made = BytesIO()
        blank = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
        figure.savefig(made, format=form, dpi=200, metadata={**blank, "Description": says})
        plt.close(figure)
    if form != "svg":
        return made.getvalue()
    return b"\n".join(line.rstrip() for line in made.getvalue().split(b"\n"))


def canvas(height: float, **shape: Any) -> Any:
    """A figure of 8 inches width, and its axes."""
    return plt.subplots(figsize=(8, height), layout="constrained", **shape)


def assumed(figure: Any, what: str) -> None:
    """Say below the figure which of its inputs no paper states."""
    figure.supxlabel(f"Assumed: {what}", x=0.01, ha="left", fontsize=9.5, color=GREY)


def apart(values: Sequence[float], gap: float) -> list[float]:
    """Heights of labels beside lines that end at these values, at least so far apart."""
    order = sorted(range(len(values)), key=lambda at: values[at])
    placed = list(values)
    for _ in values:
        for low, high in pairwise(order):
            overlap = gap - (placed[high] - placed[low])
            if overlap > 1e-9:
                placed[low] -= overlap / 2
                placed[high] += overlap / 2
    return placed
