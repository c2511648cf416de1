"""What the three command lines have in common: exit codes, options, errors, broken pipes.

A command raises SpecError for what a person can put right, `typer.Exit(code)` for a verdict, and
returns otherwise. `run` turns each into an exit code and never shows a traceback unless asked.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from contextlib import suppress
from enum import IntEnum, StrEnum
from typing import Annotated, Any, Final, TextIO

import msgspec
import typer
from rich.console import Console

from spec import __version__
from spec.digest import short_digest
from spec.errors import SpecError

__all__ = [
    "DEBUG",
    "Code",
    "Format",
    "FormatOption",
    "VersionOption",
    "console",
    "json_page",
    "new_app",
    "print_json",
    "run",
    "version_text",
]

DEBUG: Final = "RESIDENT_CLAIMS_DEBUG"
"""Set this in the environment to see the traceback of an internal error."""


class Code(IntEnum):
    """Exit codes; a partial or empty run is never OK."""

    OK = 0
    VIOLATED = 1
    BAD_INPUT = 2
    INCONCLUSIVE = 3
    INTERNAL = 70
    INTERRUPTED = 130
    BROKEN_PIPE = 141


class Format(StrEnum):
    """What a command prints: for people, or for programs."""

    TEXT = "text"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="For people, or for programs.")]


def version_text() -> str:
    """The version of the package and of the specification in it."""
    return f"resident-claims {__version__} (spec {short_digest()})"


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(version_text())
        raise typer.Exit(Code.OK)


VersionOption = Annotated[
    bool,
    typer.Option("--version", callback=_show_version, is_eager=True, help="Show it and stop."),
]


def _root(version: VersionOption = False) -> None:
    """The options that stand before any command."""


def new_app(name: str, says: str) -> typer.Typer:
    """An application called by `python -m NAME`, with `--version` and no commands yet."""
    app = typer.Typer(
        name=name,
        help=says,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=says)(_root)
    return app


def console() -> Console:
    """Standard output: plain and 80 columns wide where it is not a terminal."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=False)


def json_page(value: Any) -> bytes:
    """`value` (anything that msgspec encodes) as indented JSON that ends its last line."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def print_json(value: Any) -> None:
    """`json_page(value)` on standard output, all at once, so that a closed pipe is noticed here."""
    typer.echo(json_page(value), nl=False)


_USAGE: Final[type[Exception]] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)  # typer carries a copy of click in some versions, and uses the package in others


def run(
    app: typer.Typer,
    argv: list[str] | None = None,
    *,
    bad_input: tuple[type[Exception], ...] = (),
) -> int:
    """Run `app` on `argv` (the process's arguments if None) and return the exit code.

    Nothing is raised. Use as `def main(argv=None) -> int: return run(app, argv)` and end the
    module with `sys.exit(main())`.

    Args:
        bad_input: errors besides SpecError that a person can put right.
    """
    name = app.info.name if isinstance(app.info.name, str) else "spec"
    command = typer.main.get_command(app)
    arguments = sys.argv[1:] if argv is None else list(argv)
    stdout = sys.stdout
    theirs: tuple[type[Exception], ...] = (SpecError, *bad_input)
    try:
        code = command.main(arguments, prog_name=f"python -m {name}", standalone_mode=False)
        sys.stdout.flush()
    except theirs as problem:
        return _complain(str(problem), Code.BAD_INPUT)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", Code.INTERRUPTED)
    except _USAGE as problem:
        return _usage(problem, name)
    except SystemExit as leaving:
        if _no_reader(leaving.__context__):
            return _hang_up(stdout)
        return leaving.code if isinstance(leaving.code, int) else Code.OK
    except Exception as problem:
        return _hang_up(stdout) if _no_reader(problem) else _internal(problem)
    return code if isinstance(code, int) else Code.OK


def _usage(problem: Exception, name: str) -> int:
    """What the parser found wrong, in one line; the whole help where nothing was asked."""
    message = " ".join(str(getattr(problem, "message", problem)).split())
    if type(problem).__name__ == "NoArgsIsHelpError":
        getattr(problem, "show", lambda: None)()
        return Code.BAD_INPUT
    context = getattr(problem, "ctx", None)
    path = context.command_path if context is not None else f"python -m {name}"
    form = getattr(problem, "format_message", lambda: message)()
    return _complain(f"{' '.join(form.split())} See {path} --help", Code.BAD_INPUT)


def _complain(text: str, code: Code) -> int:
    try:
        print(f"error: {text}", file=sys.stderr)
    except OSError:
        return Code.BROKEN_PIPE
    return code


def _no_reader(problem: BaseException | None) -> bool:
    return isinstance(problem, OSError) and problem.errno == errno.EPIPE


def _hang_up(stdout: TextIO) -> int:
    """The reader of our output has gone: say nothing, and keep the interpreter from saying it."""
    sys.stdout = stdout  # typer wraps it
    with suppress(OSError, ValueError):  # it may be no file, and then nothing is left in it
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
    return Code.BROKEN_PIPE


def _internal(problem: Exception) -> int:
    if os.environ.get(DEBUG):
        traceback.print_exception(problem)
    what = " ".join(f"{type(problem).__name__}: {problem}".split())[:300]
    hint = "" if os.environ.get(DEBUG) else f"; set {DEBUG}=1 to see where"
    return _complain(f"internal error, {what}{hint}", Code.INTERNAL)
