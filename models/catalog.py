"""Lists the shipped descriptors: one file for each runtime at a version."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spec.language.suggest import resolve
from spec.lowering.load import read_descriptor

if TYPE_CHECKING:
    from spec.lowering.descriptor import Descriptor

__all__ = ["FOLDER", "NAMES", "descriptor"]

FOLDER: Final = Path(__file__).parent / "descriptors"

_FIRST: Final = (
    "vllm_plugin",
    "tensorrt_llm_06cff70502",
    "tensorrt_llm_1_3_0rc14",
    "tensorrt_llm_1_3_0rc15",
    "sglang_hicache_bbe9c7e",
    "dynamo_docs",
    "vllm_patched",
    "vllm_upstream",
    "vllm_retention_directives",
    "continuum",
    "lmcache",
    "mooncake",
    "processfork",
)

NAMES: Final = (*_FIRST, *sorted({file.stem for file in FOLDER.glob("*.yaml")} - {*_FIRST}))
"""This project's plugin, then the papers' runtimes in their order, then those that are added."""


def descriptor(name: str) -> Descriptor:
    """The shipped descriptor of that name, one of NAMES; raises UnknownName."""
    return _shipped(resolve(name, NAMES, what="descriptor"))


@cache
def _shipped(name: str) -> Descriptor:
    return read_descriptor(FOLDER / f"{name}.yaml")
