"""`simulate`: replays a workload with several policies, and compares them."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final

import msgspec
import typer

from models.simulation.advice import advice, regrets
from models.simulation.cost import Cost, read_cost
from models.simulation.engine import simulate
from models.simulation.outcome import Row, Summary, Tally
from models.simulation.policies import POLICIES, Chosen, chosen
from models.simulation.routing import Routing, router
from models.simulation.sweep import (
    ONE_GROUP,
    axis_of,
    figure_of,
    finding,
    gains,
    put_sweep,
    swept,
    target_of,
)
from models.simulation.workload import read_workload
from models.simulation.workload.agents import PREFIX
from models.simulation.workload.command import (
    BlockOption,
    LimitOption,
    SeedOption,
    WorkloadArgument,
)
from spec.cli.arguments import path_option
from spec.cli.common import Format, FormatOption, write_output
from spec.cli.layout import Page, print_as
from spec.cli.working import Working
from spec.files.writing import check_target, replacing
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from models.simulation.request import Workload

__all__ = ["SCHEMA", "compare", "register"]

SCHEMA: Final = "resident-claims/simulation/1"
_EVERY: Final = 4_096
_MOST_BLOCKS: Final = 1 << 24
_UNBOUND: Final = (
    "There is none (-) where oracle is no bound: if with that policy or with oracle a request "
    "waits or is refused, or a tier is loaded from; with turns, and with several engines."
)
_EXAMPLE: Final = (
    "Example: python -m models simulate requests.jsonl --blocks 4000 --policy pin:ttl=40"
)


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("simulate", epilog=_EXAMPLE)(_simulate)


def compare(
    workload: Workload,
    policies: Sequence[Chosen],
    blocks: int,
    *,
    engines: int = 1,
    routing: Routing = Routing.ROUND_ROBIN,
    cost: Cost | None = None,
    max_running: int = 256,
    rows: Callable[[Row], object] | None = None,
    says: Callable[[str], object] = lambda text: None,
) -> list[Summary]:
    """Replay a workload with each policy, in the order in which they are given.

    Args:
        blocks: usable blocks of each engine's pool.
        max_running: requests that an engine runs at once.
        rows: takes a row for each request and policy.
        says: called from time to time with how far it is.

    Raises:
        SpecError: the pools have over 2^24 blocks together.
    """
    if blocks * engines > _MOST_BLOCKS:
        raise SpecError(f"{blocks * engines} blocks are over {_MOST_BLOCKS}", "simulate fewer")
    found = []
    for each in policies:
        tally = Tally(each.text, workload.block, rows)
        make = each.made(workload, blocks)
        served = 0

        def done(text: str = each.text) -> None:
            nonlocal served
            served += 1
            if not served % _EVERY:
                says(f"{text}: {served} of {len(workload.requests)} requests")

        says(each.text)
        simulate(
            workload,
            [make() for _ in range(engines)],
            blocks,
            cost=cost or Cost(),
            tally=tally,
            route=router(routing),
            max_running=max_running,
            done=done,
        )
        found.append(tally.summary())
    return found


def _simulate(
    workload: WorkloadArgument,
    blocks: Annotated[
        int | None, typer.Option(help="Usable blocks of a pool.", min=1, max=_MOST_BLOCKS)
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:OPTION=VALUE,...]", help=f"Compare with lru: {', '.join(POLICIES)}."
        ),
    ] = None,
    claim: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODE[:OPTION=VALUE,...]",
            help="Compare claims in this mode with lru, as --policy claim:mode=MODE does.",
        ),
    ] = None,
    engines: Annotated[int, typer.Option(help="Engines, a pool each.", min=1, max=1_024)] = 1,
    routing: Annotated[
        Routing, typer.Option(help="How requests are spread over engines.")
    ] = Routing.ROUND_ROBIN,
    max_running: Annotated[
        int, typer.Option(help="Requests that an engine runs at once.", min=1, max=100_000)
    ] = 256,
    cost: Annotated[
        Path | None, path_option("--cost", help="A cost file; without, made-up figures.")
    ] = None,
    rows: Annotated[
        Path | None, path_option("--rows", help="Write a line of JSON for each request.")
    ] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FIRST..LAST[/VALUES]",
            help="Compare so many values of `blocks`, or of an option of the policies.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, path_option("--plot", help="Draw the sweep, as .svg or .png.")
    ] = None,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    block: BlockOption = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Replay requests over pools of KV blocks; compare policies.

    The table has the policies by the share of prompt tokens that they save, the best first. With
    --sweep it has a line for each value, as in --sweep blocks=1000..8000 --sweep ttl=10..80/4. A
    figure needs the extra [plots].

    Exit 0. 2: bad input.
    """
    reads = [cost] if workload.startswith(PREFIX) else [workload, cost]
    check_target(rows, reads=reads)
    check_target(plot, reads=[*reads, rows])
    axes = [axis_of(text) for text in sweep or ()]
    drawn = None if plot is None else target_of(plot, axes)
    if plot is not None and not axes:
        raise SpecError("--plot draws a sweep", "add --sweep, as in --sweep blocks=1000..8000")
    if axes and rows is not None:
        raise SpecError("--rows is of one comparison", "leave out --sweep or --rows")
    if blocks is None and not axes:
        raise SpecError("the size of the pool is missing", "give --blocks, or sweep it")
    claims = [f"claim:mode={','.join(filter(None, each.split(':', 1)))}" for each in claim or ()]
    named = [chosen(text) for text in dict.fromkeys(["lru", *(policy or ()), *claims])]
    figures = Cost() if cost is None else read_cost(cost)
    with Working("reading the workload") as status:
        requests = read_workload(workload, limit=limit, seed=seed, block=block)
        if not requests.requests:
            raise SpecError(f"{workload} has no requests", "give a workload with some")
        with nullcontext() if rows is None else replacing(rows) as lines:
            given = partial(
                compare,
                requests,
                engines=engines,
                routing=routing,
                cost=figures,
                max_running=max_running,
                rows=None if lines is None else partial(_write_row, lines),
                says=status.update,
            )
            points = swept(axes, named, blocks, lambda each, n: given([each], n)[0]) if axes else []
            found = [] if blocks is None or axes else given(named, blocks)
    document = {
        "schema": SCHEMA,
        "workload": requests.name,
        "requests": len(requests.requests),
        "block": requests.block,
        "blocks": blocks,
        "engines": engines,
        "routing": routing,
        "cost": figures,
    }
    if axes:
        document |= {"sweep": points, "advice": [f"{finding(points)}.", *gains(points)]}
        if plot is not None and drawn is not None:
            write_output(plot, figure_of(axes, points, drawn))
        print_as(form, document, lambda out: put_sweep(out, points))
        return
    fixed = engines == 1 and all(each.after is None for each in requests)
    document |= {
        "policies": found,
        "regret": regrets(found, fixed=fixed),
        "advice": advice(found, blocks or 0),
    }
    print_as(form, document, lambda out: put(out, document))


