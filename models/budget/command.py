"""`budget`: how many KV blocks a model has in vLLM, and how many claims fit into them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from models.budget.budget import GPU, budget_of
from models.budget.config import read_config
from models.budget.layers import BYTES, KV_DTYPES, Options
from models.budget.page import put_budget
from models.budget.sizes import parse_size
from spec.cli.arguments import path
from spec.cli.common import Format, FormatOption
from spec.cli.layout import print_as
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["register"]

_EXAMPLE: Final = (
    "Example: python -m models budget docs/examples/llama-3.1-8b.json --kv-cache-memory 10.55GiB"
)
_MOST_RANKS: Final = 1024
_MOST_TOKENS: Final = 1 << 32
_MOST_TIERS: Final = 16

_Dtype = StrEnum("_Dtype", {"auto": "auto", **{name: name for name in BYTES}})
_KvDtype = StrEnum("_KvDtype", {"auto": "auto", **{name: name for name in KV_DTYPES}})


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
        str,
        typer.Option(metavar="SIZE", help="What one rank has for its cache: 10.55GiB, or bytes."),
    ],
    prefix: Annotated[
        int | None,
        typer.Option(metavar="TOKENS", help="The prefix of a claim.", min=1, max=_MOST_TOKENS),
    ] = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=SIZE", help="Another tier, such as cpu=64GiB. Repeat for more."),
    ] = None,
    block_size: Annotated[
        int | None,
        typer.Option(help="Tokens of a block, as vLLM has it; by default 16.", min=1, max=1 << 20),
    ] = None,
    tensor_parallel: Annotated[int, typer.Option(min=1, max=_MOST_RANKS)] = 1,
    pipeline_parallel: Annotated[int, typer.Option(min=1, max=_MOST_RANKS)] = 1,
    dtype: Annotated[_Dtype, typer.Option(help="As vLLM's --dtype.")] = _Dtype.auto,
    kv_cache_dtype: Annotated[
        _KvDtype, typer.Option(help="As vLLM's --kv-cache-dtype.")
    ] = _KvDtype.auto,
    mamba_ssm_cache_dtype: Annotated[
        _Dtype, typer.Option(help="As vLLM's --mamba-ssm-cache-dtype.")
    ] = _Dtype.auto,
    form: FormatOption = Format.TEXT,
) -> None:
    """Compute how many KV blocks a model has in vLLM, and how many claims fit.

    Exit 0. 2: bad input, or a model whose caches are not known here.
    """
    options = Options(
        block_size,
        tensor_parallel,
        pipeline_parallel,
        str(dtype),
        str(kv_cache_dtype),
        str(mamba_ssm_cache_dtype),
    )
    memory = parse_size(kv_cache_memory)
    found = budget_of(read_config(model), options, memory, prefix=prefix, tiers=_tiers(tier or ()))
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
