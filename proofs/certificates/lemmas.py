"""Writes the lemmas of a mode as a part of its certificate."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import z3

from proofs.certificates.page import Page, one_by_one, title
from proofs.certificates.runs import run_pages, run_written
from proofs.certificates.theorem import WRITTEN, Question, Questions
from proofs.checks.lemmas import Always, Runs, Valid, lemmas_of
from proofs.logic.encode import Integers
from proofs.model.of_mode import model_of
from spec.contract.modes import Bundle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.certificates.runs import Goal
    from proofs.checks.control import Control
    from proofs.checks.lemmas import Lemma, Proven
    from proofs.model.of_mode import Model
    from spec.claims.states import Mode

__all__ = ["Lemmas"]

_CONTRACT = Bundle.CONTRACT  # lemmas are about this bundle, whichever bundle is certified


class Lemmas:
    """Each lemma: an invariant with its questions, the cases of an induction, or runs."""

    folder = ""

    def names(self, mode: Mode) -> tuple[str, ...]:
        """The names of the files, in order."""
        return tuple(name for lemma in lemmas_of(mode) for name in _names(lemma))

    def data(self, mode: Mode) -> tuple[str, ...]:
        """The names of the files that hold data."""
        return tuple(name for name in self.names(mode) if name.endswith((WRITTEN, ".json")))

    def pages(self, mode: Mode, bundle: Bundle, given: Mapping[str, bytes]) -> dict[str, Page]:
        """Every file, made from this specification and the given data."""
        made: dict[str, Page] = {}
        for lemma in lemmas_of(mode):
            made |= _pages(lemma, mode, given)
        return made

    def written(self, mode: Mode, proofs: Mapping[str, Proven]) -> dict[str, bytes]:
        """The data to write for the proofs of the lemmas, by lemma name."""
        made: dict[str, bytes] = {}
        for lemma in lemmas_of(mode):
            made |= _written(lemma, mode, proofs[lemma.name])
        return made


def _names(lemma: Lemma) -> list[str]:
    prefix = _prefix(lemma)
    match lemma.states:
        case Always():
            return [f"{prefix}{WRITTEN}", *(f"{prefix}{question}.smt2" for question in Question)]
        case Runs(controls):
            return [
                f"{prefix}{_slug(c.name)}.{form}" for c in controls for form in ("json", "smt2")
            ]
    return [f"{prefix}smt2"]


def _pages(lemma: Lemma, mode: Mode, given: Mapping[str, bytes]) -> dict[str, Page]:
    prefix, about = _prefix(lemma), f"the lemma {lemma.name}: {lemma.says}"
    match lemma.states:
        case Always() as always:
            questions = Questions(mode, _CONTRACT, always.model(), about)
            return questions.pages(given[f"{prefix}{WRITTEN}"], prefix)
        case Valid(parts):
            asks = {name: [z3.Not(formula)] for name, formula in parts().items()}
            return {f"{prefix}smt2": one_by_one(title(mode, _CONTRACT, about), asks)}
        case Runs(controls):
            made, model = dict[str, Page](), model_of(mode, _CONTRACT, Integers())
            for control in controls:
                name = f"{prefix}{_slug(control.name)}"
                head = title(mode, _CONTRACT, f"{about}. Here: {control.name}")
                made |= run_pages(model, name, given, head, _shown(control, model))
            return made


def _written(lemma: Lemma, mode: Mode, proven: Proven) -> dict[str, bytes]:
    prefix = _prefix(lemma)
    match lemma.states:
        case Always() as always if proven.invariant is not None:
            about = f"the lemma {lemma.name}: {lemma.says}"
            questions = Questions(mode, _CONTRACT, always.model(), about)
            body = questions.body_of(proven.invariant)
            return {f"{prefix}{WRITTEN}": questions.invariant(body)}
        case Runs():
            model = model_of(mode, _CONTRACT, Integers())
            return {
                f"{prefix}{_slug(name)}.json": run_written(model, found)
                for name, found in (proven.runs or {}).items()
            }
    return {}


def _shown(control: Control, model: Model) -> Goal:
    return lambda step, state: {"control": control.shown(model.numbers, step, state)}


def _prefix(lemma: Lemma) -> str:
    return f"lemma.{_slug(lemma.name)}."


def _slug(name: str) -> str:
    """A name as a part of the name of a file."""
    return re.sub(r"[^a-z0-9]+", "-", name)
