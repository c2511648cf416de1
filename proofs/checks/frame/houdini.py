"""Finds inductive invariants among candidates (Houdini); the result is checked again.

Of the inductive part of the candidates the invariants that the lemmas need are kept.
`proofs.checks.frame.lemmas` proves again that these are inductive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from proofs.checks.frame.candidates import Situation, candidates
from proofs.checks.frame.space import CLAIM_FIRST, REQUEST_FIRST, constants_of, solver_of
from proofs.engines.inductive_part import inductive_part, starting
from spec.language.terms import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from proofs.checks.frame.candidates import Candidate
    from proofs.checks.frame.space import Space
    from proofs.checks.frame.verification_conditions import Question
    from proofs.logic.encode import Expr
    from spec.language.machine import Observer

__all__ = ["after", "before", "inductive", "needed", "start"]


def _situation(
    space: Space,
    was: Mapping[str, Expr],
    req_was: Mapping[str, Expr],
    claim: Mapping[str, Expr],
    request: Mapping[str, Expr],
) -> Situation:
    registers = {Scope.CLAIM: space.constants, Scope.WAS: was, Scope.REQ_WAS: req_was}
    return Situation(registers, {"claim": claim, "request": request})


def before(space: Space) -> Situation:
    """The state of a space."""
    return _situation(space, space.was, space.req_was, space.claim, space.request)


def start(space: Space) -> Situation:
    """The state before any event."""
    was, req_was = constants_of(CLAIM_FIRST), constants_of(REQUEST_FIRST)
    return _situation(space, was, req_was, space.first, space.first)


def after(space: Space, observer: Observer) -> Situation:
    """The state after the event, which is delivered to both scopes."""
    claim, request = space.view("claim"), space.view("request")
    moved = request.step(observer, space.request) if observer.per_request else space.request
    return _situation(space, claim.now(), request.req(), claim.step(observer, space.claim), moved)


def inductive(space: Space, observer: Observer, rlimit: int) -> list[Candidate]:
    """The candidates that hold at the start and that no event breaks, as far as Z3 proves it.

    Candidates about states that others exclude are left out.
    """
    solver, first, each = solver_of(rlimit, *space.given), start(space), [*candidates(observer)]
    left = [each[n] for n in starting(solver, [candidate.holds(first) for candidate in each])]
    now, then = ([c.holds(at) for c in left] for at in (before(space), after(space, observer)))
    found = [left[place] for place in inductive_part(solver, now, then) or []]
    never = {about for candidate in found if candidate.never for about in candidate.about}
    return [c for c in found if c.never or not never.intersection(c.about)]


def needed(
    space: Space,
    observer: Observer,
    found: list[Candidate],
    questions: Iterable[Question],
    rlimit: int,
) -> list[Candidate]:
    """The invariants that the questions need, and those needed to prove these."""
    solver = solver_of(rlimit, *space.given)
    solver.set("core.minimize", True)
    was, then = before(space), after(space, observer)
    names = [z3.Bool(f"invariant {place}") for place in range(len(found))]
    for name, candidate in zip(names, found, strict=True):
        solver.add(z3.Implies(name, candidate.holds(was)))

    def core(*given: Expr) -> set[int]:
        solver.push()
        solver.add(*given)
        answer = solver.check(names)
        rests = {each.get_id() for each in solver.unsat_core()} if answer == z3.unsat else set()
        solver.pop()
        return {place for place, name in enumerate(names) if name.get_id() in rests}

    kept, fresh = set[int](), set[int]()
    for question in questions:
        fresh |= core(*question.given, z3.Not(question.goal))
    while fresh:
        kept |= fresh
        fresh = set().union(*(core(z3.Not(found[place].holds(then))) for place in fresh)) - kept
    return [found[place] for place in sorted(kept)]
