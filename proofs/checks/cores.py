"""Computes the proof core of each clause of a mode's theorem.

A core of a clause is a set of obligations such that the clause is proved, for runs of every length,
for the bundle of these alone. A clause can have several cores.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from proofs.engines.answers import Question
from proofs.engines.bounded.assumption_bmc import AssumptionBmc, guards_of
from proofs.engines.invariants import recorded
from proofs.engines.invariants.houdini import houdini
from proofs.engines.invariants.recheck import ProofResult
from proofs.engines.proof_core import ProofCore, ProofCores
from proofs.logic.encode import Integers
from spec.contract.modes import MODES

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from proofs.checks.results import Lacking
    from proofs.engines.invariants.recheck import Invariant, Proof
    from spec.claims.states import Mode

__all__ = [
    "DEEP",
    "Cores",
    "contract_cores",
    "cores_of",
    "proof_of",
    "question_of",
    "rests_on",
]

SHALLOW, DEEP = 8, 16
"""How many events are searched for a run that shows that obligations do not suffice: before a proof
is tried that they do, and where there was none."""
RLIMIT = 300_000_000
"""Work for a proof that may well not exist."""


class Cores(NamedTuple):
    """For each clause the smallest core found, and the obligations in every core: without one of
    them some run keeps all the others and breaks the clause.

    `unused` are the binding rules that the proofs from these cores do not use.
    """

    core: dict[str, list[str]]
    in_every: dict[str, list[str]]
    unused: list[str]


def proof_of(mode: Mode) -> Proof:
    """Prove a mode's contract, with the recorded invariant or a new one."""
    question = Question(mode)
    return recorded.prove(question.name, question.model(Integers()))


def rests_on(mode: Mode, proof: Proof) -> dict[str, ProofCore]:
    """The obligations that one proof of the contract uses for each clause.

    Empty without an invariant. At the work limit, all obligations are listed.
    """
    if proof.invariant is None:
        return {}
    supports, found = ProofCores(mode, proof.invariant), {}
    observers = MODES[mode].bundle()
    everything = ProofCore(
        frozenset(o.name for o in observers), frozenset(g for o in observers for g in guards_of(o))
    )
    for clause in Question(mode).model(Integers()).clauses:
        found[clause.name] = supports.of(clause.name) or everything
    return found


def cores_of(
    mode: Mode, proof: Proof, rests: Mapping[str, ProofCore], necessary: Mapping[str, Lacking]
) -> Cores:
    """The core of each clause of the contract; nothing if no invariant proves the contract.

    Args:
        proof: of the contract; `rests`: the obligations that it uses for each clause.
        necessary: the result for the contract without each obligation.
    """
    core, in_every, used = {}, {}, set[str]()
    if proof.invariant is None:
        return Cores({}, {}, [])
    runs = AssumptionBmc(mode)  # a fresh solver: clauses learned for others would only slow it down
    for clause, support in rests.items():
        known = {
            name
            for name in runs.obligations
            if name in necessary and clause in necessary[name].failed
        }
        least, needed = _Clause(clause, runs, proof.invariant).least(support, known)
        core[clause] = [name for name in runs.obligations if name in least.obligations]
        in_every[clause] = [name for name in runs.obligations if name in needed]
        used |= least.rules
    return Cores(core, in_every, [guard for guard in runs.guards if guard not in used])


def contract_cores(mode: Mode) -> Cores:
    """Prove the contract, then compute the core of each clause."""
    proof = proof_of(mode)
    return cores_of(mode, proof, rests_on(mode, proof), {})


def question_of(mode: Mode, clause: str, on: Set[str]) -> Question:
    """The question whether these obligations alone imply one clause of the mode's theorem."""
    return Question(mode, without=frozenset(MODES[mode].names()) - on, clause=clause)


class _Clause:
    def __init__(self, name: str, runs: AssumptionBmc, invariant: Invariant) -> None:
        self._name, self._runs, self._invariant = name, runs, invariant
        self._mode, self._all = runs.model.mode, frozenset(runs.obligations)

    def least(self, found: ProofCore, known: Set[str]) -> tuple[ProofCore, Set[str]]:
        """Find a smallest core, and the obligations in every core.

        Short runs first show which obligations are necessary. Obligations that the lemmas do not
        need are removed. The rest are shown necessary by longer runs, or replaced by the smallest
        set that is proved to suffice.
        """
        needed = set(known) | self._needed(found.obligations - known, SHALLOW)
        for name in sorted(found.obligations - needed):
            if name in found.obligations:
                found = self._inherited(found.obligations - {name}) or found
        if needed == found.obligations:
            return found, needed
        least = self._proof(needed, SHALLOW)
        if least is not None:
            return least, needed
        needed |= self._needed(found.obligations - needed, DEEP)
        others = [name for name in self._runs.obligations if name not in needed]
        for size in range(len(found.obligations - needed) + 1):
            for more in combinations(others, size):
                on = needed.union(more)
                least = found if on == found.obligations else self._proof(on, DEEP)
                if least is not None:
                    return least, needed
        return found, needed

    def _needed(self, among: Set[str], depth: int) -> set[str]:
        return {name for name in sorted(among) if self._runs.fails(self._name, {name}, depth)}

    def _inherited(self, on: Set[str]) -> ProofCore | None:
        """A proof of the clause from these obligations alone, with known lemmas, if there is
        one.
        """
        system = question_of(self._mode, self._name, on).model(Integers())
        return self._support(houdini(system, self._invariant, self._runs.model), on)

    def _proof(self, on: Set[str], depth: int) -> ProofCore | None:
        """A proof of the clause from these obligations alone, if no run refutes it."""
        if self._runs.fails(self._name, self._all - on, depth):
            return None
        question = question_of(self._mode, self._name, on)
        return self._support(recorded.prove(question.name, question.model(Integers()), RLIMIT), on)

    def _support(self, proof: Proof, on: Set[str]) -> ProofCore | None:
        if proof.result is not ProofResult.PROVED or proof.invariant is None:
            return None
        return ProofCores(self._mode, proof.invariant, self._all - on).of(self._name)
