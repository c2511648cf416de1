"""The engines, and the portfolio `auto`, which tries several of them.

Work is bounded by the solver's resource limit, or by a number of states; at the limit the answer is
`unknown`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proofs.engines.answers import Answer, Shown
from proofs.engines.bounded.search import RLIMIT, WIDTH, find_refutation
from proofs.engines.explicit.state_space import STATES, Bounds, explore, machine_of
from proofs.engines.induction.k_induction import DEEPEST, induct
from proofs.engines.invariants.recheck import ProofResult
from proofs.engines.invariants.recorded import recall
from proofs.engines.invariants.spacer import RLIMIT as SPACER_RLIMIT
from proofs.engines.invariants.spacer import prove
from proofs.engines.names import EngineName
from proofs.logic.encode import Bits, Integers
from spec.claims.states import Mode

if TYPE_CHECKING:
    from proofs.engines.answers import Engine, Question

__all__ = ["Auto", "Explicit", "Induction", "Recorded", "Search", "Spacer", "engine_named"]

_LIMIT = "the work limit was reached"


@dataclass(frozen=True)
class Search:
    """Bounded search, shortest run first, over small bit-vectors."""

    depth: int
    rlimit: int = RLIMIT

    def answer(self, question: Question) -> Answer:
        """`bounded`, or `refuted` by a shortest run; `unknown` where the work limit is reached."""
        model = question.model(Bits(WIDTH))
        blocks = Bits(WIDTH).limit
        outcome = find_refutation(model, self.depth, rlimit=self.rlimit)
        if outcome.found is None:
            result = ProofResult.BOUNDED if outcome.complete else ProofResult.UNKNOWN
            reason = "" if outcome.complete else _LIMIT
            return Answer(result, EngineName.SEARCH, outcome.depth, blocks, reason)
        for readable in (True, False):
            model = question.model(Bits(WIDTH), replay=readable)
            plainest = find_refutation(model, outcome.depth, plain=True, rlimit=self.rlimit).found
            if plainest is not None:
                break
        shown = Shown(model, plainest or outcome.found, readable)
        return Answer(ProofResult.REFUTED, EngineName.SEARCH, outcome.depth, shown=shown)


@dataclass(frozen=True)
class Recorded:
    """A recorded invariant, checked from scratch."""

    def answer(self, question: Question) -> Answer:
        """`proved` by the recorded invariant, or `unknown`."""
        proof = recall(question.name, question.model(Integers()))
        if proof is None:
            reason = "no recorded invariant proves it"
            return Answer(ProofResult.UNKNOWN, EngineName.RECORDED, reason=reason)
        return Answer(proof.result, EngineName.RECORDED, proof=proof)


@dataclass(frozen=True)
class Spacer:
    """An invariant over mathematical integers. If Spacer refutes the question, runs of up to
    `depth` events are searched for a counterexample.
    """

    depth: int
    rlimit: int = SPACER_RLIMIT

    def answer(self, question: Question) -> Answer:
        """`proved` by a new invariant, `refuted`, or `unknown`."""
        proof = prove(question.model(Integers()), self.rlimit)
        given = Answer(proof.result, EngineName.SPACER, reason=proof.reason)
        if proof.result is ProofResult.PROVED:
            return replace(given, proof=proof)
        return _shown(question, given, self.depth)


@dataclass(frozen=True)
class Induction:
    """k-induction over mathematical integers, for k up to `deepest`."""

    deepest: int = DEEPEST
    rlimit: int = RLIMIT

    def answer(self, question: Question) -> Answer:
        """`proved` or `refuted` with some k, or `unknown`."""
        found = induct(question.model(Integers()), self.deepest, self.rlimit)
        reason = found.reason
        if found.tried:
            over = f"{found.kept} invariants, of {found.tried} candidates"
            reason = f"{reason or f'k = {found.k}'}, over {over}"
        refuted = found.result is ProofResult.REFUTED
        given = Answer(
            found.result,
            EngineName.INDUCTION,
            bound=found.k if refuted else None,
            reason=reason,
            possibly_unreachable=found.possibly_unreachable,
        )
        return _shown(question, given, found.k)


@dataclass(frozen=True)
class Explicit:
    """Every state of a small instance, one at a time, without Z3."""

    blocks: int | None = None
    states: int = STATES

    def answer(self, question: Question) -> Answer:
        """`bounded` if every state of the instance was explored, `refuted`, or `unknown`."""
        bounds = Bounds(self.blocks or 1 + (question.mode in _TWO_BLOCKS), states=self.states)
        seen = explore(machine_of(question.model(Integers())), bounds)
        count = f"{seen.states:,} states and {seen.transitions:,} transitions"
        limits = f"counts of harm up to {bounds.counted}, {bounds.ranks + 1} ranks, costs, workers"
        if seen.failed:
            reason = f"after {count}"
            given = Answer(ProofResult.REFUTED, EngineName.EXPLICIT, seen.depth, reason=reason)
            return _shown(question, given, seen.depth)
        if not seen.complete:
            return Answer(
                ProofResult.UNKNOWN, EngineName.EXPLICIT, reason=f"{_LIMIT} after {count}"
            )
        return Answer(
            ProofResult.BOUNDED,
            EngineName.EXPLICIT,
            blocks=bounds.blocks,
            reason=f"{count}; {limits}",
        )


@dataclass(frozen=True)
class Auto:
    """The recorded invariant, then Spacer, then bounded search for a counterexample, then
    k-induction.
    """

    depth: int

    def answer(self, question: Question) -> Answer:
        """The answer of the first engine that decides the question."""
        known = Recorded().answer(question)
        if known.result is ProofResult.PROVED:
            return known
        given = Spacer(self.depth).answer(question)
        if given.result is ProofResult.REFUTED and given.shown is not None:
            return replace(given, engine=EngineName.SEARCH)
        if given.result is not ProofResult.UNKNOWN:
            return given
        searched = Search(self.depth).answer(question)
        if searched.result is ProofResult.REFUTED:
            return searched
        induced = Induction().answer(question)
        if induced.result in (ProofResult.PROVED, ProofResult.REFUTED):
            return induced
        tried = "; ".join(filter(None, (given.reason, induced.reason, searched.reason)))
        return replace(searched, reason=tried)


def engine_named(name: EngineName, depth: int) -> Engine:
    """An engine.

    Args:
        depth: the maximal number of events in the bounded search.
    """
    match name:
        case EngineName.SEARCH:
            return Search(depth)
        case EngineName.RECORDED:
            return Recorded()
        case EngineName.SPACER:
            return Spacer(depth)
        case EngineName.INDUCTION:
            return Induction()
        case EngineName.EXPLICIT:
            return Explicit()
        case EngineName.AUTO:
            return Auto(depth)


def _shown(question: Question, given: Answer, depth: int) -> Answer:
    """A refutation with the run that the bounded search finds for it."""
    if given.result is not ProofResult.REFUTED:
        return given
    run = Search(depth).answer(question)
    if run.shown is None:
        return replace(given, reason=f"no run of up to {run.bound} events shows it")
    return replace(given, bound=given.bound or run.bound, shown=run.shown)


_TWO_BLOCKS = (Mode.BEST_EFFORT, Mode.DEMOTABLE, Mode.EXPIRING)
"""Where every state of an instance with two blocks is seen in half a minute."""
