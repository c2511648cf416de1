"""Defines `resident-claims`: one command line over those of the packages.

The table COMMANDS names the package of each command (docs/decisions/0014). The package is imported
when the command is asked for: help and completion of names import no solver.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperGroup

from spec.cli.command_modules import retell
from spec.cli.common import Code, new_app, run
from spec.installed import fault_of
from spec.language.called import calling
from spec.language.prose import printable

__all__ = ["COMMANDS", "Listed", "app", "load", "main"]

PROGRAM: Final = "resident-claims"
WHOLE: Final = "*"


class Listed(NamedTuple):
    """A line of `resident-claims --help`, and the package whose `python -m` has the command.

    `within` is the name of the command there, where that is another; WHOLE stands for all commands
    of the package.
    """

    says: str
    package: str
    within: str | None = None


COMMANDS: Final[dict[str, Listed]] = {
    "check": Listed("Judge traces: what was kept or violated, and where.", "monitor"),
    "report": Listed("Write a page of traces: verdicts, lanes and the pool.", "monitor"),
    "follow": Listed("Judge events as they come, from files, pipes and sockets.", "monitor"),
    "watch": Listed("Watch claims on an engine without the plugin.", "monitor"),
    "fleet": Listed("Judge the streams of a fleet on Apache Spark.", "monitor"),
    "routes": Listed("Read where a router sent requests with claimed prefixes.", "monitor"),
    "pressure": Listed("Decide across runs whether priorities have influence.", "monitor"),
    "repeat": Listed("Judge repeated restores, failed restores and controls.", "monitor"),
    "evidence": Listed("Extract evidence for a mode from traces, for label.", "monitor"),
    "samples": Listed("List a kept and a broken trace for each obligation.", "monitor"),
    "explain": Listed("Explain what each event of a trace changed, and why.", "proofs"),
    "prove": Listed("Prove what a mode's obligations guarantee.", "proofs", "check"),
    "recheck": Listed("Check a certificate, with a solver of your choice.", "proofs"),
    "label": Listed("Label the modes that a described runtime supports.", "proofs", "lower"),
    "counterexamples": Listed("Refute naive inferences by runs of the runtimes' models.", "proofs"),
    "budget": Listed("Count the KV blocks of a model, and the claims that fit.", "models"),
    "models": Listed("List, show, walk and explore models of runtimes.", "models", WHOLE),
    "simulate": Listed("Compare what claims and cache policies cost a workload.", "models"),
    "workload": Listed("Describe, generate and convert workloads.", "models"),
    "calibrate": Listed("Measure a real engine for the cost model of simulate.", "models"),
    "diagram": Listed("Draw the lifecycle, a mode or an obligation.", "spec"),
    "spec": Listed("List, show and document the specification.", "spec", WHOLE),
    "mcp": Listed("Serve check, explain, prove and label to MCP clients.", "spec"),
    "doctor": Listed("Report, hook by hook, what the vLLM plugin would do here.", "runtime_hooks"),
    "claims": Listed("List and end the claims of a running engine; drain it.", "runtime_hooks"),
    "demo": Listed("Run scenarios in a tiny real engine and judge them.", "runtime_hooks"),
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
    """The command called `name`, one of COMMANDS, from its package.

    Raises:
        typer.Exit: its extra is missing (2), or a package is not ours (70); standard error says so.
    """
    _, package, within = COMMANDS[name]
    if fault := fault_of(package):
        typer.echo(f"error: {printable(fault.says)}", err=True)
        raise typer.Exit(Code(fault.code))
    group = typer.main.get_group(import_module(f"{package}.__main__").app)
    command = group if within == WHOLE else group.commands[within or name]
    retell(command)
    return command


def _names() -> dict[str, str]:
    """What each command is called here, by its package and its name there."""
    return {
        package if within == WHOLE else f"{package} {within or name}": f"{PROGRAM} {name}"
        for name, (_, package, within) in COMMANDS.items()
    }


def main(argv: list[str] | None = None) -> int:
    """Run the command line on `argv` and return its exit code."""
    with calling(_names()):
        return run(app, argv, program=PROGRAM)