def _write_row(lines: BinaryIO, row: Row) -> None:
    lines.write(msgspec.json.encode(row) + b"\n")


def _points(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def put(out: Page, document: dict[str, Any]) -> None:
    """Add the table of a comparison, the best policy first, and the advice."""
    engines = document["engines"]
    where = f"{engines} pools, {document['routing']}" if engines > 1 else "one pool"
    out.put(
        f"{document['requests']:,} requests of {document['workload']}, {where} of "
        f"{document['blocks']:,} blocks of {document['block']} tokens"
    ).put()
    found: list[Summary] = document["policies"]
    base = next(each for each in found if each.policy == "lru")
    regret: dict[str, float | None] = document["regret"]
    head = ("saved", "to lru", "regret", "refused", "deferred", "wait", "first token", "policy")
    rows = [
        (
            f"{each.saved:.1%}",
            "" if each is base else f"{100 * (each.saved - base.saved):+.1f}",
            _points(regret.get(each.policy)),
            f"{sum(each.refused.values())}",
            f"{each.deferred}",
            f"{each.wait_s.p99:.2f} s",
            f"{each.first_token_s.p99:.2f} s",
            each.policy.replace(":", ": ").replace(",", ", "),
        )
        for each in sorted(found, key=lambda each: -each.saved)
    ]
    some = [at for at, name in enumerate(head) if regret or name != "regret"]
    out.grid([[row[at] for at in some] for row in rows], head=[head[at] for at in some], gap=2)
    out.put().put(
        "saved: prompt tokens of served requests that were not computed. to lru: points more than "
        "lru saves. wait, first token: what 99 of 100 requests do not exceed, from their arrival. "
        + ONE_GROUP
    )
    if regret:
        out.put("regret: points less than oracle saves. " + _UNBOUND * (None in regret.values()))
    for sentence in document["advice"]:
        out.put().put(sentence)
