"""`python -m runtime_hooks`: what the plugin finds and does."""

from __future__ import annotations

import sys

import typer

from runtime_hooks.doctor import as_text, diagnose
from spec.cli import Code, Format, FormatOption, new_app, print_json, print_text, run

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


def main(argv: list[str] | None = None) -> int:
    """Run the command line on `argv` and return its exit code."""
    return run(app, argv)


if __name__ == "__main__":
    sys.exit(main())
