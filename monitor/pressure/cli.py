"""`pressure`: decides across runs whether priorities have influence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from monitor.pressure.judge import Influence, decide
from monitor.pressure.run import Arm, read_run
from monitor.report.evidence_text import put_preconditions
from spec.cli.arguments import file_name
from spec.cli.common import Format, FormatOption
from spec.cli.layout import print_as
from spec.language.prose import printable

if TYPE_CHECKING:
    from monitor.pressure.judge import Experiment
    from spec.cli.layout import Page

__all__ = ["register"]

_EXAMPLE = (
    "Example: python -m monitor pressure monitor/samples/pressure/original.jsonl "
    "monitor/samples/pressure/swapped.jsonl monitor/samples/pressure/equal.jsonl"
)
_CODES: Final = {Influence.SHOWN: 0, Influence.ABSENT: 1, Influence.INCONCLUSIVE: 3}


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("pressure", epilog=_EXAMPLE)(pressure)


def pressure(
    runs: Annotated[
        list[str],
        typer.Argument(
            parser=file_name,
            metavar="RUN",
            help="The trace of one run; or REGISTRY=CAPTURE, a capture of KV events with the "
            "claims of that run.",
        ),
    ],
    form: FormatOption = Format.TEXT,
) -> None:
    """Decide across runs whether priorities have influence.

    Each run has the same two claims of soft_priority, of which both are cached before a request
    needs their blocks. The arm of a run follows from the priorities: as given, swapped, or equal.

    Exit 0: influence is shown. 1: it is absent. 2: bad input. 3: inconclusive.
    """
    found = decide([read_run(run) for run in runs])
    print_as(form, found, lambda out: _put(out, found))
    raise typer.Exit(_CODES[found.influence])


def _put(out: Page, found: Experiment) -> None:
    where = " from a model, not an engine" if found.of_model else ""
    out.put(printable(f"priority_influence {found.influence}{where}: {found.why}"), "bold").put()
    if len(found.claims) == 2:
        a, b = map(printable, found.claims)
        out.put(f"Runs by the claim that lost a block first; a is {a}, b is {b}.").put()
    rows = [
        (
            arm,
            str(counts.runs),
            *(("-", "-") if arm is Arm.EQUAL else (str(counts.lower), str(counts.higher))),
            *((str(counts.a), str(counts.b)) if arm is Arm.EQUAL else ("-", "-")),
            str(counts.same_event),
            str(counts.unclear),
        )
        for arm, counts in found.arms.items()
    ]
    head = ("priorities", "runs", "lower", "higher", "a", "b", "same event", "unclear")
    out.grid(rows, head=head, gap=2)
    for file, why in found.unclear.items():
        out.put(printable(f"{file}: {why}"), indent=2)
    for file, other in found.copies.items():
        out.put(printable(f"{file}: not counted again, it has the events of {other}"), indent=2)
    for file, conditions in found.preconditions.items():
        out.put(printable(file), indent=2)
        put_preconditions(out, conditions)
