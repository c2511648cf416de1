"""Loads models for commands: a model whose facts contradict each other is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from models.framework.explore import check_facts
from models.framework.inference import Inference
from models.framework.model import Model
from models.framework.shims import PLAIN, Shim
from models.registry import model_of, parts, runtime
from spec.claims.states import Mode
from spec.language.errors import SpecError
from spec.language.suggest import resolve

__all__ = ["inference_of", "load", "load_inferred"]


def load(name: str) -> Model[Any]:
    """An instance of a model, by `NAME` or `NAME:VARIANT`.

    Raises:
        UnknownName: there is no such model or variant.
        SpecError: its facts contradict each other, or those of a model that is searched for one of
            its inferences do; the action is named.
    """
    model = model_of(name)
    check_facts(model)
    for each in runtime(parts(name)[0]).inferences:
        _check_once(each.model, each.shim, each.mode)
    return model


@cache
def _check_once(make: Callable[[], Model[Any]], shim: Shim, mode: Mode) -> None:
    """Check the instance of an inference, once in a process."""
    check_facts(make(), shim, mode)


def load_inferred(name: str, inference: str | None) -> tuple[Model[Any], Shim]:
    """The same, read by the shim of an inference, if there is one.

    Without a variant it is the instance that the inference is about.

    Raises:
        UnknownName: there is no such model, variant or inference.
        SpecError: the facts contradict each other.
    """
    if inference is None:
        return load(name), PLAIN
    chosen = inference_of(name, inference)
    model = model_of(name) if ":" in name else chosen.model()
    check_facts(model, chosen.shim)
    return model, chosen.shim


def inference_of(name: str, wanted: str) -> Inference:
    """The inference of this name about a model.

    Raises:
        UnknownName: there is no such model or inference.
        SpecError: the model has no inference.
    """
    found = runtime(parts(name)[0])
    listed = {each.name: each for each in found.inferences}
    if not listed:
        raise SpecError(f"{found.name} has no inference", "omit --inference")
    return listed[resolve(wanted, list(listed), what="inference of this model")]
