"""A certificate checked again: what it says against the specification, then each question solved.

The texts come from `proofs.certificate.read`, so a solver sees only what this specification makes
of the invariant. Each question gets a solver that knows nothing else: Z3 in a context of its own,
or cvc5, which had no part in finding the invariant. Both trust the translation of the
specification into formulas.
"""

from __future__ import annotations

import time
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec
import z3

from proofs.certificate import read
from spec import __version__
from spec.cli import Code
from spec.digest import spec_digest
from spec.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Answer", "Recheck", "Solver", "SolverMissing", "recheck"]

SCHEMA = "resident-claims/recheck/1"


class Solver(StrEnum):
    Z3 = "z3"
    CVC5 = "cvc5"


RLIMIT = {Solver.Z3: 200_000_000, Solver.CVC5: 20_000_000}
"""Work for one question, in each solver's own unit; some 200 times what the hardest one takes."""


class SolverMissing(SpecError):
    """A solver that was asked for is not installed."""


class Answer(msgspec.Struct, frozen=True):
    """What the solver said to one question: unsat, sat or unknown."""

    mode: str
    question: str
    answer: str
    seconds: float


class Recheck(msgspec.Struct, frozen=True):
    """The published form of `python -m proofs recheck`: `holds`, `fails` or `unknown`."""

    schema: str
    tool: str
    spec: str
    solver: str
    version: str
    result: str
    answers: list[Answer]

    @property
    def code(self) -> Code:
        """The exit code: OK only where every question was answered unsat."""
        codes = {"holds": Code.OK, "fails": Code.VIOLATED}
        return codes.get(self.result, Code.INCONCLUSIVE)


def recheck(
    folder: Path,
    solver: Solver = Solver.Z3,
    *,
    rlimit: int | None = None,
    progress: Callable[[Answer], None] = lambda _: None,
) -> Recheck:
    """Whether the certificate in `folder` proves this specification's theorem of its modes.

    Args:
        rlimit: work for one question; `RLIMIT` of the solver if None.
        progress: told each answer as it comes.

    Raises:
        CertificateError: it is damaged, doctored, or about something else.
        SolverMissing: the solver is not installed.
    """
    ask, version = (_z3, z3.get_version_string()) if solver is Solver.Z3 else (_cvc5, _version())
    answers = []
    for mode, questions in read(folder).items():
        for question, text in questions.items():
            started = time.perf_counter()
            said = ask(text.decode(), RLIMIT[solver] if rlimit is None else rlimit)
            seconds = round(time.perf_counter() - started, 3)
            answers.append(Answer(mode, question, said, seconds))
            progress(answers[-1])
    said_all = {answer.answer for answer in answers}
    result = "holds" if said_all == {"unsat"} else "fails" if "sat" in said_all else "unknown"
    return Recheck(SCHEMA, __version__, spec_digest(), solver, version, result, answers)


def _z3(text: str, rlimit: int) -> str:
    solver = z3.SolverFor("QF_LIA", ctx=z3.Context())
    solver.set("rlimit", rlimit)
    solver.from_string(text)
    return str(solver.check())


def _cvc5(text: str, rlimit: int) -> str:
    cvc5 = _import_cvc5()
    solver = cvc5.Solver()
    solver.setOption("rlimit", str(rlimit))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "certificate")
    said = []
    while not (command := parser.nextCommand()).isNull():
        said.append(command.invoke(solver, parser.getSymbolManager()).strip())
    said = [line for line in said if line]
    return said[0] if said in (["unsat"], ["sat"]) else "unknown"


def _version() -> str:
    found = _import_cvc5().Solver().getVersion()
    return found.decode() if isinstance(found, bytes) else str(found)


def _import_cvc5() -> Any:
    try:
        return import_module("cvc5")
    except ImportError:
        raise SolverMissing(
            "cvc5 is not installed", "pip install 'resident-claims[cvc5]', or --solver z3"
        ) from None
