"""Checks a certificate: first against the specification, then each question with a solver.

The questions come from `proofs.certificates.write.read`, so a solver gets only what this
specification generates from the invariants and runs. Each page gets a fresh solver: Z3 in its own
context, or cvc5, which took no part in finding the proofs. Both rely on the translation of the
specification into formulas.
"""

from __future__ import annotations

import time
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec
import z3

from proofs.certificates.write import read, strays
from spec import __version__
from spec.claims.states import Mode
from spec.cli.common import Code
from spec.digest import spec_digest
from spec.installed import how_to_install
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from proofs.certificates.page import Page

__all__ = ["Answer", "Recheck", "Solver", "SolverMissing", "recheck", "solved"]

SCHEMA = "resident-claims/recheck/2"


class Solver(StrEnum):
    """The solvers that can check a certificate."""

    Z3 = "z3"
    CVC5 = "cvc5"


RLIMIT = {Solver.Z3: 200_000_000, Solver.CVC5: 20_000_000}
"""Work for one question, in each solver's own unit; some 200 times what the hardest one takes."""
_ANSWERS = ("unsat", "sat")


class SolverMissing(SpecError):
    """The requested solver is not installed."""


class Answer(msgspec.Struct, frozen=True):
    """The answers to the questions of one page: the number of unsat ones, and the names of those
    that were sat or unknown.
    """

    mode: str
    page: str
    asked: int
    unsat: int
    sat: list[str]
    unknown: list[str]
    seconds: float

    @property
    def answer(self) -> str:
        """`unsat` if each question of the page was."""
        return "sat" if self.sat else "unknown" if self.unknown else "unsat"


class Recheck(msgspec.Struct, frozen=True):
    """The published form of `python -m proofs recheck`: `holds`, `fails` or `unknown`.

    `answers` has one for each page of each mode; `lacks` are the modes that the certificate is not
    about, and `unasked` the files in its folder that it does not name, at most a hundred. `tool`,
    `spec` and `version` say what answered here, and bind nothing.
    """

    schema: str
    tool: str
    spec: str
    solver: str
    version: str
    result: str
    answers: list[Answer]
    lacks: list[str] = []
    unasked: list[str] = []

    @property
    def code(self) -> Code:
        """The exit code: OK only if each question was answered unsat."""
        codes = {"holds": Code.OK, "fails": Code.VIOLATED}
        return codes.get(self.result, Code.INCONCLUSIVE)


def recheck(
    folder: Path,
    solver: Solver = Solver.Z3,
    *,
    rlimit: int | None = None,
    progress: Callable[[Answer], None] = lambda _: None,
) -> Recheck:
    """Check whether the certificate in `folder` proves this specification's theorem for its modes.

    Args:
        rlimit: resource limit of one question; `RLIMIT` of the solver if None.
        progress: called with the answers of each page.

    Raises:
        CertificateError: it is corrupt, modified, or made for another specification.
        SolverMissing: the solver is not installed.
    """
    answers, version = [], z3.get_version_string() if solver is Solver.Z3 else _version()
    certified, unasked = read(folder), strays(folder)
    for mode, pages in certified.items():
        for name, page in pages.items():
            answers.append(solved(mode, name, page, solver, rlimit))
            progress(answers[-1])
    found = {answer.answer for answer in answers}
    result = "holds" if found == {"unsat"} else "fails" if "sat" in found else "unknown"
    return Recheck(
        schema=SCHEMA,
        tool=__version__,
        spec=spec_digest(),
        solver=solver,
        version=version,
        result=result,
        answers=answers,
        lacks=[mode for mode in Mode if mode not in certified],
        unasked=unasked,
    )


def solved(
    mode: str, name: str, page: Page, solver: Solver = Solver.Z3, rlimit: int | None = None
) -> Answer:
    """The answers to one page.

    Args:
        rlimit: resource limit of one question; `RLIMIT` of the solver if None.
    """
    started = time.perf_counter()
    ask = _z3 if solver is Solver.Z3 else _cvc5
    answers = ask(page.content.decode(), RLIMIT[solver] if rlimit is None else rlimit)
    return _answer(mode, name, page, answers, round(time.perf_counter() - started, 3))


def _answer(mode: str, name: str, page: Page, answers: list[str], seconds: float) -> Answer:
    """The answers by question; all unknown if their number differs from the number of questions."""
    if len(answers) != len(page.questions):
        answers = ["unknown"] * len(page.questions)
    by_answer: dict[str, list[str]] = {"unsat": [], "sat": [], "unknown": []}
    for question, answer in zip(page.questions, answers, strict=True):
        by_answer[answer if answer in _ANSWERS else "unknown"].append(question)
    unsat = len(by_answer["unsat"])
    return Answer(mode, name, len(answers), unsat, by_answer["sat"], by_answer["unknown"], seconds)


def _z3(text: str, rlimit: int) -> list[str]:
    context = z3.Context()
    try:
        return _evaluated(context, f"(set-option :rlimit {rlimit})\n{text}").split("\n")[:-1]
    except z3.Z3Exception as problem:
        return [str(problem)]
    finally:
        _evaluated(context, "(set-option :rlimit 0)")  # the setting is global to the process


def _evaluated(context: Any, text: str) -> str:
    return str(z3.Z3_eval_smtlib2_string(context.ref(), text))


def _cvc5(text: str, rlimit: int) -> list[str]:
    cvc5 = _import_cvc5()
    solver = cvc5.Solver()
    solver.setOption("incremental", "true")
    solver.setOption("rlimit-per", str(rlimit))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "certificate")
    answers = []
    while not (command := parser.nextCommand()).isNull():
        answers.append(command.invoke(solver, parser.getSymbolManager()).strip())
    return [line for line in answers if line]


def _version() -> str:
    found = _import_cvc5().Solver().getVersion()
    return found.decode() if isinstance(found, bytes) else str(found)


def _import_cvc5() -> Any:
    try:
        return import_module("cvc5")
    except ImportError:
        raise SolverMissing(
            "cvc5 is not installed", f"{how_to_install('cvc5')}, or say --solver z3"
        ) from None
