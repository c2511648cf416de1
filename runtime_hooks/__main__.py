"""`python -m runtime_hooks`: what the plugin finds and does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runtime_hooks.engines import adapter_of, installed
from runtime_hooks.plugin.doctor import as_text, diagnose
from spec.cli.common import Code, Format, FormatOption, new_app, print_json, print_text, run
from spec.files.writing import check_target
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime_hooks.demo.play import Outcome

__all__ = ["app", "main"]

app = new_app("runtime_hooks", "The plugin by which vLLM is seen and steered.")


@app.command("doctor", epilog="Example: python -m runtime_hooks doctor")
def doctor(form: FormatOption = Format.TEXT) -> None:
    """Say, hook by hook, what the plugin would do.

    Exit 0: the plugin would arm. 2: it would not, and why.
    """
    found = diagnose()
    if form is Format.JSON:
        print_json(found)
    else:
        print_text(as_text(found))
    raise typer.Exit(Code.OK if found.armed else Code.BAD_INPUT)


@app.command("demo", epilog="Example: python -m runtime_hooks demo")
def demo(
    form: FormatOption = Format.TEXT,
    keep: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Leave the traces in this new folder.")
    ] = None,
) -> None:
    """Play scenes in a tiny real engine and judge them.

    Exit 0: each came out as it must. 1: one did not. 2: there is no engine.
    """
    _, why = adapter_of(installed())
    if why:
        raise SpecError(why, "make setup-vllm installs one")
    from runtime_hooks.demo.play import play_all

    check_target(keep, folder=True)
    if keep is not None and keep.exists():
        raise SpecError(f"{keep} is there already", "name a new folder")
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
    lines = [f"\n{'scene':26}{'last request':>12}{'victims':>9}  verdict"]
    for each in outcomes:
        odd = "" if each.code == each.expected else f", and {each.expected} was due"
        verdict = f"{each.verdict} (exit {each.code}{odd})"
        lines.append(f"{each.name:26}{each.ends[-1]:>12}{each.victims:>9}  {verdict}")
    missed = sum(each.code != each.expected for each in outcomes)
    came = f"of which {missed} did not come out as due" if missed else "each came out as it must"
    lines.append(f"\n{len(outcomes)} scenes, {came}.")
    return "\n".join(lines) + "\n"


def main(argv: list[str] | None = None) -> int:
    """Run the command line on `argv` and return its exit code."""
    return run(app, argv)


if __name__ == "__main__":
    sys.exit(main())
