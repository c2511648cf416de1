"""Reads recorded invariants from `proofs/recorded` and checks them again.

Finding an invariant takes seconds, checking one a tenth of a second, so a proof starts with the
recorded one. It is not trusted: every verification condition is checked again for the current
specification. If one fails, Spacer starts from nothing. Tests check that the files are current.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import z3

from proofs.engines.invariants import spacer
from proofs.engines.invariants.recheck import Invariant, Proof, ProofResult, recheck
from proofs.engines.invariants.spacer import RLIMIT
from proofs.logic.connectives import substituted
from proofs.logic.smtlib import INVARIANT, SmtlibError, invariant_body, show, sort_of

if TYPE_CHECKING:
    from proofs.logic.encode import Expr
    from proofs.model.of_mode import Model

__all__ = ["FOLDER", "file_of", "prove", "recall"]

FOLDER: Final = Path(__file__).parents[2] / "recorded"


def file_of(name: str) -> Path:
    """The file of the recorded invariant for a question of this name."""
    return FOLDER / f"{name.replace(' ', '_')}.smt2"


def prove(name: str, system: Model, rlimit: int = RLIMIT) -> Proof:
    """Prove every clause for every run: by the recorded invariant, or a new one."""
    return recall(name, system) or spacer.prove(system, rlimit)


def recall(name: str, system: Model) -> Proof | None:
    """A proof by the recorded invariant; None if there is none, or it fails."""
    invariant = _read(file_of(name), system)
    if invariant is None or recheck(system, invariant):
        return None
    return Proof(ProofResult.PROVED, invariant=invariant)


def _read(path: Path, system: Model) -> Invariant | None:
    state = system.state("")
    names = {variable.decl().name(): name for name, variable in state.items()}
    sorts = {variable: sort_of(state[name]) for variable, name in names.items()}
    try:
        body = invariant_body(path.read_text("utf-8"), sorts)
    except (OSError, UnicodeDecodeError, SmtlibError):
        return None
    head = show(("define-fun", INVARIANT, tuple(sorts.items()), "Bool", body))
    given = {variable: state[name] for variable, name in names.items()}
    text = f"{head}\n(assert ({INVARIANT} {' '.join(names)}))"
    (formula,) = z3.parse_smt2_string(text, decls={n: v.decl() for n, v in given.items()})

    def at(there: dict[str, Expr]) -> Expr:
        return substituted(formula, ((state[name], there[name]) for name in state))

    return Invariant(at)
