"""`python -m models`: lists, shows, walks and explores executable models of runtimes."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

import typer

from models.budget.command import register as register_budget
from models.experiments.command import add_experiments
from models.explorer.starts import starts_of
from models.framework.explore import walk
from models.framework.stepper import Stepper
from models.loading import load, load_inferred
from models.registry import RUNTIMES, parts, runtime
from models.report.pages import pages
from models.report.screens import put_list, put_model, put_sweep
from models.report.view import DRAWN, diagram, model_view, trace_of
from models.runtimes.tensorrt_llm.pressure import pressure_runs
from models.sweep import sweep
from spec.cli.arguments import path_option
from spec.cli.common import (
    Format,
    FormatOption,
    OutputOption,
    add_docs,
    new_app,
    print_json,
    print_text,
    run,
    write_output,
)
from spec.cli.layout import page, print_as
from spec.events.canonical import as_jsonl
from spec.files.writing import check_target, write_bytes
from spec.installed import how_to_install
from spec.language.errors import SpecError

app = new_app(
    "models",
    "List, show, walk and explore models of serving runtimes.",
    modules={
        "simulate": "models.simulation.command",
        "workload": "models.simulation.workload.command",
        "calibrate": "models.simulation.calibrate_command",
    },
    epilog="Example: python -m models show vllm_pool",
)

_MOST: Final = 100_000
_LARGE: Final = 5_000

_Name = Annotated[str, typer.Argument(metavar="NAME", help="A model, or NAME:VARIANT.")]


@app.command("list", epilog="Example: python -m models list")
def list_models(form: FormatOption = Format.TEXT) -> None:
    """List the models, with their variants.

    Exit 0. `show` says what a model does.
    """
    found = [runtime(name) for name in RUNTIMES]
    listed = [(each, next(iter(each.variants.values()))()) for each in found]
    if form is Format.JSON:
        print_json(
            [
                {"name": each.name, "variants": each.names, "about": m.about, "source": m.source}
                for each, m in listed
            ]
        )
        return
    with page() as out:
        put_list(out, [(each.name, each.names[1:], m.about) for each, m in listed])


@app.command(epilog="Example: python -m models show vllm_pool")
def show(
    name: _Name,
    drawn: Annotated[
        bool,
        typer.Option("--diagram", help=f"Print the states as Mermaid, if at most {DRAWN}."),
    ] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Show the source, actions, properties and states of a model.

    Exit 0. 1: a property of every state fails in some, or one of some state in all. 2: bad input.
    """
    model = load(name)
    found = runtime(parts(name)[0])
    if drawn:
        text = diagram(model)
        if text is None:
            raise SpecError(f"{name} has more than {DRAWN} states", "show it without --diagram")
        print_text(text)
        return
    view = model_view(found, name, model)
    print_as(form, view, lambda out: put_model(out, view))
    if view.broken or view.missed:
        raise typer.Exit(1)


@app.command("walk", epilog="Example: python -m models walk vllm_pool --seed 7 --steps 20")
def walk_model(
    name: _Name,
    seed: Annotated[int, typer.Option(help="The same seed makes the same run.", min=0)] = 0,
    steps: Annotated[int, typer.Option(help="Actions, at most.", min=1, max=_MOST)] = 50,
    inference: Annotated[
        str | None,
        typer.Option(help="Name its claims as this inference does; without, facts alone."),
    ] = None,
    output: OutputOption = None,
) -> None:
    """Write one random run of a model as canonical events.

    A runtime without claims emits facts alone. With --inference the calls of a feature are taken
    for claims, as `proofs counterexamples` does it; without a variant the run is of the instance
    that the inference is about.

    Exit 0. 2: bad input, or a model whose facts contradict each other.
    """
    check_target(output)
    model, shim = load_inferred(name, inference)
    lines = as_jsonl(trace_of(walk(model, seed, steps, Stepper(model, shim)), shim))
    if output is None:
        typer.echo(lines, nl=False)
    else:
        write_output(output, lines)


@app.command("explore", epilog="Example: python -m models explore vllm_pool")
def explore_model(
    name: _Name,
    inference: Annotated[
        str | None,
        typer.Option(help="Name its claims as this inference does; without, choose on the page."),
    ] = None,
    port: Annotated[
        int, typer.Option(help="The port; 0 takes any that is free.", min=0, max=65535)
    ] = 8765,
) -> None:
    """Explore a model in a browser.

    The pages are served on loopback. Each state has a URL. Its page shows the run so far, what can
    be done next, what that emits, and which obligations it moves. The shortest run of a
    counterexample is a link, to be followed step by step. Needs the extra [web].

    Exit 0, when it is interrupted. 2: bad input, or a port that cannot be taken.
    """
    for module in ("starlette", "uvicorn"):
        if find_spec(module) is None:
            raise SpecError(f"{module} is not installed", how_to_install("web"))
    from models.explorer.server import app_of, serve

    app = app_of(name, starts_of(name, inference))
    serve(app, port, lambda at: typer.echo(f"{at} (Ctrl-C ends it)"))


@app.command("pressure", epilog="Example: python -m models pressure -o build/pressure")
def write_pressure(
    output: Annotated[
        Path, path_option("--output", "-o", metavar="DIR", help="Write the runs to this folder.")
    ],
) -> None:
    """Write runs of TensorRT-LLM's model with two priorities.

    Two prefixes are cached, with the priorities as given, swapped, and equal, and then a request
    needs the block of one. `resident-claims pressure DIR/*.jsonl` decides across the runs.

    Exit 0. 2: bad input.
    """
    check_target(output, folder=True)
    runs = pressure_runs()
    for name, events in runs.items():
        write_bytes(output / f"{name}.jsonl", as_jsonl(events))
    print_text(f"written: {len(runs)} files to {output}\n")


@app.command("sweep", epilog="Example: python -m models sweep --resident 60 --active 70")
def sweep_pools(
    resident: Annotated[int, typer.Option(help="Blocks of the prefix.", min=1, max=_LARGE)] = 60,
    active: Annotated[int, typer.Option(help="Blocks of the request.", min=1, max=_LARGE)] = 70,
    first: Annotated[int, typer.Option("--from", help="Smallest pool.", min=1, max=_LARGE)] = 80,
    last: Annotated[int, typer.Option("--to", help="Largest pool.", min=1, max=_LARGE)] = 150,
    step: Annotated[int, typer.Option(help="Blocks from one to the next.", min=1)] = 10,
    form: FormatOption = Format.TEXT,
) -> None:
    """Run a prefix and a request through pools of many sizes.

    The pools are vLLM's own, the same without caching of the active request, and one that excludes
    the blocks of an accepted claim from the victims. `proofs check capacity` proves for all sizes
    what the table shows.

    Exit 0. 2: bad input.
    """
    if first < max(resident, active):
        both = f"{resident} and {active} blocks"
        raise SpecError(f"a pool of {first} blocks is too small", f"{both} must each fit into it")
    if last < first:
        raise SpecError(f"--to {last} is less than --from {first}", "give a larger --to")
    rows = sweep(resident, active, range(first, last + 1, step))
    print_as(
        form,
        {"resident": resident, "active": active, "rows": rows},
        lambda out: put_sweep(out, resident, active, rows),
    )


register_budget(app)
add_experiments(app)
add_docs(app, pages, of="models")


def main(argv: list[str] | None = None) -> int:
    """Run the command line on `argv` and return its exit code."""
    return run(app, argv)


if __name__ == "__main__":
    sys.exit(main())
