"""Checks which clauses the bundle as printed in the papers implies."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from proofs.checks.results import Paper, PaperClause, Sound
from proofs.engines.invariants.recheck import Proof, ProofResult
from proofs.engines.invariants.spacer import prove
from proofs.logic.encode import Integers
from proofs.model.of_mode import model_of
from proofs.traces.narrative import tell
from proofs.traces.replay import to_events
from spec.contract.modes import MODES, Bundle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.engines.bounded.assumption_bmc import AssumptionBmc
    from proofs.engines.proof_core import ProofCore
    from spec.claims.states import Mode

__all__ = ["paper_as_contract", "paper_by_clause"]

SHALLOW = 4
"""How many events are searched for a gap before a proof is tried."""


def paper_as_contract(sound: Sound) -> Paper:
    """Where nothing was added, a proof of the contract is one of the paper's bundle."""
    return Paper(True, 0.0, {name: PaperClause("proved") for name in sound.clauses})


def paper_by_clause(
    runs: AssumptionBmc, depth: int, rests: Mapping[str, ProofCore] | None = None
) -> Paper:
    """Each clause by itself.

    A proof of several clauses is one of each, since none of them is assumed on the way.

    Args:
        rests: what each clause of the contract is proved from.
    """
    started = time.perf_counter()
    mode = runs.model.mode
    off = frozenset(MODES[mode].added)
    found = {
        name: PaperClause("proved")
        for name, support in (rests or {}).items()
        if not support.obligations & off
    }
    left = [clause.name for clause in runs.model.clauses if clause.name not in found]
    found |= _refuted(runs, left, off, range(1, min(depth, SHALLOW) + 1))
    left = [name for name in left if name not in found]
    answers = _proved(mode, left)
    deep = [name for name in left if answers[name].result is not ProofResult.PROVED]
    found |= _refuted(runs, deep, off, range(SHALLOW + 1, depth + 1))
    for name in left:
        if name not in found:
            found[name] = PaperClause(str(answers[name].result), reason=answers[name].reason)
    clauses = {clause.name: found[clause.name] for clause in runs.model.clauses}
    return Paper(not off, round(time.perf_counter() - started, 3), clauses)


def _proved(mode: Mode, names: list[str]) -> dict[str, Proof]:
    """What Spacer says of each clause: of all at once, and if that fails of one after another."""

    def ask(*clauses: str) -> dict[str, Proof]:
        model = model_of(mode, Bundle.PAPER, Integers(), only=frozenset(clauses))
        return dict.fromkeys(clauses, prove(model))

    answers = ask(*names) if names else {}
    if all(proof.result is ProofResult.PROVED for proof in answers.values()):
        return answers
    return {name: ask(name)[name] for name in names}


def _refuted(
    runs: AssumptionBmc, names: list[str], off: frozenset[str], lengths: range
) -> dict[str, PaperClause]:
    found: dict[str, PaperClause] = {}
    left = list(names)
    for length in lengths:
        for replay in (True, False):
            while left:
                run = runs.breaks(length, off, left, replay=replay)
                if run is None:
                    break
                name = next(name for name in left if name in run.failed)
                trace = to_events(runs.model, run) if replay else []
                found[name] = PaperClause("refuted", length, trace, tell(runs.model, run))
                left.remove(name)
    return found
