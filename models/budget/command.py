"""`budget`: how many KV blocks a model has in vLLM, and how many claims fit into them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from models.budget.budget import GPU, Asked, budget_of
from models.budget.config import read_config
from models.budget.estimate import Estimate, estimated, weights_in
from models.budget.layers import BYTES, KV_DTYPES, Options
from models.budget.page import put_budget
from models.budget.sizes import parse_size
from spec.cli.arguments import path
from spec.cli.common import Format, FormatOption
from spec.cli.layout import print_as
from spec.language.errors import SpecError
from spec.language.suggest import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["register"]

_EXAMPLE: Final = (
    "Example: python -m models budget docs/examples/llama-3.1-8b.json --kv-cache-memory 10.55GiB"
)
_MOST_RANKS: Final = 1024
_MOST_TOKENS: Final = 1 << 32
_MOST_TIERS: Final = 16


_AUTO: Final = "auto"


def _dtype(known: Iterable[str]) -> Any:
    return typer.Option(metavar="DTYPE", help=f"As vLLM's flag: {', '.join((_AUTO, *known))}.")


def _known(stated: str, known: Iterable[str]) -> str:
    return resolve(stated, (_AUTO, *known), what="dtype")


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("budget", epilog=_EXAMPLE)(budget)


def budget(
    model: Annotated[
        Path,
        typer.Argument(
            parser=path, metavar="MODEL_CONFIG", help="A model's config.json, or its folder."
        ),
    ],
    kv_cache_memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="What a rank has for its cache, such as 10.55GiB, or bytes."
        ),
    ] = None,
    gpu_memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Instead: a GPU's memory, for an estimate."),
    ] = None,
    gpu_memory_utilization: Annotated[
        float, typer.Option(help="As vLLM's flag.", min=0.01, max=1.0)
    ] = 0.92,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Of the checkpoint, for an estimate; by default it is counted."
        ),
    ] = None,
    prefix: Annotated[
        int | None,
        typer.Option(metavar="TOKENS", help="The prefix of a claim.", min=1, max=_MOST_TOKENS),
    ] = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=SIZE", help="Another tier, such as cpu=64GiB. Repeat for more."),
    ] = None,
    block_size: Annotated[
        int | None, typer.Option(help="As vLLM's flag; by default 16.", min=1, max=1 << 20)
    ] = None,
    max_model_len: Annotated[
        int | None,
        typer.Option(
            metavar="TOKENS",
            help="As vLLM's flag: say which size vLLM prints at start.",
            min=1,
            max=_MOST_TOKENS,
        ),
    ] = None,
    tensor_parallel: Annotated[
        int, typer.Option(help="Ranks that share each layer.", min=1, max=_MOST_RANKS)
    ] = 1,
    pipeline_parallel: Annotated[
        int, typer.Option(help="Stages of layers.", min=1, max=_MOST_RANKS)
    ] = 1,
    dtype: Annotated[str, _dtype(BYTES)] = _AUTO,
    kv_cache_dtype: Annotated[str, _dtype(KV_DTYPES)] = _AUTO,
    mamba_ssm_cache_dtype: Annotated[str, _dtype(BYTES)] = _AUTO,
    form: FormatOption = Format.TEXT,
) -> None:
    """Count the KV blocks of a model, and the claims that fit.

    Blocks, layers and their groups are those of vLLM 0.32. Of a model whose layers are not known
    here no figure is printed.

    Exit 0. 2: bad input, or a model that is not known here.
    """
    options = Options(
        block_size,
        tensor_parallel,
        pipeline_parallel,
        _known(dtype, BYTES),
        _known(kv_cache_dtype, KV_DTYPES),
        _known(mamba_ssm_cache_dtype, BYTES),
    )
    if (kv_cache_memory is None) == (gpu_memory is None):
        given = "no" if gpu_memory is None else "more than one"
        raise SpecError(f"{given} memory is stated", "give --kv-cache-memory or --gpu-memory")
    if not 0 < gpu_memory_utilization <= 1:  # such as nan
        raise SpecError(f"--gpu-memory-utilization is {gpu_memory_utilization}", "give up to 1")
    if weights is not None and gpu_memory is None:
        raise SpecError("--weights is for an estimate", "give --gpu-memory, or leave it out")
    config = read_config(model)
    memory: int | Estimate
    if gpu_memory is None:
        memory = parse_size(kv_cache_memory or "")
    else:
        known = weights_in(model) if weights is None else parse_size(weights)
        total = parse_size(gpu_memory)
        memory = estimated(config, options, total, gpu_memory_utilization, known)
    found = budget_of(config, options, memory, Asked(prefix, max_model_len, _tiers(tier or ())))
    print_as(form, found, lambda out: put_budget(out, found))


def _tiers(stated: Sequence[str]) -> dict[str, int]:
    """The bytes of each tier by its name."""
    found = dict[str, int]()
    if len(stated) > _MOST_TIERS:
        raise SpecError(f"{len(stated)} tiers are stated", f"state at most {_MOST_TIERS}")
    for each in stated:
        name, equals, size = each.partition("=")
        if not equals or not name.isidentifier() or len(name) > 20 or name in {GPU, *found}:
            raise SpecError(
                f"--tier {each[:40]!r} is not understood",
                f"write NAME=SIZE, such as cpu=64GiB; each name once, and not {GPU}",
            )
        found[name] = parse_size(size)
    return found
