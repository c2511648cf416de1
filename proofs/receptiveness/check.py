"""Proves receptiveness: the environment can never force the runtime into a violation.

The theorem, for runs of every length, for every number of blocks, over every kind of event:

* *environment*: no fact of the environment takes any obligation into its violated state, out of
  any state whatever.
* *region*: every unviolated run satisfies the invariant of `inductive_invariant`.
* *strategy*: from each state of the invariant in which something is owed or a request is in hand,
  the next move of `strategy` is possible, keeps every obligation, preserves the invariant, and
  decreases the ranking function. Only the last move, the end of a request, is a fact.
* *others*: a move for one claim or request also keeps the obligations of every other claim or
  request, and adds nothing to what they owe.

So a runtime that follows the strategy violates nothing, whatever the environment does, and has met
every obligation after as many uninterrupted moves as the ranking function gives. All of it is
single questions to plain Z3 about one event; no engine is trusted.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
import z3

from proofs.logic.encode import Integers
from proofs.model.system import System
from proofs.receptiveness.strategy import RuntimeStrategy
from spec.contract.modes import Bundle
from spec.events.alphabet import ENVIRONMENT, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proofs.logic.encode import Expr
    from proofs.model.system import Step
    from proofs.receptiveness.strategy import Move
    from spec.claims.states import Mode

__all__ = ["Receptive", "receptive", "receptive_questions"]

RLIMIT = 50_000_000


class Receptive(msgspec.Struct, frozen=True):
    """`proved` for every run, or `refuted` or `unknown` with what failed, by part of the theorem.

    `moves` is the runtime's strategy, in the order in which it is tried.
    """

    result: str
    failed: list[str]
    moves: list[str]
    questions: int
    seconds: float


class _Questions:
    """Claims to be proved, each by one unsatisfiable question."""

    def __init__(self) -> None:
        self.asked: dict[str, list[Expr]] = {}

    def prove(self, name: str, given: Iterable[Expr], then: Expr) -> None:
        if name in self.asked:
            raise ValueError(f"{name} is asked twice")
        self.asked[name] = [*given, z3.Not(then)]


class _Space:
    """One mode with every kind of event: a state, any event, and the state that follows."""

    def __init__(self, mode: Mode, bundle: Bundle, environment: frozenset[Kind]) -> None:
        self.environment = sorted(environment)
        self.system = System(mode, bundle, Integers())
        self.state, self.event = self.system.state(""), self.system.event("")
        self.step = self.system.step(self.state, self.event)
        self.now, self.then = RuntimeStrategy(self.system, self.state), self.after(self.step)
        self.inside = z3.And(list(self.now.invariant.values()))

    def after(self, step: Step) -> RuntimeStrategy:
        return RuntimeStrategy(
            self.system, {n: step.following.get(n, v) for n, v in self.state.items()}
        )

    def kind(self, *kinds: Kind) -> Expr:
        number, alphabet = self.system.numbers.kind, self.system.alphabet
        return z3.Or([self.event["kind"] == number(alphabet.index(k)) for k in kinds])


def receptive(mode: Mode, environment: frozenset[Kind] = ENVIRONMENT) -> Receptive:
    """Check whether a runtime can always keep the obligations of a mode, whatever the environment
    does.

    Args:
        environment: the kinds of events that the runtime does not choose.
    """
    started = time.perf_counter()
    solver = z3.SolverFor("QF_LIA")
    solver.set("rlimit", RLIMIT)
    refuted, unknown = list[str](), list[str]()
    space = _Space(mode, Bundle.CONTRACT, environment)
    asked = _asked(space)
    for name, formulas in asked.items():
        solver.push()
        solver.add(*formulas)
        answer = solver.check()
        solver.pop()
        if answer != z3.unsat:
            (refuted if answer == z3.sat else unknown).append(name)
    return Receptive(
        "refuted" if refuted else ("unknown" if unknown else "proved"),
        [*refuted, *unknown],
        [move.name for move in space.now.moves()],
        len(asked),
        round(time.perf_counter() - started, 3),
    )


def receptive_questions(
    mode: Mode, environment: frozenset[Kind] = ENVIRONMENT
) -> dict[str, list[Expr]]:
    """The questions of the theorem: named lists of formulas, each jointly unsatisfiable.

    Args:
        environment: as for `receptive`.
    """
    return _asked(_Space(mode, Bundle.CONTRACT, environment))


def _asked(space: _Space) -> dict[str, list[Expr]]:
    questions = _Questions()
    for part in (_environment, _region, _strategy, _others):
        part(space, questions)
    return questions.asked


def _environment(space: _Space, questions: _Questions) -> None:
    for kind in space.environment:
        given = [space.now.unviolated, space.step.possible, space.kind(kind)]
        questions.prove(f"environment: {kind}", given, space.then.unviolated)


def _region(space: _Space, questions: _Questions) -> None:
    start = [space.system.initial(space.state)]
    event = [space.inside, space.step.possible]
    for name, holds in space.now.invariant.items():
        questions.prove(f"region: {name}, at the start", start, holds)
    for name, holds in space.then.invariant.items():
        kept = [*event, space.step.kept]
        questions.prove(f"region: {name}, after any event", kept, holds)


def _strategy(space: _Space, questions: _Questions) -> None:
    moves = space.now.moves()
    todo = [space.inside, space.now.debt > 0]
    questions.prove("strategy: there is a move", todo, z3.Or([m.when for m in moves]))
    done = [space.inside, space.now.debt == 0]
    idle = z3.And(z3.Not(space.now.pending), z3.Not(space.now["req_was.arrived"]))
    questions.prove("strategy: nothing is left to do", done, idle)
    for move in moves:
        step = space.system.step(space.state, move.event(space.system))
        given, then = [space.inside, move.when], space.after(step)
        questions.prove(f"strategy: {move.name}, possible", given, step.possible)
        questions.prove(f"strategy: {move.name}, kept", given, step.kept)
        stays = z3.And(list(then.invariant.values()))
        questions.prove(f"strategy: {move.name}, in the region", given, stays)
        questions.prove(f"strategy: {move.name}, less", given, then.debt < space.now.debt)


def _others(space: _Space, questions: _Questions) -> None:
    """The moves in the scope of another claim, or of another request of this claim."""
    e, inside, step = space.event, space.inside, space.step
    fine = z3.And(step.kept, space.then.debt <= space.now.debt, *space.then.invariant.values())
    apart, elsewhere = z3.Not(z3.Or(e["mine"], e["named"])), z3.Not(e["here"])
    rightly = step.keeps.get("blocking_claim_ids", z3.BoolVal(True))
    for move in space.now.moves():
        given = [inside, step.possible, space.kind(move.kind)]
        if move.about_claim:
            questions.prove(f"others: {move.name}, of another claim", [*given, apart], fine)
            if _at_request(move):
                same = [*given, e["mine"], e["named"], elsewhere]
                questions.prove(f"others: {move.name}, at another request", same, fine)
        else:
            blame = z3.Or(e["blames_unfailed"], e["unfounded_failure"], e["proof"])
            given += [apart, space.now.quiet, z3.Not(blame)]
            questions.prove(f"others: {move.name}, another", [*given, elsewhere], fine)
            if move.kind is Kind.REQUEST_REFUSED:
                questions.prove("others: refuse, for another claim", [*given, rightly], fine)


def _at_request(move: Move) -> bool:
    return bool(z3.is_true(z3.simplify(move.here)))
