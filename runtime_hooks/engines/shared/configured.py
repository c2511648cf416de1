"""Reads the flags of `vllm serve` as vLLM does, without serving."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any, Final, Protocol

from runtime_hooks.engines.adapter import Configuration
from runtime_hooks.engines.shared.engine import (
    Tried,
    unfit_class,
    unfit_config,
    unobserved,
)
from runtime_hooks.engines.shared.parallel import rank_of
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["configured"]

_LONGEST: Final = 500  # characters of what vLLM complains
_REMEDY: Final = "vllm serve --help=all lists the flags"


class _Unsaid(io.StringIO):
    """Takes what is printed.

    What C libraries print goes to the descriptor, and vLLM 0.31 asks for it to keep them quiet.
    """

    def fileno(self) -> int:
        """The descriptor of standard output."""
        return 1


class _Version(Protocol):
    """What an adapter says of its version of vLLM (`VllmAdapter`)."""

    @property
    def loaded(self) -> tuple[str, ...]: ...

    @property
    def tried(self) -> Tried: ...

    def unfit(self, scheduler: Any) -> str: ...

    def unfit_settings(self, config: Any) -> str: ...


def configured(version: _Version, flags: Sequence[str], *, load: bool) -> Configuration:
    """What vLLM makes of a model and flags (`runtime_hooks.engines.adapter.Adapter`)."""
    found = _parsed(flags)
    try:
        with redirect_stdout(_Unsaid()):
            config = _config(found)
            kind = config.scheduler_config.get_scheduler_cls()
        why = unfit_class(kind) or unfit_config(config, version.tried)
        why = why or version.unfit_settings(config)
        usable = None
        if load and not why:
            why, usable = _loaded(version, config)
    except SpecError:
        raise
    except Exception as error:
        raise SpecError(f"vLLM cannot use these flags: {_said(error)}", _REMEDY) from None
    unknown = () if usable is not None else version.loaded
    model = str(config.model_config.model)
    return Configuration(model, why, unobserved(config), unknown, usable, vars(found))


def _parsed(flags: Sequence[str]) -> Any:
    """The flags, as `vllm serve` parses them."""
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    try:
        from vllm.entrypoints.common.cli_args import make_arg_parser, validate_parsed_serve_args
    except ImportError:  # before vLLM 0.33
        from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args

    said = io.StringIO()
    try:
        with redirect_stderr(said), redirect_stdout(said):
            parsed = make_arg_parser(FlexibleArgumentParser()).parse_args([*flags])
            if parsed.model_tag is not None:
                parsed.model = parsed.model_tag
            validate_parsed_serve_args(parsed)
    except SystemExit:
        last = said.getvalue().strip().rpartition("\n")[2].rpartition("error: ")[2]
        last = last or "help was asked for"
        raise SpecError(f"vLLM does not take these flags: {last[:_LONGEST]}", _REMEDY) from None
    except Exception as error:
        raise SpecError(f"vLLM does not take these flags: {_said(error)}", _REMEDY) from None
    return parsed


def _config(parsed: Any) -> Any:
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.usage.usage_lib import UsageContext

    made = AsyncEngineArgs.from_cli_args(parsed)
    return made.create_engine_config(usage_context=UsageContext.OPENAI_API_SERVER)


def _loaded(version: _Version, config: Any) -> tuple[str, int | None]:
    """Load the model in this process; why its engine cannot be hooked, and its blocks."""
    from vllm.v1.engine.core import EngineCore
    from vllm.v1.executor import Executor

    if rank_of(config) is not None:  # as vLLM does in the process of each rank
        config.parallel_config.reconfigure_for_independent_dp_rank()
    with redirect_stdout(_Unsaid()):
        core = EngineCore(config, Executor.get_class(config), log_stats=False)
    try:
        scheduler = core.scheduler
        return version.unfit(scheduler), scheduler.kv_cache_manager.block_pool.num_gpu_blocks - 1
    finally:
        core.shutdown()


def _said(error: Exception) -> str:
    """An exception in one line."""
    return " ".join(str(error).split())[:_LONGEST] or type(error).__qualname__
