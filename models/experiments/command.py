"""Adds `python -m models experiments`: compute the papers' figures again, and compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

import typer

from models.experiments.agents import agents, load_sweep
from models.experiments.answers import answers
from models.experiments.capacity import capacity
from models.experiments.comparison import Experiment
from models.experiments.page import FOLDER, page_of, put_experiments, view
from models.experiments.predictions import predictions
from models.experiments.scenarios import eviction, retention
from models.experiments.spans import materialization, no_admit
from spec.cli.arguments import path_option
from spec.cli.common import Code, Format, FormatOption, print_text
from spec.cli.layout import print_as
from spec.files.writing import check_target, stale, write_bytes, write_pages
from spec.installed import how_to_install
from spec.language.errors import SpecError
from spec.language.prose import printable
from spec.language.suggest import resolve

__all__ = ["EXPERIMENTS", "add_experiments", "can_draw", "computed", "files"]

PAGE = "experiments.md"
EXPERIMENTS: Final[Mapping[str, Callable[[], Experiment]]] = {
    "capacity": capacity,
    "materialization": materialization,
    "no-admit": no_admit,
    "answers": answers,
    "predictions": predictions,
    "agents": agents,
    "load": load_sweep,
    "eviction": eviction,
    "retention": retention,
}


def computed(names: Iterable[str] = ()) -> list[Experiment]:
    """Compute the experiments of these names, or all.

    Raises:
        SpecError: there is none of that name.
    """
    asked = [resolve(n, EXPERIMENTS, what="experiment", listed="models experiments") for n in names]
    return [EXPERIMENTS[name]() for name in asked or EXPERIMENTS]


def can_draw() -> bool:
    """Whether figures can be drawn: matplotlib is installed."""
    return find_spec("matplotlib") is not None


def files(experiments: Sequence[Experiment]) -> dict[str, str]:
    """The page and its figures as SVG, by path; without matplotlib the page alone."""
    found = {PAGE: page_of(experiments)}
    if can_draw():
        from models.experiments.plots import drawn

        plotted = (each for each in experiments if each.plot)
        found |= {f"{FOLDER}/{e.name}.svg": drawn(e, "svg").decode() for e in plotted}
    return found


def _experiments(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Experiments; without, all.")
    ] = None,
    output: Annotated[
        Path | None,
        path_option("--output", "-o", metavar="DIR", help="Write the page and its figures there."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare alone; exit 1 if a file in DIR is stale.")
    ] = False,
    png: Annotated[bool, typer.Option("--png", help="Write figures as PNG, too.")] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Compute the papers' tables and figures again, and compare.

    Each figure of a paper agrees with the computed one, differs from it, or cannot be derived from
    the inputs that the paper states. With -o all experiments become a page, `experiments.md`, and
    figures. Figures need the extra [plots]; without it the page is written alone.

    Exit 0. 1: with --check, a file is stale. 2: bad input.
    """
    if output is None:
        if check or png:
            option = "--check" if check else "--png"
            raise SpecError(f"{option} needs a folder", "name it with -o, as in -o docs")
    elif names:
        raise SpecError("-o writes the page of all experiments", "leave out the names")
    if png and not can_draw():
        raise SpecError("matplotlib is not installed", how_to_install("plots"))
    check_target(output, folder=True)
    found = computed(names or ())
    if output is None:
        print_as(form, view(found), lambda out: put_experiments(out, found))
        return
    made = files(found)
    changed = (stale if check else write_pages)(output, made)
    for path in changed:
        print_text(printable(f"{'stale' if check else 'written'}: {path}") + "\n")
    if not changed:
        print_text("every file is up to date\n")
    if not can_draw():
        typer.echo(f"figures are not drawn: {how_to_install('plots')}", err=True)
    if png:
        from models.experiments.plots import drawn

        for each in found:
            if each.plot:
                write_bytes(output / FOLDER / f"{each.name}.png", drawn(each, "png"))
    if check and changed:
        raise typer.Exit(Code.VIOLATED)


def add_experiments(app: typer.Typer) -> None:
    """Add the command to an application."""
    epilog = "Example: python -m models experiments capacity"
    app.command("experiments", epilog=epilog)(_experiments)
