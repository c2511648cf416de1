"""Runs the commands of `python -m runtime_hooks`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runtime_hooks.control.commands import claims
from runtime_hooks.engines import adapter_of, installed
from runtime_hooks.plugin.doctor import as_text, diagnose
from spec.cli.arguments import path_option
from spec.cli.common import Code, Format, FormatOption, new_app, print_json, print_text, run
from spec.files.writing import check_target
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime_hooks.demo.play import Outcome

__all__ = ["app", "main"]

app = new_app(
    "runtime_hooks",
    "The vLLM plugin: diagnose the installed engine, run a demo, steer claims.",
    epilog="Example: python -m runtime_hooks doctor -- MODEL --max-model-len 4096",
)
app.add_typer(claims)


@app.command(
    "doctor", epilog="Example: python -m runtime_hooks doctor -- MODEL --max-model-len 4096"
)
def doctor(
    flags: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- MODEL FLAGS", help="What vllm serve is given.", show_default=False
        ),
    ] = None,
    load: Annotated[
        bool, typer.Option("--load", help="Load MODEL, for the checks that need it.")
    ] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Say whether the plugin would arm, and what each hook would do.

    With the flags of a server it answers for that configuration. Where RESIDENT_CLAIMS is set, it
    makes and removes a file where the trace would be.

    Exit 0: the plugin would arm. 2: it would not; the output says why.
    """
    if load and not flags:
        raise SpecError("--load needs a model", "give -- MODEL FLAGS...")
    found = diagnose(flags or (), load=load)
    if form is Format.JSON:
        print_json(found)
    else:
        print_text(as_text(found))
    raise typer.Exit(Code.OK if found.armed else Code.BAD_INPUT)


@app.command("demo", epilog="Example: python -m runtime_hooks demo")
def demo(
    form: FormatOption = Format.TEXT,
    keep: Annotated[
        Path | None,
        path_option("--keep", metavar="FOLDER", help="Keep the traces in this new folder."),
    ] = None,
) -> None:
    """Run scenarios in a tiny real engine and judge their traces.

    Exit 0: each has its expected verdict. 1: one has not. 2: no engine is installed.
    """
    _, why = adapter_of(installed())
    if why:
        raise SpecError(why, "make setup-vllm installs one")
    from runtime_hooks.demo.play import play_all

    check_target(keep, folder=True)
    if keep is not None and keep.exists():
        raise SpecError(f"{keep} exists already", "name a new folder")
    quiet = form is Format.JSON
    outcomes = play_all(lambda text: None if quiet else print_text(text), keep)
    if quiet:
        print_json(outcomes)
    else:
        print_text(table(outcomes))
    well = all(outcome.code == outcome.expected for outcome in outcomes)
    raise typer.Exit(Code.OK if well else Code.VIOLATED)


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes for people."""
    lines = [f"\n{'scenario':26}{'last request':>12}{'victims':>9}  verdict"]
    for each in outcomes:
        odd = "" if each.code == each.expected else f", expected {each.expected}"
        verdict = f"{each.verdict} (exit {each.code}{odd})"
        lines.append(f"{each.name:26}{each.ends[-1]:>12}{each.victims:>9}  {verdict}")
    missed = sum(each.code != each.expected for each in outcomes)
    came = f"{missed} with another verdict than expected" if missed else "each as expected"
    lines.append(f"\n{len(outcomes)} scenarios, {came}.")
    return "\n".join(lines) + "\n"


def main(argv: list[str] | None = None) -> int:
    """Run the command line on `argv` and return its exit code."""
    return run(app, argv)


if __name__ == "__main__":
    sys.exit(main())
