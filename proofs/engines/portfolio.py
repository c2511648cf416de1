"""The engines, and the portfolio `auto`, which tries one after another.

Work is bounded by the solver's resource limit; at the limit the answer is `unknown`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proofs.engines.answers import Answer, Shown
from proofs.engines.bounded.search import RLIMIT, WIDTH, find_refutation
from proofs.engines.invariants.recheck import ProofResult
from proofs.engines.invariants.recorded import recall
from proofs.engines.invariants.spacer import RLIMIT as SPACER_RLIMIT
from proofs.engines.invariants.spacer import prove
from proofs.engines.names import EngineName
from proofs.logic.encode import Bits, Integers

if TYPE_CHECKING:
    from proofs.engines.answers import Engine, Question

__all__ = ["Auto", "Recorded", "Search", "Spacer", "engine_named"]

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
        if proof.result is not ProofResult.REFUTED:
            return given
        run = Search(self.depth).answer(question)
        if run.shown is None:
            return replace(given, reason=f"no run of up to {run.bound} events shows it")
        return replace(given, bound=run.bound, shown=run.shown)


@dataclass(frozen=True)
class Auto:
    """The recorded invariant, then Spacer, then bounded search for a counterexample."""

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
        tried = "; ".join(filter(None, (given.reason, searched.reason)))
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
        case EngineName.AUTO:
            return Auto(depth)
