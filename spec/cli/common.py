"""Defines what the command lines have in common: exit codes, options, errors, output.

A command raises SpecError for what a person can put right, `typer.Exit(code)` for a verdict, and
returns otherwise. `run` turns each into an exit code and never shows a traceback unless asked.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import sys
import traceback
from contextlib import suppress
from enum import IntEnum, StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO, TypeGuard

import msgspec
import typer

from spec import __version__
from spec.cli.arguments import path_option
from spec.cli.command_modules import App, group_of
from spec.cli.interrupts import every_interrupt, is_interrupt
from spec.files.writing import stale, write_bytes, write_pages
from spec.language.called import retold
from spec.language.errors import SpecError
from spec.language.prose import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import Console
    from typer.core import TyperGroup

__all__ = [
    "COLUMNS",
    "DEBUG",
    "JUDGES",
    "Code",
    "Format",
    "FormatOption",
    "OutputOption",
    "VersionOption",
    "add_docs",
    "add_schema",
    "console",
    "json_page",
    "new_app",
    "print_json",
    "print_text",
    "run",
    "version_text",
    "write_output",
]

DEBUG: Final = "RESIDENT_CLAIMS_DEBUG"
"""Set this in the environment to see the traceback of an internal error."""


JUDGES: Final = "resident_claims.judge"
"""The entry point that says which judge runs; `monitor` has it, which `spec` does not import."""


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


FormatOption = Annotated[Format, typer.Option("--format", help="Output format.")]


OutputOption = Annotated[
    Path | None, path_option("--output", "-o", help="Write to this file instead.")
]


def version_text() -> str:
    """The version of the package and of the specification in it, and which judge runs.

    Raises:
        SpecError: the environment asks for a judge that there is not.
    """
    from importlib.metadata import entry_points

    from spec.digest import short_digest  # help needs no specification

    judges = [f", {each.load()()} judge" for each in entry_points(group=JUDGES)]
    return f"resident-claims {__version__} (spec {short_digest()}{''.join(judges[:1])})"


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(version_text())
        raise typer.Exit(Code.OK)


VersionOption = Annotated[
    bool,
    typer.Option(
        "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
    ),
]


def _root(version: VersionOption = False) -> None:
    """The options that stand before any command."""


def new_app(
    name: str,
    says: str,
    *,
    modules: Mapping[str, str] | None = None,
    cls: type[TyperGroup] | None = None,
    epilog: str | None = None,
) -> typer.Typer:
    """An application called by `python -m NAME`, with `--version` and no commands but of `modules`.

    Args:
        modules: for each command that is imported when it is asked for, the module whose
            `register` adds it.
        cls: the group of a program of its own, which can install shell completion.
        epilog: an example, with which its help ends.
    """
    app = App(
        name=name,
        cls=group_of(modules) if modules else cls,
        help=says,
        epilog=epilog,
        no_args_is_help=True,
        add_completion=cls is not None,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=says)(_root)
    return app


COLUMNS: Final = 80
"""Columns of what is printed, where no terminal has more."""


def console(*, stderr: bool = False) -> Console:
    """Standard output or error: 80 columns, more on a wide terminal; plain where it is none."""
    from rich.console import Console  # JSON needs none

    out = Console(highlight=False, markup=False, emoji=False, soft_wrap=False, stderr=stderr)
    out.width = max(COLUMNS, out.width) if out.file.isatty() else COLUMNS
    return out


def print_text(text: str, output: Path | None = None) -> None:
    """`text` on standard output, all at once, so that a closed pipe is noticed here.

    Blanks that end a line are left out; characters that the encoding lacks are escaped.

    Args:
        output: the file that `-o` names, to which the text is written as it is instead.
    """
    if output is not None:
        write_output(output, text.encode("utf-8", "backslashreplace"))
        return
    lines = "\n".join(line.rstrip(" ") for line in text.split("\n"))
    typer.echo(lines.encode(sys.stdout.encoding or "utf-8", "backslashreplace"), nl=False)


def json_page(value: Any) -> bytes:
    """`value` (anything that msgspec encodes) as indented JSON that ends its last line.

    What a terminal might obey is escaped, as `printable` does it in texts.
    """
    return _indented(value) + b"\n"


def _indented(value: Any) -> bytes:
    made = msgspec.json.format(msgspec.json.encode(value), indent=2)
    if made.isascii() and b"\x7f" not in made:  # no second copy of what may be large
        return made
    text = made.decode()
    odd = {c for c in set(text) if not c.isprintable() and c != "\n"}
    return text.translate({ord(c): json.dumps(c)[1:-1] for c in odd}).encode()


def print_json(value: Any) -> None:
    """`json_page(value)` on standard output, which may be large."""
    typer.echo(_indented(value), nl=False)
    typer.echo()


def write_output(path: Path, content: bytes) -> None:
    """Write what `-o` asks for, and say on standard error if a folder was made for it."""
    missing = not path.parent.exists()
    write_bytes(path, content)
    if missing:
        typer.echo(printable(f"made the folder {path.parent}"), err=True)


def add_schema(app: typer.Typer, make: Callable[[], Any], *, of: str, example: str) -> None:
    """Add the command `schema`: print the JSON Schema that `make` returns, or write it to a file.

    Args:
        of: what has that schema.
        example: the options of a call.
    """

    def schema(output: OutputOption = None) -> None:
        if output is None:
            print_json(make())
        else:
            write_output(output, json_page(make()))

    epilog = f"Example: python -m {app.info.name} schema {example}"
    app.command("schema", help=f"Print the JSON Schema of {of}.", epilog=epilog)(schema)


def add_docs(app: typer.Typer, make: Callable[[], Mapping[str, str]], *, of: str) -> None:
    """Add the command `docs`: write the pages that `make` returns by path, or compare them.

    Args:
        of: what they are made from.
    """
    command = f"python -m {app.info.name} docs"

    def docs(
        check: Annotated[
            bool, typer.Option("--check", help="Write nothing; exit 1 if a page is stale.")
        ] = False,
        folder: Annotated[Path, path_option("--dir", help="The folder of the pages.")] = Path(
            "docs"
        ),
        form: FormatOption = Format.TEXT,
    ) -> None:
        changed = (stale if check else write_pages)(folder, make())
        if form is Format.JSON:
            print_json({"checked": check, "stale" if check else "written": changed})
        else:
            for path in changed:
                typer.echo(printable(f"{'stale' if check else 'written'}: {path}"))
            if not changed:
                typer.echo("every page is up to date")
        if check and changed:
            typer.echo(f"run {retold(command)} to write them again", err=True)
            raise typer.Exit(Code.VIOLATED)

    says = f"Write the pages made from {of}, or compare them."
    app.command("docs", help=says, epilog=f"Example: {command} --check")(docs)


_ROUND: Final = 200_000
"""Objects that a process of ours makes between two collections of cycles: the default, 700, costs a
tenth of the time of a proof, and formulas and claims are freed by count.
"""

_USAGE: Final[type[Exception]] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)  # typer carries a copy of click in some versions, and uses the package in others


def run(
    app: typer.Typer,
    argv: list[str] | None = None,
    *,
    bad_input: tuple[type[Exception], ...] = (),
    program: str | None = None,
) -> int:
    """Run `app` on `argv` (the process's arguments if None) and return the exit code.

    Nothing is raised. Use as `def main(argv=None) -> int: return run(app, argv)` and end the
    module with `sys.exit(main())`.

    Args:
        bad_input: errors besides SpecError that a person can put right.
        program: how `app` is called; `python -m` and its name if None.
    """
    name = program or f"python -m {app.info.name}"
    command = _command(app)
    if argv is None:
        gc.set_threshold(_ROUND)
    arguments = sys.argv[1:] if argv is None else list(argv)
    stdout = sys.stdout
    if sys.stderr is None:  # it was closed; a file opened later must not take its place
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if stdout is None:
        return _complain("standard output is closed; send it somewhere", Code.BAD_INPUT)
    theirs: tuple[type[Exception], ...] = (SpecError, *bad_input)
    try:
        with every_interrupt():
            code = command.main(arguments, prog_name=name, standalone_mode=False)
        sys.stdout.flush()
        if code == Code.INTERRUPTED:  # typer makes a code of a KeyboardInterrupt
            raise KeyboardInterrupt
    except theirs as problem:
        return _complain(str(problem), Code.BAD_INPUT)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", Code.INTERRUPTED)
    except _USAGE as problem:
        return _usage(problem, name)
    except SystemExit as leaving:
        if _is_unwritable(leaving.__context__):
            return _hang_up(stdout, leaving.__context__)
        return leaving.code if isinstance(leaving.code, int) else Code.OK
    except Exception as problem:
        if is_interrupt(problem):
            return _complain("interrupted", Code.INTERRUPTED)
        return _hang_up(stdout, problem) if _is_unwritable(problem) else _internal(problem)
    return code if isinstance(code, int) else Code.OK


@cache
def _command(app: typer.Typer) -> Any:
    """The command of an app that has all its commands; to make it takes as long as many calls."""
    return typer.main.get_command(app)


def _usage(problem: Exception, name: str) -> int:
    """What the parser found wrong, in one line; the whole help where nothing was asked."""
    message = " ".join(str(getattr(problem, "message", problem)).split())
    if type(problem).__name__ == "NoArgsIsHelpError":
        with suppress(OSError):
            getattr(problem, "show", lambda: None)()
        return Code.BAD_INPUT
    context = getattr(problem, "ctx", None)
    path = context.command_path if context is not None else name
    form = " ".join(getattr(problem, "format_message", lambda: message)().split())
    stop = "" if form.endswith((".", "?", "!", ")")) else "."
    return _complain(f"{form}{stop} See {path} --help", Code.BAD_INPUT)


def _complain(text: str, code: Code) -> int:
    with suppress(OSError):  # no reader is left; the exit code still tells
        print(f"error: {printable(text)}", file=sys.stderr, flush=True)
    return code


_UNWRITABLE: Final = frozenset(
    {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
)


def _is_unwritable(problem: BaseException | None) -> TypeGuard[OSError]:
    """Whether standard output takes no more; `spec.files.writing` says so of files."""
    return isinstance(problem, OSError) and problem.errno in _UNWRITABLE


def _hang_up(stdout: TextIO, problem: OSError) -> int:
    """Give up on standard output, so that the interpreter does not try again when it ends."""
    sys.stdout = stdout  # typer wraps it
    with suppress(OSError, ValueError):  # it may be no file, and then nothing is left in it
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
    if problem.errno == errno.EPIPE:
        return Code.BROKEN_PIPE
    return _complain(f"cannot write standard output: {problem.strerror}", Code.BAD_INPUT)


def _internal(problem: Exception) -> int:
    if os.environ.get(DEBUG):
        traceback.print_exception(problem)
    what = " ".join(f"{type(problem).__name__}: {problem}".split())[:300]
    hint = "" if os.environ.get(DEBUG) else f"; set {DEBUG}=1 to see where"
    return _complain(f"internal error, {what}{hint}", Code.INTERNAL)
