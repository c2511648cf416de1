"""`calibrate`: measures a real engine for the cost model of `simulate`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from models.simulation.calibrate import engine_arguments, measure
from spec.cli.arguments import path, path_option
from spec.cli.common import Format, FormatOption, json_page, write_output
from spec.cli.layout import print_as
from spec.cli.working import Working
from spec.files.writing import check_target
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from models.simulation.calibrate import Measured, Timed
    from spec.cli.layout import Page

__all__ = ["register"]

_STARTS: Final = "vllm serve MODEL with the same arguments says more"
_EXAMPLE: Final = "Example: python -m models calibrate --model /models/llama -o cost.json"


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("calibrate", epilog=_EXAMPLE)(_calibrate)


def _calibrate(
    model: Annotated[
        Path, typer.Option(parser=path, metavar="DIR", help="The folder of the model.")
    ],
    output: Annotated[Path, path_option("--output", "-o", help="Write the cost file here.")],
    engine: Annotated[
        str | None, typer.Option(metavar="JSON", help="Arguments of vLLM's engine, as an object.")
    ] = None,
    lengths: Annotated[
        str | None,
        typer.Option(metavar="N,N,...", help="Tokens of the prompts; by default up to half."),
    ] = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Measure prefill, decoding and loads of a real engine.

    The file is the cost model of a simulation. The command starts vLLM in this process, on a
    machine that serves nobody else. Loads are measured if the engine's arguments have a
    kv_transfer_config.

    Exit 0. 2: bad input, no vLLM, or times that cannot be fitted.
    """
    check_target(output, reads=[model / "config.json"])
    arguments, sizes = engine_arguments(engine), _sizes(lengths)
    if not (model / "config.json").is_file():
        raise SpecError(f"{model} has no config.json", "give the folder of a model")
    with Working("starting vLLM") as status:
        found = measure(_vllm(model, arguments), sizes, says=status.update)
    write_output(output, json_page(found))
    print_as(form, found, lambda out: _put(out, found))


def _vllm(model: Path, arguments: dict[str, Any]) -> Timed:
    """Start vLLM on a model.

    Raises:
        SpecError: vLLM is not installed, or does not start.
    """
    try:
        from models.simulation.calibrated_vllm import Vllm
    except ImportError as problem:
        remedy = "run it where vLLM serves the model; make setup-vllm installs one"
        raise SpecError(f"vLLM cannot be imported: {problem}", remedy) from None
    try:
        return Vllm(model, arguments)
    except Exception as problem:
        said = " ".join(f"{type(problem).__name__}: {problem}".split())[:300]
        raise SpecError(f"vLLM does not start: {said}", _STARTS) from None


def _sizes(text: str | None) -> list[int] | None:
    if text is None:
        return None
    parts = text.split(",")
    if not all(re.fullmatch(r" *\d{1,8} *", part) for part in parts):
        raise SpecError(f"--lengths {text[:60]!r}", "give counts of tokens, such as 1024,4096")
    return [int(part) for part in parts]


def _put(out: Page, found: Measured) -> None:
    cost, about = found.cost, found.measured
    out.put(f"{about['model']}, {about['engine']}, {about['device']}", "bold").put()
    load = cost.load_blocks_s
    rows = [
        ("prefill", f"{cost.prefill_tokens_s:.0f} tokens a second"),
        ("step", f"{cost.step_s:.4f} s for each prompt besides"),
        ("decoding", f"{cost.decode_s:.4f} s a token"),
        ("loads", "not measured" if load is None else f"{load:.0f} blocks a second"),
    ]
    out.grid(rows, gap=2)
