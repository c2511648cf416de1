"""Lists where an exploration of a model starts: the model itself, or as a naive reader sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from models.counterexamples import file_name, shortest
from models.framework.model import step
from models.framework.shims import PLAIN, Shim
from models.loading import inference_of, load, load_inferred
from models.registry import parts, runtime
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from models.framework.inference import Inference
    from models.framework.model import Model
    from spec.claims.states import Mode

__all__ = ["OWN", "Counterexample", "Start", "starts_of"]

OWN: Final = "model"
"""The word in URLs for the model without an inference."""


@dataclass(frozen=True)
class Counterexample:
    """A shortest run that breaks an obligation, as the numbers of the actions that it takes."""

    obligation: str
    taken: tuple[int, ...]


@dataclass(frozen=True)
class Start:
    """A model in its first state, and how a reader names what it emits.

    Args:
        word: stands for it in URLs.
        title: the inference, or whose claims there are without one.
        says: what the reader relies on, and the mode.
        mode: that of claims which state none.
        run: a shortest run that refutes the inference, where there is one.
    """

    word: str
    title: str
    says: str
    model: Model[Any]
    shim: Shim = PLAIN
    mode: Mode | None = None
    run: Counterexample | None = None


def starts_of(name: str, inference: str | None = None) -> dict[str, Start]:
    """The starts by their words, for `NAME` or `NAME:VARIANT`.

    Without an inference they are the model itself and, unless a variant is named, the instance of
    each inference about it.

    Raises:
        UnknownName: there is no such model, variant or inference.
        SpecError: the facts of the model contradict each other, or a recorded run is stale.
    """
    whole, variant = parts(name)
    if inference is not None:
        model, _ = load_inferred(name, inference)
        found = [_inferred(inference_of(name, inference), model, usual=not variant)]
    else:
        found = [_itself(load(name))]
        listed = () if variant else runtime(whole).inferences
        found += [_inferred(each, each.model(), usual=True) for each in listed]
    return {each.word: each for each in found}


def _itself(model: Model[Any]) -> Start:
    mode = getattr(model, "mode", None)
    if mode is None:
        return Start(OWN, "facts alone", "The model takes no claims.", model)
    return Start(OWN, "its own claims", f"The model takes claims in {mode}.", model, mode=mode)


def _inferred(inference: Inference, model: Model[Any], *, usual: bool) -> Start:
    """The start of an inference; its run is one of the `usual` instance."""
    says = f"Feature: {inference.feature}. Judged in {inference.mode}."
    run = _counterexample(inference) if usual else None
    word = file_name(inference.name)
    return Start(word, inference.name, says, model, inference.shim, inference.mode, run)


def _counterexample(inference: Inference) -> Counterexample | None:
    found = shortest(inference.name)
    if found is None:
        return None
    model = inference.model()
    state, taken = next(iter(model.initial())), []
    for name in found.actions:
        actions = {str(each): (at, each) for at, each in enumerate(model.actions(state))}
        if name not in actions:
            cause = f"the recorded run of {inference.name} is no run of its model"
            raise SpecError(cause, "record it again: make suite")
        number, action = actions[name]
        taken.append(number)
        state = step(model, state, action).state
    return Counterexample(found.obligation, tuple(taken))
