"""Lists the executable models: a module of `models.runtimes` each, with its variants.

A module states `VARIANTS`, which make an instance of the model by name, the first by default, and
`INFERENCES`, what the features of that runtime tempt people to infer. That of a runtime with claims
states instead in `TAKES` the modes in which it takes them, each the name of a variant, too. One
whose size can be read from a recorded stream states in `OF_TRACE` how, and in `INSTANCES` the names
of what that makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final

from models.framework.inference import Inference
from models.framework.model import Model
from spec.claims.states import Mode
from spec.events.canonical import Event
from spec.language.errors import SpecError
from spec.language.suggest import resolve

__all__ = ["RUNTIMES", "Runtime", "inferences", "model_of", "parts", "runtime"]

RUNTIMES: Final[Mapping[str, str | None]] = {
    "micro": None,
    "vllm_pool": "vllm_upstream",
    "vllm_offload": "vllm_upstream",
    "vllm_offload_patched": "vllm_patched",
    "lmcache": "lmcache",
    "mooncake": "mooncake",
    "kv_lease": None,
    "vllm_pool_exclusion": "vllm_patched",
    "pool_counts": None,
    "tensorrt_llm": "tensorrt_llm_06cff70502",
    "sglang_hicache": "sglang_hicache_bbe9c7e",
    "dynamo": "dynamo_docs",
    "continuum": "continuum",
    "retention": "vllm_retention_directives",
    "processfork": "processfork",
    "plugin": "vllm_plugin",
    "reference_runtime": None,
}
"""The models in the order in which they are listed, each with the curated descriptor, if any, of
the same runtime."""

_SEPARATOR: Final = ":"


@dataclass(frozen=True)
class Runtime:
    """An executable model: the variants that make an instance of it, and the inferences.

    `takes` are the modes of a runtime with claims; of one without, there are none. `of_trace` makes
    the instances of the size of a stream, by what the stream leaves open of them; `instances` are
    their names.
    """

    name: str
    descriptor: str | None
    variants: Mapping[str, Callable[[], Model[Any]]]
    inferences: tuple[Inference, ...]
    takes: tuple[Mode, ...] = ()
    of_trace: Callable[[Sequence[Event]], Iterator[tuple[str, Model[Any]]]] | None = None
    instances: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its variants, as commands take them; the first is its own."""
        _, *rest = self.variants
        return (self.name, *(f"{self.name}{_SEPARATOR}{each}" for each in rest))


@cache
def runtime(name: str) -> Runtime:
    """The model of this name; raises UnknownName."""
    found = resolve(name, list(RUNTIMES), what="model", listed="models list")
    module = import_module(f"models.runtimes.{found}")
    takes = tuple(getattr(module, "TAKES", ()))
    listed = tuple(getattr(module, "INFERENCES", ()))
    of_trace = getattr(module, "OF_TRACE", None)
    instances = tuple(getattr(module, "INSTANCES", ()))
    return Runtime(found, RUNTIMES[found], module.VARIANTS, listed, takes, of_trace, instances)


def parts(name: str) -> tuple[str, str]:
    """A model and its variant, of `NAME` or `NAME:VARIANT`; no variant is empty.

    Raises:
        SpecError: nothing is behind the colon.
    """
    whole, separator, variant = name.partition(_SEPARATOR)
    if separator and not variant:
        raise SpecError(f"{name!r} names no variant", f"leave the {_SEPARATOR} out, or name one")
    return whole, variant


def model_of(name: str) -> Model[Any]:
    """An instance of a model, by `NAME` or `NAME:VARIANT`.

    Raises:
        UnknownName: there is no such model.
        SpecError: it has no such variant.
    """
    whole, variant = parts(name)
    found = runtime(whole)
    if not variant:
        return next(iter(found.variants.values()))()
    return found.variants[
        resolve(variant, list(found.variants), what="variant", listed="models list")
    ]()


def inferences() -> tuple[Inference, ...]:
    """The inferences of all models, those of the paper's table first, in its order."""
    found = [each for name in RUNTIMES for each in runtime(name).inferences]
    names = [each.name for each in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise SpecError(f"two inferences are named {min(twice)}")
    return tuple(sorted(found, key=lambda each: each.row or len(found) + 99))
