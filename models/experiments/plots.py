"""Draws the figures of the experiments; importing this module imports matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any, Final

import matplotlib
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from models import plotting
from models.experiments.comparison import Experiment
from models.experiments.page import digest
from models.plotting import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    PURPLE,
    VERMILION,
    apart,
    assumed,
    canvas,
)  # fmt: skip

__all__ = ["DRAWN", "drawn"]


def drawn(experiment: Experiment, form: str) -> bytes:
    """The figure of an experiment, as `svg` or `png`, with the digest of its values."""
    return plotting.drawn(lambda: DRAWN[experiment.name](experiment.plot), form, digest(experiment))


def _capacity(plot: Mapping[str, Any]) -> Any:
    """A row a policy, a column a size: what the claim lost, and whether the request was refused."""
    figure, axes = canvas(3.5)
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
    figure, axes = canvas(4.0)
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
        axes.text(row, 47, f"value {value}", ha="center", color=INK if value else GREY)
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
    assumed(figure, plot["assumed"])
    return figure


def _answers(plot: Mapping[str, Any]) -> Any:
    """The cost of answers over the probability of another use, and the oracle below all."""
    figure, axes = canvas(4.2)
    used, turns = plot["used"], [*plot["turns"].items()]
    colours = (VERMILION, BLUE, GREEN, PURPLE, GREY, INK)
    ends = apart([costs[-1] for costs in plot["cost"].values()], 5.5)
    for (name, costs), colour, end in zip(plot["cost"].items(), colours, ends, strict=True):
        axes.plot(used, costs, color=colour, lw=1.8)
        axes.text(1.015, end, name, va="center", color=colour, weight="bold")
    lowest = [min(column) for column in zip(*plot["cost"].values(), strict=True)]
    band = {"lw": 7, "alpha": 0.16, "solid_capstyle": "round", "zorder": 0}
    axes.plot(
        used, lowest, color=INK, label="grey band: cost of the oracle, the lowest of all", **band
    )
    axes.legend(loc="center", bbox_to_anchor=(0.5, 0.59))
    for (name, start), end in zip(turns, [*(at for _, at in turns[1:]), 1.0], strict=True):
        axes.axvline(start, color=PALE, lw=1, zorder=-1)
        axes.text(
            (start + end) / 2, 80, f"oracle:\n{name}", ha="center", va="center", weight="bold"
        )
    axes.set(
        xlim=(0, 1),
        ylim=(0, 108),
        xlabel="probability that the claim is used again",
        ylabel="cost (assumed), in prefills of one block",
    )
    axes.set_title("The cheapest answer depends on how likely the claim is used again")
    assumed(figure, plot["assumed"])
    return figure


_ARMS: Final = {
    "FCFS": (VERMILION, "o", "-"),
    "Continuum": (BLUE, "s", "--"),
    "ContextServe": (PURPLE, "D", ":"),
    "LMCache": (GREEN, "^", "-."),
}


def _load(plot: Mapping[str, Any]) -> Any:
    """A panel for each pool: seconds of a job over jobs a second, a line for each policy."""
    figure, panels = canvas(3.9, ncols=len(plot["pools"]), sharey=True)
    for panel, (blocks, by_policy) in zip(panels, plot["pools"].items(), strict=True):
        for name, times in by_policy.items():
            colour, mark, line = _ARMS[name]
            panel.plot(
                plot["loads"], times, color=colour, marker=mark, ls=line, lw=1.8, ms=5.5, label=name
            )
        panel.set_title(f"{int(blocks):,} blocks", fontsize=10.5, weight="normal")
        panel.set(xticks=plot["loads"], yscale="log", yticks=[5, 10, 20, 50])
        panel.minorticks_off()
        panel.grid(axis="y", color=PALE, lw=0.8)
        panel.yaxis.set_major_formatter("{x:.0f}")
    panels[0].set_ylabel("mean duration of a job, seconds (log)")
    figure.supxlabel("jobs that arrive per second", fontsize=10.5)
    panels[0].legend(loc="upper left", handlelength=2.6)
    figure.suptitle(
        "A larger pool moves the load from which policies differ",
        x=0.01,
        ha="left",
        weight="bold",
        fontsize=12.5,
    )
    return figure


def _retention(plot: Mapping[str, Any]) -> Any:
    """Blocks that the second turns find, over blocks of filler."""
    figure, axes = canvas(3.4)
    for (name, found), (colour, mark, line) in zip(
        plot["found"].items(), (_ARMS["Continuum"], _ARMS["FCFS"]), strict=True
    ):
        axes.plot(
            plot["filler"], found, color=colour, marker=mark, ls=line, lw=1.8, ms=5.5, clip_on=False
        )
        axes.text(plot["filler"][-1] + 3, found[-1], name, color=colour, va="center", weight="bold")
    axes.axvline(plot["pool"], color=GREY, lw=1, ls=(0, (2, 3)))
    axes.text(
        plot["pool"] + 1.5,
        plot["whole"] / 2,
        f"the pool: {plot['pool']} blocks",
        color=GREY,
        va="center",
    )
    axes.set(
        xlim=(0, plot["filler"][-1]),
        ylim=(0, plot["whole"] * 1.08),
        xticks=plot["filler"][::2],
        yticks=range(0, plot["whole"] + 1, 4),
        xlabel="blocks of filler between two turns",
        ylabel="session blocks found again",
    )
    axes.set_title("Priorities keep all session blocks; without, filler evicts them")
    return figure


DRAWN: Final[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
    "answers": _answers,
    "capacity": _capacity,
    "load": _load,
    "materialization": _materialization,
    "retention": _retention,
}
