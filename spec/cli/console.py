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

from spec.cli.common import Code, new_app, run
from spec.installed import fault_of
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
    "check": Listed("Judge traces: what was kept, what was violated, and where."),
    "follow": Listed("Print the live verdicts of a serving process."),
    "evidence": Listed("Extract evidence for a mode from traces, as input of label."),
    "explain": Listed("Explain what each event of a trace changed, and why."),
    "prove": Listed("Prove what a mode's obligations guarantee.", "check"),
    "recheck": Listed("Check a certificate, with a solver of your choice."),
    "label": Listed("Label the modes that a described runtime supports.", "lower"),
    "counterexamples": Listed("Refute naive inferences by runs of the runtimes' models."),
    "models": Listed("List, show and simulate executable models of runtimes.", WHOLE),
    "diagram": Listed("Draw the lifecycle, a mode or an obligation."),
    "spec": Listed("List, show and document the specification.", WHOLE),
    "doctor": Listed("Report, hook by hook, what the vLLM plugin would do here."),
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
    package, found = _declared(name)
    within = COMMANDS[name].within or name
    group = typer.main.get_group(found)
    command = group if within == WHOLE else group.commands[within]
    own = f"python -m {package}" + ("" if within == WHOLE else f" {within}")
    _retell(command, own, f"{PROGRAM} {name}")
    return command


def _declared(name: str) -> tuple[str, typer.Typer]:
    """The package that declares a command, and its application."""
    try:
        entries = metadata.distribution(PROGRAM).entry_points
        (entry,) = entries.select(group=GROUP, name=name)
    except (metadata.PackageNotFoundError, ValueError):
        raise _stopped(f"{PROGRAM} is not installed completely; install it again", 70) from None
    package = entry.module.partition(".")[0]
    if fault := fault_of(package):
        raise _stopped(fault.says, fault.code)
    made: typer.Typer | Callable[[], typer.Typer] = entry.load()
    return package, made if isinstance(made, typer.Typer) else made()


def _stopped(says: str, code: int) -> typer.Exit:
    typer.echo(f"error: {printable(says)}", err=True)
    return typer.Exit(Code(code))


def _retell(command: Any, own: str, ours: str) -> None:
    """Have the examples of a command, and of those within it, call it as it was called here."""
    if command.epilog:
        command.epilog = command.epilog.replace(own, ours)
    for inner in getattr(command, "commands", {}).values():
        _retell(inner, own, ours)


def main(argv: list[str] | None = None) -> int:
    """Run the command line on `argv` and return its exit code."""
    return run(app, argv, program=PROGRAM)
