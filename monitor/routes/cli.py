"""`routes`: reads where a router sent requests with the prefixes of claims."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from monitor.check.files import EXIT_CODES
from monitor.routes.dynamo import COST_UNITS
from monitor.routes.judge import judge
from monitor.watch.registry import load_registry
from spec.cli.arguments import file_name
from spec.cli.common import Format, FormatOption
from spec.cli.layout import print_as
from spec.language.prose import counted, printable

if TYPE_CHECKING:
    from monitor.routes.judge import Routes
    from spec.cli.layout import Page

__all__ = ["register"]

_EXAMPLE: Final = (
    "Example: python -m monitor routes monitor/samples/routes/registry.yaml "
    "monitor/samples/routes/trace.jsonl monitor/samples/routes/frontend.jsonl "
    "monitor/samples/routes/answers.jsonl"
)
_SHOWN: Final = 5  # differences


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("routes", epilog=_EXAMPLE)(routes)


def routes(
    registry: Annotated[
        str,
        typer.Argument(
            parser=file_name,
            metavar="REGISTRY",
            help="A file of claims in the mode routed_reuse, in YAML or JSON.",
        ),
    ],
    records: Annotated[
        list[str],
        typer.Argument(
            parser=file_name,
            metavar="RECORDS",
            help="A request trace of NVIDIA Dynamo, a log of its frontend in JSON, or answers to "
            "clients, one on each line.",
        ),
    ],
    form: FormatOption = Format.TEXT,
) -> None:
    """Read where a router sent requests with claimed prefixes.

    For each claim it prints how many requests began with its prefix, to how many workers they went
    at which cost, whether the router took the prefix for cached, and whether the engine served it.
    The records have no numbers, so no claim is kept by them.

    Exit 2: bad input. 3: inconclusive.
    """
    found = judge(load_registry(Path(registry), routed=True), records)
    print_as(form, found, lambda out: _put(out, found))
    raise typer.Exit(EXIT_CODES[found.verdict])


def _put(out: Page, found: Routes) -> None:
    out.put(f"{found.verdict}: {found.why}", "bold").put()
    read = f"{counted(found.ended, 'request')} ended; {counted(found.others, 'other record')}"
    out.put(f"NVIDIA Dynamo: {read} passed over").put()
    rows = []
    for each in found.claims:
        answered = each.requests - each.unserved
        row = (
            printable(each.claim_id),
            str(each.requests),
            str(each.routed),
            str(each.workers),
            f"{each.cost / COST_UNITS / each.routed:.2f}" if each.routed else "-",
            str(each.believed),
            f"{each.served} of {answered}" if answered else "-",
        )
        rows.append(row)
    head = ("claim", "requests", "routed", "workers", "mean cost", "router: cached", "served")
    out.grid(rows, head=head, gap=2).put()
    for one in found.differences[:_SHOWN]:
        said = f"the router took {one.believed} tokens for cached, the engine served"
        out.put(printable(f"{one.claim_id}, request {one.request_id}: {said} {one.served}"))
    if found.differ > _SHOWN:
        out.put(f"and {found.differ - _SHOWN} requests more")
    out.put("Not stated:")
    for text in found.missing:
        out.put(printable(text), indent=2)
