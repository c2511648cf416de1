"""Defines `resident-claims`: one command line over those of the packages.

Each package declares its commands as entry points (pyproject.toml, docs/decisions/0014), so that
`spec` imports none of them. A command is loaded when it is asked for: help and completion of
names import no solver.
"""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import typer
from typer.core import TyperGroup

from spec.cli.command_modules import retell
from spec.cli.common import Code, new_app, run
from spec.installed import fault_of
from spec.language.called import calling
from spec.language.prose import printable

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["COMMANDS", "GROUP", "Listed", "app", "load", "main"]

PROGRAM: Final = "resident-claims"
GROUP: Final = "resident_claims.commands"
"""The entry points: an application of typer, or a function that prepares the process for one."""


WHOLE: Final = "*"


class Listed(NamedTuple):
    """A line of `resident-claims --help`.

    `within` is the name of the command in its package's own command line, where that is another;
    WHOLE stands for that command line as a whole.
    """

    says: str
    within: str | None = None


COMMANDS: Final[dict[str, Listed]] = {
    "check": Listed("Judge traces: what was kept or violated, and where."),
    "follow": Listed("Judge events as they come, from files, pipes and sockets."),
    "evidence": Listed("Extract evidence for a mode from traces, for label."),
    "explain": Listed("Explain what each event of a trace changed, and why."),
    "prove": Listed("Prove what a mode's obligations guarantee.", "check"),
    "recheck": Listed("Check a certificate, with a solver of your choice."),
    "label": Listed("Label the modes that a described runtime supports.", "lower"),
    "counterexamples": Listed("Refute naive inferences by runs of the runtimes' models."),
    "models": Listed("List, show and simulate executable models of runtimes.", WHOLE),
    "diagram": Listed("Draw the lifecycle, a mode or an obligation."),
    "spec": Listed("List, show and document the specification.", WHOLE),
    "doctor": Listed("Report, hook by hook, what the vLLM plugin would do here."),
    "claims": Listed("List and end the claims of a running engine; drain it."),
    "demo": Listed("Run scenarios in a tiny real engine and judge them."),
}
"""The commands in the order in which they are shown."""


class _Lazy(TyperGroup):
    """A group whose commands are stand-ins until one is called or its options are completed."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that `args` begin with, as its package defines it."""
        name, stand_in, rest = super().resolve_command(ctx, args)
        if name is None or stand_in is None:
            return name, stand_in, rest
        try:
            return name, load(name), rest
        except typer.Exit:
            if not ctx.resilient_parsing:
                raise
            return None, None, rest  # nothing to complete


app = new_app(
    PROGRAM,
    "Check what a serving runtime owes for the KV-cache claims that it accepted.",
    cls=_Lazy,
    epilog=f"Example: {PROGRAM} check trace.jsonl --mode hard_protected",
)
for _name, _listed in COMMANDS.items():
    app.command(_name, help=_listed.says)(lambda: None)


def load(name: str) -> Any:
    """The command called `name`, one of COMMANDS, from the package that declares it.

    Raises:
        typer.Exit: its extra is missing (2), or a package is not ours (70); standard error says so.
    """
    within = COMMANDS[name].within or name
    group = typer.main.get_group(_declared(name))
    command = group if within == WHOLE else group.commands[within]
    retell(command)
    return command


def _declared(name: str) -> typer.Typer:
    """The application of the package that declares a command."""
    entry = _entries().get(name)
    if entry is None:
        raise _stopped(f"{PROGRAM} is not installed completely; install it again", 70) from None
    if fault := fault_of(_package(entry)):
        raise _stopped(fault.says, fault.code)
    made: typer.Typer | Callable[[], typer.Typer] = entry.load()
    return made if isinstance(made, typer.Typer) else made()


def _entries() -> dict[str, metadata.EntryPoint]:
    """The entry points of the commands that are installed."""
    try:
        entries = metadata.distribution(PROGRAM).entry_points.select(group=GROUP)
    except metadata.PackageNotFoundError:
        return {}
    return {entry.name: entry for entry in entries if entry.name in COMMANDS}


def _package(entry: metadata.EntryPoint) -> str:
    return entry.module.partition(".")[0]


def _names() -> dict[str, str]:
    """What each command is called here, by its package and its name there."""
    names = {}
    for name, entry in _entries().items():
        within = COMMANDS[name].within or name
        whole = within == WHOLE
        names[_package(entry) if whole else f"{_package(entry)} {within}"] = f"{PROGRAM} {name}"
    return names


def _stopped(says: str, code: int) -> typer.Exit:
    typer.echo(f"error: {printable(says)}", err=True)
    return typer.Exit(Code(code))


def main(argv: list[str] | None = None) -> int:
    """Run the command line on `argv` and return its exit code."""
    with calling(_names()):
        return run(app, argv, program=PROGRAM)
