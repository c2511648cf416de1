"""What is lost without an obligation, or without one rule of one: a clause, or nothing.

A run that breaks a clause is looked for first, for all of them at once; what no short run needs is
then proved to be redundant, all at once where that says the same as one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proofs.encode import Integers
from proofs.engines.spacer import ProofResult, prove
from proofs.model import model_of
from proofs.replay import to_events
from proofs.results import Lacking
from proofs.story import tell
from spec.machine import Guard
from spec.modes import Bundle
from spec.obligations import OBLIGATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proofs.engines.switched import Switched
    from proofs.engines.unrolling import Found

__all__ = ["DEPTH", "lacking"]

DEPTH = 8
DEEP = 16
"""How many events are searched where Spacer says that there is such a run."""
FURTHER = 2
"""How many events more than the fewest a run may take that can be written as events."""


def lacking(runs: Switched, names: Iterable[str], depth: int = DEPTH) -> dict[str, Lacking]:
    """The contract without each of these obligations or rules, taken out one at a time.

    Args:
        depth: how many events are searched before a proof is tried.
    """
    names = tuple(names)
    shortest = _shortest(runs, names, range(1, depth + 1))
    proofs = _prove_without(runs, tuple(name for name in names if name not in shortest))
    refuted = tuple(name for name, proof in proofs.items() if proof[0] is ProofResult.REFUTED)
    shortest |= _shortest(runs, refuted, range(depth + 1, DEEP + 1))
    found = {}
    for name in names:
        if name in shortest:
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


def _shortest(
    runs: Switched, names: tuple[str, ...], lengths: range
) -> dict[str, tuple[int, Found, bool]]:
    """Of each that some run needs: the fewest events, a run, and whether it can be written."""
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


def _prove_without(runs: Switched, names: tuple[str, ...]) -> dict[str, tuple[ProofResult, str]]:
    """What Spacer says of the contract without each.

    Fewer obligations allow more runs, and so do fewer rules that find a violation: what is proved
    without several of these is proved without each, so they are taken out together, and by halves
    where that is too many. A rule that owes is taken out by itself.
    """
    together = tuple(name for name in names if not _owes(name))
    alone = tuple(name for name in names if _owes(name))
    answers = _by_halves(runs, together)
    return answers | {name: _without(runs, frozenset({name})) for name in alone}


def _by_halves(runs: Switched, names: tuple[str, ...]) -> dict[str, tuple[ProofResult, str]]:
    if not names:
        return {}
    answer = _without(runs, frozenset(names))
    if answer[0] is ProofResult.PROVED or len(names) == 1:
        return dict.fromkeys(names, answer)
    half = len(names) // 2
    return _by_halves(runs, names[:half]) | _by_halves(runs, names[half:])


def _without(runs: Switched, names: frozenset[str]) -> tuple[ProofResult, str]:
    proof = prove(model_of(runs.model.mode, Bundle.CONTRACT, Integers(), without=names))
    return proof.result, proof.reason


def _owes(name: str) -> bool:
    obligation, _, rule = name.partition(".")
    return any(r.guard is Guard.OWED for r in OBLIGATIONS[obligation].rules if r.name == rule)


def _left_over(answer: tuple[ProofResult, str]) -> Lacking:
    match answer:
        case (ProofResult.PROVED, _):
            return Lacking("redundant")
        case (ProofResult.REFUTED, _):
            return Lacking("necessary", reason=f"by Spacer; no run of up to {DEEP} events shows it")
        case (_, reason):
            return Lacking("unknown", reason=reason or "the work limit was reached")
