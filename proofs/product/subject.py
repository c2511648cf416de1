"""Names what is checked of a runtime in a mode: an instance of its model, and whose claim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from models.framework.shims import PLAIN, Shim
from models.registry import model_of, parts, runtime
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from models.framework.model import Model
    from spec.claims.states import Mode

__all__ = ["Subject", "subjects"]


@dataclass(frozen=True)
class Subject:
    """A model with the claim that is judged in a mode.

    `inference` is the name of the one whose shim makes claims of the runtime's calls; None where
    the runtime has claims.
    """

    runtime: str
    mode: Mode
    model: Model[Any]
    shim: Shim
    tracked: str
    inference: str | None = None
    premises: tuple[str, ...] = ()


def subjects(name: str, mode: Mode) -> list[Subject]:
    """What there is to check of a runtime in a mode: one for each inference, or the one it takes.

    Raises:
        UnknownName: there is no such runtime.
        SpecError: it has no claims of the mode, and no feature that tempts anyone to it.
    """
    whole, variant = parts(name)
    found = runtime(whole)
    if found.takes and not variant:
        if mode not in found.takes:
            modes = ", ".join(found.takes)
            raise SpecError(f"{found.name} takes no claims in {mode}", f"it takes {modes}")
        return [_with_claims(f"{found.name}:{mode}", mode)]
    if variant or not found.inferences:
        return [_with_claims(name, mode)]
    listed = [each for each in found.inferences if each.mode is mode]
    listed = [each for each in listed if each.concludes == "mode"] or listed
    if not listed:
        modes = ", ".join(dict.fromkeys(each.mode for each in found.inferences))
        raise SpecError(f"no feature of {found.name} tempts anyone to {mode}", f"ask for {modes}")
    return [
        Subject(found.name, mode, each.model(), each.shim, each.tracked, each.name, each.premises)
        for each in listed
    ]


def _with_claims(name: str, mode: Mode) -> Subject:
    """An instance of a runtime that takes claims itself; its first holder's claim is judged."""
    model = model_of(name)
    takes = getattr(model, "mode", None)
    if takes is None or not model.holders:
        whole = runtime(parts(name)[0])
        hint = "ask for a runtime of `python -m models list` that does"
        if whole.inferences:
            hint = f"ask for {whole.name}, whose features are taken for claims"
        raise SpecError(f"{name} takes no claims", hint)
    if takes is not mode:
        raise SpecError(f"{name} takes no claims in {mode}", f"it takes them in {takes}")
    return Subject(name, mode, model, PLAIN, model.holders[0])
