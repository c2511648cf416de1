"""Draws the figures of the experiments; importing this module imports matplotlib.

A figure is the same for the same values: no date, fixed ids, text as paths. Colours are those of
Okabe and Ito, which people with deficient colour vision tell apart by lightness, too; hatches and
labels repeat what colours say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from itertools import groupby, pairwise
from typing import Any, Final

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from models.experiments.comparison import Experiment
from models.experiments.page import digest

__all__ = ["DRAWN", "drawn"]

INK, GREY, PALE = "#1b1f24", "#6b7280", "#e5e7eb"
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#aa4499",
    "#56b4e9",
)
_STYLE: Final = {
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


def drawn(experiment: Experiment, form: str) -> bytes:
    """The figure of an experiment, as `svg` or as `png` of 1,600 pixels width."""
    with matplotlib.rc_context(_STYLE):
        figure = DRAWN[experiment.name](experiment.plot)
        made = BytesIO()
        says = {"Description": digest(experiment)}
        blank = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
        figure.savefig(made, format=form, dpi=200, metadata={**blank, **says})
        plt.close(figure)
    return (
        b"\n".join(line.rstrip() for line in made.getvalue().split(b"\n"))
        if (form == "svg")
        else made.getvalue()
    )


def _canvas(height: float, **shape: Any) -> Any:
    return plt.subplots(figsize=(8, height), layout="constrained", **shape)


def _apart(values: Sequence[float], gap: float) -> list[float]:
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


def _capacity(plot: Mapping[str, Any]) -> Any:
    """A row a policy, a column a size: what the claim lost, and whether the request was refused."""
    figure, axes = _canvas(3.5)
    sizes, edge = plot["sizes"], plot["edge"]
    most = max(max(lost) for lost in plot["lost"].values())
    shades = LinearSegmentedColormap.from_list("lost", ["#fbe3c0", ORANGE, VERMILION])
    for row, (policy, lost) in enumerate(plot["lost"].items()):
        cells = zip(lost, plot["refused"][policy], strict=True)
        at = sizes[0] - 0.5
        for (gone, refused), run in groupby(cells):
            colour = BLUE if refused else shades(gone / most) if gone else "#d7e8df"
            wide = len(list(run))
            axes.add_patch(Rectangle((at, row - 0.44), wide + 0.02, 0.88, color=colour, lw=0))
            at += wide
        below, above = (sizes[0] + edge) / 2 - 0.5, (edge + sizes[-1]) / 2
        refuses = any(plot["refused"][policy])
        says = (
            "claim kept, request refused"
            if refuses
            else f"request served, claim loses {most} to 1 blocks"
        )
        axes.text(
            below,
            row,
            says,
            ha="center",
            va="center",
            color="white" if refuses else INK,
            weight="bold",
        )
        axes.text(above, row, "both fit", ha="center", va="center", weight="bold")
    axes.axvline(edge - 0.5, color=INK, lw=2, ymax=1.0)
    axes.set(
        xlim=(sizes[0] - 0.5, sizes[-1] + 0.5),
        ylim=(2.55, -0.55),
        yticks=range(len(plot["lost"])),
        yticklabels=list(plot["lost"]),
        xticks=[*range(sizes[0], sizes[-1] + 1, 10)],
        xlabel="usable blocks of the pool",
    )
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_title(
        f"Claim and request coexist from {plot['resident']} + {plot['active']} = {edge} blocks on"
    )
    scale = figure.colorbar(
        matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(0, most), shades),
        ax=axes,
        pad=0.02,
        aspect=14,
    )
    scale.set_label("blocks that the claim loses")
    scale.outline.set_visible(False)
    return figure


def _materialization(plot: Mapping[str, Any]) -> Any:
    """Bars of leading blocks by policy and span, with the paper's figures as rings."""
    figure, axes = _canvas(4.0)
    colours = (BLUE, ORANGE, GREEN)
    width, policies = 0.26, plot["policies"]
    for place, (span, colour) in enumerate(zip(plot["spans"], colours, strict=True)):
        at = [row + (place - 1) * width for row in range(len(policies))]
        axes.bar(
            at,
            [leading[place] for leading in plot["leading"]],
            width * 0.9,
            color=colour,
            label=f"span {span}",
        )
        axes.plot(
            at,
            [paper[place] for paper in plot["paper"]],
            "o",
            mfc="white",
            mec=INK,
            ms=6,
            zorder=3,
            clip_on=False,
            label="paper" if place == 2 else None,
        )
    axes.axhline(plot["threshold"], color=INK, lw=1.2, ls=(0, (4, 3)))
    axes.text(len(policies) - 0.42, plot["threshold"] + 0.8, "threshold", ha="right", va="bottom")
    for row, value in enumerate(plot["values"]):
        axes.text(
            row, 47, f"value {value}", ha="center", weight="bold", color=INK if value else GREY
        )
    axes.set(
        xticks=range(len(policies)),
        xticklabels=[each.replace(" fair", "\nfair").replace(", ", ",\n") for each in policies],
        ylim=(0, 50),
        ylabel="leading blocks that survive",
    )
    axes.tick_params(axis="x", length=0)
    axes.set_title("Fragments below the threshold are worth 0")
    marks, labels = axes.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda at: labels[at] == "paper")
    axes.legend(
        [marks[at] for at in order],
        [labels[at] for at in order],
        loc="center right",
        bbox_to_anchor=(1.0, 0.55),
        handlelength=1.2,
    )
    return figure


def _answers(plot: Mapping[str, Any]) -> Any:
    """The cost of answers over the probability of another use, and the oracle below all."""
    figure, axes = _canvas(4.2)
    used, turns = plot["used"], [*plot["turns"].items()]
    colours = (VERMILION, BLUE, GREEN, PURPLE, GREY, INK)
    ends = _apart([costs[-1] for costs in plot["cost"].values()], 5.5)
    for (name, costs), colour, end in zip(plot["cost"].items(), colours, ends, strict=True):
        axes.plot(used, costs, color=colour, lw=1.8)
        axes.text(1.015, end, name, va="center", color=colour, weight="bold")
    lowest = [min(column) for column in zip(*plot["cost"].values(), strict=True)]
    axes.plot(used, lowest, color=INK, lw=7, alpha=0.16, solid_capstyle="round", zorder=0)
    for (name, start), end in zip(turns, [*(at for _, at in turns[1:]), 1.0], strict=True):
        axes.axvline(start, color=PALE, lw=1, zorder=-1)
        axes.text(
            (start + end) / 2, 80, f"oracle:\n{name}", ha="center", va="center", weight="bold"
        )
    axes.set(
        xlim=(0, 1),
        ylim=(0, 108),
        xlabel="probability that the claim is used again",
        ylabel="cost, in prefills of one block",
    )
    axes.set_title("The cheapest answer depends on how likely the claim is used again")
    return figure


DRAWN: Final[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
    "answers": _answers,
    "capacity": _capacity,
    "materialization": _materialization,
}
