"""`python -m proofs mutate`: mutation testing of the specification."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from proofs.mutation.campaign.run import (
    EQUIVALENT,
    PLACES,
    SURVIVED,
    UNKNOWN,
    Fate,
    campaign,
    everything,
    exit_code,
    key_of,
    tally,
)
from proofs.mutation.campaign.state import State, runs_digest, usual_place
from proofs.mutation.detection.checks import CHECKS
from spec import __version__
from spec.cli.arguments import path_option
from spec.cli.common import Code, Format, FormatOption, console, page, print_json
from spec.digest import spec_digest
from spec.files.writing import check_target
from spec.language.suggest import resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from proofs.mutation.campaign.run import Tried

__all__ = ["SCHEMA", "Mutation", "mutation_schema", "register"]

SCHEMA = "resident-claims/mutation/1"


class Mutation(msgspec.Struct, frozen=True):
    """The published form of a campaign.

    `tally` counts, for each mode and part, the kills by the strongest check that detected them, and
    every other result; `alone` counts, for each check, the mutants that no other check detected.
    `unfinished` is
    how many mutants have no result yet.
    """

    schema: str
    tool: str
    spec: str
    runs: str
    tally: dict[str, dict[str, int]]
    alone: dict[str, int]
    unfinished: int
    fates: list[Fate]


def mutation_schema() -> dict[str, Any]:
    """The JSON Schema of `Mutation`."""
    return msgspec.json.schema(Mutation)


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("mutate", epilog="Example: python -m proofs mutate hard_protected")(_mutate)


def _mutate(
    place: Annotated[
        str | None,
        typer.Argument(
            metavar="PLACE", help=f"One of {', '.join(PLACES)}. All of them if omitted."
        ),
    ] = None,
    form: FormatOption = Format.TEXT,
    state: Annotated[
        Path | None,
        path_option(
            "--state",
            help="JSONL file of results: resume from it, append to it.",
            show_default="in build",
        ),
    ] = None,
) -> None:
    """Mutate the specification; check each mutant is detected.

    Every operator of a fixed list is applied to the obligations of a mode, or to what all modes
    share, one change at a time. A check must detect each mutant, or the solver must prove it
    equivalent to the original. An interrupted campaign resumes where it stopped, as long as the
    specification is the same.

    Exit 0: all killed or equivalent. 1: one survived. 2: bad input. 3: unknown, or interrupted.
    """
    places = PLACES if place is None else (resolve(place, PLACES, what="mode or part"),)
    chosen = [mutant for each in places for mutant in everything(each)]
    kept = usual_place() if state is None else state
    check_target(kept)
    fates = _judge(chosen, State(kept))
    if form is Format.JSON:
        counts = {str(p): tally(f for f in fates if f.mode == p) for p in places}
        about = (SCHEMA, __version__, spec_digest(), runs_digest())
        left = len(chosen) - len(fates)
        print_json(Mutation(*about, counts, _alone(fates), left, fates))
    else:
        with page() as out:
            _print(out, fates, len(chosen))
    raise typer.Exit(exit_code(fates, len(chosen)))


def _judge(chosen: Sequence[Tried], state: State) -> list[Fate]:
    """The results in the order of the mutants, without those an interrupt left unjudged."""
    known = state.known(chosen)
    quiet = console(stderr=True)
    quiet.quiet = not quiet.is_terminal
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=quiet) as bar:
        task = bar.add_task("mutants", total=len(chosen), completed=len(known))
        try:
            for fate in campaign([each for each in chosen if key_of(each) not in known]):
                state.add(fate)
                known[fate.mode, fate.mutant] = fate
                bar.update(task, advance=1, description=fate.mode)
        except KeyboardInterrupt:
            bar.update(task, description="interrupted")
    return [known[key] for key in map(key_of, chosen) if key in known]


def _alone(fates: Sequence[Fate]) -> dict[str, int]:
    found = Counter(fate.by[0] for fate in fates if len(fate.by) == 1)
    return {check: found[check] for check in CHECKS}


def _headline(fates: Sequence[Fate], wanted: int) -> str:
    """Whether every mutant is killed or equivalent, and how many are each."""
    verdict = {Code.OK: "every mutant is killed or equivalent", Code.VIOLATED: "a mutant survives"}
    found = tally(fates)
    killed = sum(found[check] for check in CHECKS)
    return (
        f"{verdict.get(exit_code(fates, wanted), 'undecided')}: of {wanted:,} mutants {killed:,} "
        f"are killed and {found[EQUIVALENT]:,} are proved equivalent"
    )


def _print(out: Console, fates: list[Fate], wanted: int) -> None:
    out.print(f"{_headline(fates, wanted)}\n")
    table = Table(box=None, pad_edge=False)
    table.add_column("mutants of")
    for name in ("all", *CHECKS, EQUIVALENT):
        table.add_column(name, justify="right")
    groups = {name: [f for f in fates if f.mode == name] for name in {f.mode: 0 for f in fates}}
    if len(groups) > 1:
        groups["everything"] = fates
    for name, group in groups.items():
        found = tally(group)
        counts = (len(group), *(found[column] for column in (*CHECKS, EQUIVALENT)))
        table.add_row(name, *map(str, counts))
    alone = _alone(fates)
    table.add_row("killed by it alone", "", *(str(alone[check]) for check in CHECKS), "")
    out.print(table)
    for name, check in CHECKS.items():
        out.print(f"{name}: {_first_line(check.__doc__)}")
    reasons = Counter(fate.detail for fate in fates if fate.result == EQUIVALENT)
    for reason, number in reasons.most_common():
        out.print(f"equivalent, {number}: {reason}")
    for result in (SURVIVED, UNKNOWN):
        left = [fate for fate in fates if fate.result == result]
        out.print(f"{result}: {len(left) or 'none'}")
        for fate in left:
            out.print(f"  {fate.mode}, {fate.mutant}: {fate.says}; {fate.detail}", soft_wrap=True)
    if len(fates) < wanted:
        out.print(f"unfinished: {wanted - len(fates)}; the same command resumes here")


def _first_line(text: str | None) -> str:
    return (text or "").partition("\n")[0].rstrip(".")
