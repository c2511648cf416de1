"""`python -m proofs accepts`: whether a recorded trace is a run of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from monitor.report.findings import place, put_quoted
from monitor.report.quote import quotes
from monitor.report.verdict import Input
from proofs.cli.progress import progress
from proofs.product.accepts import ACCEPTED, LIMIT, REJECTED
from proofs.product.recorded import Acceptance, StreamAcceptance, acceptance
from spec.cli.arguments import file_name
from spec.cli.common import Code, Format, FormatOption
from spec.cli.layout import Styled, print_as

if TYPE_CHECKING:
    from spec.cli.layout import Page

__all__ = ["register"]

_EXAMPLE = "Example: python -m proofs accepts plugin tests/recordings/hard.jsonl"
_SHOWN: Final = 5
"""Actions that are shown without -v."""


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("accepts", epilog=_EXAMPLE)(_accepts)


def _accepts(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A model, or NAME:VARIANT.")],
    trace: Annotated[
        str,
        typer.Argument(
            parser=file_name,
            metavar="TRACE",
            help="A trace that the monitor reads; - is standard input.",
        ),
    ],
    inference: Annotated[
        str | None,
        typer.Option(help="The trace has the claims that this inference makes of calls."),
    ] = None,
    limit: Annotated[
        int, typer.Option(help="The most states that the model may be in after an event.", min=1)
    ] = LIMIT,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the run, and all alternatives.")
    ] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Decide whether a recorded trace is a run of a model.

    The names of claims, requests, objects and blocks are the trace's own. Where events may be
    missing nothing is decided from there on. The models of the plugin, of vLLM's pool and of its
    offloading connector take their size from the trace; any other one has the size of the variant,
    or of the inference. A trace of the plugin is a run of vLLM where nothing was enforced. Of the
    connector, and of the plugin with a tier, nothing is rejected, because the tier may lack room or
    have parts of objects, unless an instance is named (objects-fail or objects-recompute, enforcing
    or reporting).

    A trace in which something happens that the model leaves out is no run of it, either: what that
    is follows a rejection.

    Exit 0: accepted. 1: rejected, at the line that is printed. 2: bad input. 3: undecided.
    """
    with progress(name) as report:

        def follow(events: int, states: int) -> None:
            report("its run", states, events, events)

        found = acceptance(name, trace, inference=inference, limit=limit, progress=follow)
    print_as(form, found, lambda out: _put(out, found, verbose=verbose))
    codes = {ACCEPTED: Code.OK, REJECTED: Code.VIOLATED}
    raise typer.Exit(codes.get(found.verdict, Code.INCONCLUSIVE))


def _put(out: Page, found: Acceptance, *, verbose: bool) -> None:
    if not found.streams:
        out.put("undecided: the trace has no line")
    for each in found.streams:
        out.put(_head(found, each))
        if each.verdict != ACCEPTED:
            _put_place(out, found, each)
        if each.instead:
            out.put("expected instead")
            for text in each.instead if verbose else each.instead[:_SHOWN]:
                out.put(text, indent=2, hanging=4)
            if not verbose and len(each.instead) > _SHOWN:
                out.put(f"  and {len(each.instead) - _SHOWN} others (-v)")
        elif each.verdict == REJECTED:
            out.put("expected instead: no event, the run ends here")
        if verbose and each.actions:
            out.put(f"the run: {', '.join(each.actions)}", "bright_black", hanging=2)
    if found.verdict == REJECTED:
        out.put(f"left out of the model: {found.left_out}", hanging=2)


def _head(found: Acceptance, each: StreamAcceptance) -> Styled:
    """The verdict in a sentence that counts."""
    fixed = not each.instance or ":" in found.model
    about = found.model if fixed else f"{found.model}:{each.instance}"
    stream = f", stream {each.stream}" if len(found.streams) > 1 else ""
    says = f"{each.taken} of {each.events} events are a run of {about}{stream}"
    if each.verdict == ACCEPTED and not each.complete:
        says += "; the last action has more to emit"
    style = {ACCEPTED: "bold green", REJECTED: "bold red"}.get(each.verdict, "bold yellow")
    return Styled(f"{each.verdict}: {says}", style)


def _put_place(out: Page, found: Acceptance, each: StreamAcceptance) -> None:
    if each.at is not None:
        out.append(f"at {place(each.at)}\n")
        put_quoted(out, each.at, quotes([Input(found.trace, found.sha256)], [each.at]))
    out.put(f"because {each.why}", hanging=2)
