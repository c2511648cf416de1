"""Checks what the contract loses without an obligation or a rule: a clause, or nothing.

Obligations in no core are redundant. For the others a recorded invariant may prove it; bounded
search looks for counterexamples for all of them together; Spacer decides the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proofs.checks.results import Lacking
from proofs.engines.answers import Question
from proofs.engines.invariants.recheck import ProofResult
from proofs.engines.invariants.recorded import file_of, recall
from proofs.engines.invariants.spacer import prove
from proofs.logic.encode import Integers
from proofs.traces.narrative import tell
from proofs.traces.replay import to_events

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proofs.engines.bounded.assumption_bmc import AssumptionBmc
    from proofs.engines.bounded.unrolling import Found
    from spec.claims.states import Mode

__all__ = ["DEPTH", "lacking", "question_without"]

DEPTH = 16
"""The maximal number of events searched: searching costs less than proving that no run exists."""
FURTHER = 3
"""How many events more than the fewest a run may take that can be written as events."""


def lacking(
    runs: AssumptionBmc,
    names: Iterable[str],
    depth: int = DEPTH,
) -> dict[str, Lacking]:
    """The contract without each of these obligations or rules, taken out one at a time.

    Args:
        depth: how many events are searched before a proof is tried.
    """
    names = tuple(names)
    spare = _spare(runs, names)
    left = tuple(name for name in names if name not in spare)
    shortest = _shortest(runs, left, range(1, depth + 1))
    proofs = {name: _without(runs, name) for name in left if name not in shortest}
    refuted = tuple(name for name, proof in proofs.items() if proof[0] is ProofResult.REFUTED)
    shortest |= _shortest(runs, refuted, range(depth + 1, DEPTH + 1))
    found = {}
    for name in names:
        if name in spare:
            found[name] = Lacking("redundant")
        elif name in shortest:
            length, run, readable = shortest[name]
            found[name] = Lacking(
                "necessary",
                length,
                list(run.failed),
                to_events(runs.model, run) if readable else [],
                tell(runs.model, run),
            )
        else:
            found[name] = _left_over(proofs[name])
    return found


def question_without(mode: Mode, name: str) -> Question:
    """The question whether the contract without this obligation or rule implies every clause."""
    return Question(mode, without=frozenset({name}))


def _spare(runs: AssumptionBmc, names: tuple[str, ...]) -> set[str]:
    """The parts that are in no core, or are proved redundant."""
    mode, clauses = runs.model.mode, runs.model.clauses
    used = set[str]().union(*(runs.rests.get(clause.name, names) for clause in clauses))
    questions = {name: question_without(mode, name) for name in names if name in used}
    recorded = {name: q for name, q in questions.items() if file_of(q.name).is_file()}
    known = {n for n, q in recorded.items() if recall(q.name, q.model(Integers())) is not None}
    return (set(names) - used) | known


def _shortest(
    runs: AssumptionBmc, names: tuple[str, ...], lengths: range
) -> dict[str, tuple[int, Found, bool]]:
    """For each necessary part: the fewest events, a run, and whether it can be written as
    events.
    """
    found: dict[str, tuple[int, Found, bool]] = {}
    left = list(names)
    for length in range(lengths.start, lengths.stop + FURTHER if names else 0):
        for replay in (True, False):
            while left and length in lengths:
                hit = runs.breaks_without(length, left, replay=replay)
                if hit is None:
                    break
                found[hit[0]] = (length, hit[1], replay)
                left.remove(hit[0])
        unwritten = [n for n, (at, _, done) in found.items() if not done and at + FURTHER >= length]
        for name in unwritten:
            hit = runs.breaks_without(length, [name], replay=True)
            if hit is not None:
                found[name] = (found[name][0], hit[1], True)
        if not left and all(done or at + FURTHER <= length for at, _, done in found.values()):
            break
    return found


def _without(runs: AssumptionBmc, name: str) -> tuple[ProofResult, str]:
    proof = prove(question_without(runs.model.mode, name).model(Integers()))
    return proof.result, proof.reason


def _left_over(answer: tuple[ProofResult, str]) -> Lacking:
    match answer:
        case (ProofResult.PROVED, _):
            return Lacking("redundant")
        case (ProofResult.REFUTED, _):
            return Lacking(
                "necessary", reason=f"by Spacer; no run of up to {DEPTH} events shows it"
            )
        case (_, reason):
            return Lacking("unknown", reason=reason or "the work limit was reached")
