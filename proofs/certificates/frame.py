"""Writes the frame theorem (`proofs.checks.frame`) as a part of a certificate.

One file names the invariants of each observer. The questions are those of the lemmas, generated
from the specification, these invariants and the generated Python. That the judge calls
the functions that were read needs no solver: it is compared while the pages are made.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import z3

from proofs.certificates.page import DataError, Page, one_by_one, title
from proofs.checks.frame.candidates import candidates
from proofs.checks.frame.check import observers_of, prove_frame
from proofs.checks.frame.generated import prove_connectives, prove_generated
from proofs.checks.frame.lemmas import Frame
from proofs.checks.frame.space import Space
from proofs.checks.frame.translation import Translation
from proofs.checks.frame.verification_conditions import Prover
from proofs.logic.encode import Expr
from spec.claims.states import Mode
from spec.cli.common import json_page
from spec.contract.modes import Bundle
from spec.files.json_text import decode_json
from spec.stream.scopes import DELIVERY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from proofs.checks.frame.candidates import Candidate
    from proofs.checks.frame.counterexample import Setting
    from proofs.checks.frame.results import Failure
    from proofs.checks.frame.statements import Lemma
    from proofs.checks.frame.verification_conditions import Question

__all__ = ["FrameTheorem"]

_INVARIANTS, _LEDGERS, _GENERATED = "invariants.json", "ledgers.smt2", "generated.smt2"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./]*")
_COUNT = re.compile(r"!\d+(?=\|?$)")
_DECLARED = re.compile(r"\(declare-(?:fun|const) (\|[^|]+\||[^ |]+) (?:\(\) )?(Bool|Int)\)")


class FrameTheorem:
    """The frame theorem of a mode, and the equality of what runs with its terms."""

    folder = "frame/"

    def names(self, mode: Mode) -> tuple[str, ...]:
        """The names of the files, in order."""
        own = (f"{observer.name}.smt2" for observer in observers_of([mode]))
        return (_INVARIANTS, _LEDGERS, *own, _GENERATED)

    def data(self, mode: Mode) -> tuple[str, ...]:
        """The names of the files that hold data."""
        return (_INVARIANTS,)

    def pages(self, mode: Mode, bundle: Bundle, given: Mapping[str, bytes]) -> dict[str, Page]:
        """Every file, made from this specification and the given data."""
        return dict(_pages(mode, given[_INVARIANTS]))

    def written(self, mode: Mode) -> dict[str, bytes]:
        """The data to write: the invariants found for the current specification."""
        found: dict[str, list[str]] = {observer.name: [] for observer in observers_of([mode])}
        for each in prove_frame(Prover(), [mode], observers_of([mode])):
            found[each.observer].append(each.says)
        return {f"{self.folder}{_INVARIANTS}": json_page(found)}


@lru_cache(maxsize=len(Mode))
def _pages(mode: Mode, written: bytes) -> Mapping[str, Page]:
    """All pages of a mode. Generating them takes seconds; each read compares all of them."""
    held = _read(mode, written)
    space = Space([mode])
    prover = _Collected(_LEDGERS)
    prover.ask(space, Frame(space, DELIVERY).ledgers())
    prover.ask(space, Frame(space, DELIVERY).reasons())
    made = {_INVARIANTS: Page(_written(held)), _LEDGERS: prover.page(mode)}
    for observer in observers_of([mode]):
        space = Space([mode], observer)
        frame = Frame(space, DELIVERY, held[observer.name])
        prover = _Collected(f"{observer.name}.smt2")
        prover.ask(space, frame.inductive(observer))
        prover.ask(space, frame.observers(observer), frame.inside)
        made[prover.file] = prover.page(mode)
    prover = _Collected(_GENERATED)
    translation = Translation(prover)
    prove_connectives(translation)
    prove_generated(translation, [mode])
    return made | {_GENERATED: prover.page(mode)}


def _read(mode: Mode, written: bytes) -> dict[str, list[Candidate]]:
    """The invariants that are named; raises DataError for anything else."""
    try:
        named = decode_json(written, dict[str, list[str]])
    except ValueError as problem:
        raise DataError(_INVARIANTS, f"names no invariants: {problem}") from None
    observers = {observer.name: observer for observer in observers_of([mode])}
    if list(named) != list(observers):
        raise DataError(_INVARIANTS, "does not name the obligations of the mode")
    held = {}
    for name, observer in observers.items():
        known = {each.says: each for each in candidates(observer)}
        strange = [says for says in named[name] if says not in known]
        if len(named[name]) != len(set(named[name])):
            raise DataError(_INVARIANTS, f"names a candidate of {name} twice")
        if strange:
            raise DataError(_INVARIANTS, f"has no candidate of {name}: {strange[0]!r:.100}")
        held[name] = [known[says] for says in named[name]]
    return held


def _written(held: Mapping[str, Iterable[Candidate]]) -> bytes:
    return json_page({name: [each.says for each in found] for name, found in held.items()})


class _Collected(Prover):
    """Collects questions to be written instead of asked."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self.file, self.asked = file, dict[str, list[Expr]]()

    def ask(self, setting: Setting, questions: Iterator[Question], *given: Expr) -> bool:
        for question in questions:
            name = f"{question.lemma}: {question.of}, {question.part}"
            if name in self.asked:
                raise ValueError(f"{name} is asked twice")
            whole = z3.And(*setting.given, *given, *question.given, z3.Not(question.goal))
            self.asked[name] = [_renamed(whole)]
        return True

    def fail(self, lemma: Lemma, failure: Failure) -> None:
        says = f"{lemma} of {failure.of}: {failure.says}"
        raise DataError(self.file, f"cannot be made: {says}")

    def page(self, mode: Mode) -> Page:
        """The page with all collected questions."""
        about = f"what may be skipped, and what runs: {self.file.removesuffix('.smt2')}"
        return one_by_one(title(mode, Bundle.CONTRACT, about), self.asked)


def _renamed(formula: Expr) -> Expr:
    """The formula with readable names for fresh Z3 variables, unique in each question."""
    solver = z3.Solver()
    solver.add(formula)
    pairs, names = [], set[str]()
    for name, sort in _DECLARED.findall(solver.sexpr()):
        plain = _COUNT.sub("", name).strip("|").replace(" ", ".")
        if plain in names or not _PLAIN.fullmatch(plain):
            raise ValueError(f"a variable is called {name!r}")
        names.add(plain)
        if plain != name:
            of = z3.BoolSort() if sort == "Bool" else z3.IntSort()
            pairs.append((z3.Const(name.strip("|"), of), z3.Const(plain, of)))
    return z3.substitute(formula, *pairs) if pairs else formula
