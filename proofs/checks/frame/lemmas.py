"""States the lemmas of the frame theorem as verification conditions about one event.

They are generic in the ledgers, observers and reasons of delivery. Nothing is assumed of an event,
neither faithful instrumentation nor that its kind occurs in the mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import z3

from proofs.checks.frame.houdini import after, before, start
from proofs.checks.frame.space import (
    CLAIM_FIRST,
    CLAIM_LEDGERS,
    EVENTS,
    REQUEST_FIRST,
    REQUEST_LEDGERS,
    View,
    constant,
    constants_of,
    same,
)
from proofs.checks.frame.statements import Lemma
from proofs.checks.frame.verification_conditions import Question
from spec.events.alphabet import Kind
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from proofs.checks.frame.candidates import Candidate
    from proofs.checks.frame.space import Space
    from proofs.logic.encode import Expr
    from spec.language.machine import Observer
    from spec.stream.scopes import Delivery

__all__ = ["Frame"]


@dataclass(frozen=True)
class Frame:
    """The questions of all lemmas for one space: its ledgers, and its observer if it has one.

    Args:
        invariants: what is assumed of the state, and proved by `inductive`.
    """

    space: Space
    delivery: Delivery
    invariants: Sequence[Candidate] = ()

    # Ledgers.

    def ledgers(self) -> Iterator[Question]:
        """The lemmas about the ledgers of a claim and of a request."""
        space = self.space
        skipped = self._not("claim")
        now = space.view("claim").now()
        for ledger in CLAIM_LEDGERS:
            for r in ledger.registers:
                pair = (space.was[r.name], now[r.name])
                yield _unchanged(Lemma.CLAIM_FACTS, ledger.name, r.name, [skipped], pair)
        nowhere = {**space.event, "here": constant(False)}
        first = constants_of(REQUEST_FIRST)
        kept = space.view("request", req_was=first, event=nowhere).req()
        skipped, req = self._not("request"), space.view("request").req()
        closed, ended = self._not("opens"), space.event["kind"] == _kind(Kind.REQUEST_FINISHED)
        after = self._unopened(now, self._at_arrival(now), space.view("request").req())
        for ledger in REQUEST_LEDGERS:
            for name in (r.name for r in ledger.registers):
                was, plain, then = space.req_was[name], first[name], req[name]
                yield _unchanged(Lemma.NO_REQUEST, ledger.name, name, [], (plain, kept[name]))
                yield _unchanged(Lemma.REQUEST_FACTS, ledger.name, name, [skipped], (was, then))
                unopened = [closed, self._ledger_unopened]
                if name not in self.delivery.known:
                    pair = (after[name], then)
                    yield _unchanged(Lemma.UNOPENED_FACTS, ledger.name, name, unopened, pair)
                else:
                    yield self._known_to_all(ledger.name, name, then)
                if name not in (*self.delivery.left, *self.delivery.derived):
                    end = [*unopened, ended, space.event["here"]]
                    yield _unchanged(
                        Lemma.ENDED_UNOPENED, ledger.name, name, end, (plain, then), by_kind=False
                    )

    def reasons(self) -> Iterator[Question]:
        """The reasons of delivery that may hold for a claim that no event was about."""
        space, delivery = self.space, self.delivery
        nothing = [
            z3.Not(space.owes),
            self._ledger_unopened,
            same(space.was, constants_of(CLAIM_FIRST)),
        ]
        for scope in ("claim", "opens"):
            view = space.view("claim" if scope == "claim" else "request")
            given = (*nothing, view.term(delivery.unmet))
            for reason, term in delivery.reasons[scope].items():
                delivered, no = view.term(term), constant(False)
                changes = {reason: (no, delivered)}
                yield Question(Lemma.UNMET, scope, reason, given, delivered == no, changes, True)

    def _known_to_all(self, ledger: str, name: str, then: Expr) -> Question:
        """Another claim, which may differ in everything that is not shared."""
        space, delivery = self.space, self.delivery
        alike = {n: space.event[n] for n in ("here", "kind", *sorted(delivery.shared))}
        known = {n: space.req_was[n] for n in sorted(delivery.known)}
        event = {**_fresh(space.event, "another"), **alike}
        req_was = {**_fresh(space.req_was, "another"), **known}
        was, constants = _fresh(space.was, "another"), _fresh(space.constants, "another")
        other = View(was, req_was, event, constants, z3.FreshBool()).req()[name]
        return _unchanged(Lemma.KNOWN_TO_ALL, ledger, name, [], (then, other))

    # The observer.

    def inductive(self, observer: Observer) -> Iterator[Question]:
        """Each invariant holds at the start, and after an event where all of them held before."""
        first, then = start(self.space), after(self.space, observer)
        for each in self.invariants:
            yield Question(
                Lemma.INVARIANTS, observer.name, f"{each.says}, at the start", (), each.holds(first)
            )
            yield Question(
                Lemma.INVARIANTS,
                observer.name,
                f"{each.says}, after an event",
                (self.inside,),
                each.holds(then),
            )

    @property
    def inside(self) -> Expr:
        """Every invariant holds."""
        state = before(self.space)
        return z3.And([each.holds(state) for each in self.invariants])

    def observers(self, observer: Observer) -> Iterator[Question]:
        """The lemmas about the state of an observer, under the invariants."""
        space = self.space
        moved = space.view("claim").step(observer, space.claim)
        yield _stays(
            Lemma.CLAIM_OBSERVERS, observer, "claim", [self._not("claim")], space.claim, moved
        )
        yield self._agreement(observer)
        if not observer.per_request:
            return
        stepped = space.view("request").step(observer, space.request)
        broken = space.having(moved, Verdict.VIOLATED)
        skipped, request = [self._not("request")], space.request
        yield _stays(
            Lemma.REQUEST_OBSERVERS, observer, "request", skipped, request, stepped, or_else=broken
        )
        alike = [self._ledger_unopened, same(request, space.claim)]
        given = [self._not("opens"), *alike]
        yield _stays(
            Lemma.UNOPENED_OBSERVERS, observer, "request", given, moved, stepped, or_else=broken
        )
        nowhere = {**space.event, "here": constant(False)}
        first = space.view("request", req_was=constants_of(REQUEST_FIRST), event=nowhere)
        retired = space.view("request", event=nowhere)
        expected, found = (view.step(observer, request) for view in (first, retired))
        yield _stays(Lemma.RETIRED, observer, "request", [], expected, found)

    def _agreement(self, observer: Observer) -> Question:
        """One event under both deliveries: to every scope, and to the selected scopes only.

        Both agree before it, and must agree after it.
        """
        space, delivery = self.space, self.delivery
        whole = space.view("claim"), space.view("request")
        claim = whole[0].step(observer, space.claim)
        now, req = whole[0].now(), whole[1].req()
        delivered = whole[0].term(delivery.term("claim"))
        some_claim = _if(delivered, claim, space.claim)
        some_now = _if(delivered, now, space.was)
        agree = [same(some_claim, claim), same(some_now, now)]
        changes = _pairs("claim", claim, some_claim) | _pairs("now", now, some_now)
        given: list[Expr] = []
        if observer.per_request:
            request = whole[1].step(observer, space.request)
            follows = z3.Bool("follows")
            ledger, standing = _fresh(space.req_was, "its"), _fresh(space.request, "its")
            given = [
                z3.If(follows, same(ledger, space.req_was), self._ledger_unopened),
                z3.If(
                    follows,
                    self._unless_broken(space.claim, standing, space.request),
                    self._unless_broken(space.claim, space.claim, space.request),
                ),
            ]
            first = self._unopened(space.was, space.at_arrival, space.req_was)
            record = {n: v if n in delivery.known else first[n] for n, v in space.req_was.items()}
            followed = space.view("request", req_was=ledger)
            opened = space.view("request", req_was=record)
            receives = followed.term(delivery.term("request"))
            opens = opened.term(delivery.term("opens"))
            some_req = _if(
                follows,
                _if(receives, followed.req(), ledger),
                opened.req(),
            )
            some_request = _if(
                follows,
                _if(receives, followed.step(observer, standing), standing),
                opened.step(observer, space.claim),
            )
            still = z3.And(z3.Not(follows), z3.Not(opens))
            known = {n: v for n, v in req.items() if n not in delivery.known}
            then = self._unopened(now, self._at_arrival(now), req)
            agree += [
                z3.If(still, same(known, then), same(some_req, req)),
                z3.If(
                    still,
                    self._unless_broken(claim, claim, request),
                    self._unless_broken(claim, some_request, request),
                ),
            ]
            changes |= _pairs("request", request, _if(still, claim, some_request))
            changes |= _pairs(
                "req", req, _if(still, {**req, **{n: then[n] for n in known}}, some_req)
            )
        return Question(
            Lemma.AGREEMENT, observer.name, "", tuple(given), z3.And(agree), changes, by_kind=True
        )

    def _unless_broken(
        self, claim: Mapping[str, Expr], one: Mapping[str, Expr], other: Mapping[str, Expr]
    ) -> Expr:
        """Both are equal, or the obligation is violated for this claim in either case."""
        return z3.Or(self.space.having(claim, Verdict.VIOLATED), same(one, other))

    # Parts.

    def _not(self, scope: str) -> Expr:
        """The event is not delivered: `claim`, `request` or `opens`."""
        view = self.space.view("claim" if scope == "claim" else "request")
        return z3.Not(view.term(self.delivery.term(scope)))

    @property
    def _ledger_unopened(self) -> Expr:
        """The request's registers equal those of a request that is not followed."""
        plain = self._unopened(self.space.was, self.space.at_arrival, self.space.req_was)
        was = self.space.req_was.items()
        return z3.And([v == plain[n] for n, v in was if n not in self.delivery.known])

    def _unopened(
        self, was: Mapping[str, Expr], at_arrival: Expr, req: Mapping[str, Expr]
    ) -> dict[str, Expr]:
        """The registers of a request that is not followed, except those that the pool keeps.

        Args:
            was: the claim's registers.
            at_arrival: `stands.responsible_at_arrival`.
            req: the request's registers, of which only those that the pool keeps are read.
        """
        space = self.space
        known = {name: req[name] for name in self.delivery.known}
        req_was = {**constants_of(REQUEST_FIRST), **known}
        view = View(was, req_was, space.event, space.constants, space.owes, at_arrival)
        derived = {name: view.term(term) for name, term in self.delivery.derived.items()}
        return {**constants_of(REQUEST_FIRST), **derived}

    def _at_arrival(self, now: Mapping[str, Expr]) -> Expr:
        return self.space.at_arrival_after(now, self.space.event)


def _fresh(values: Mapping[str, Expr], word: str) -> dict[str, Expr]:
    return {name: z3.FreshConst(value.sort(), f"{word} {name}") for name, value in values.items()}


def _kind(kind: Kind) -> Expr:
    return constant(EVENTS.index(kind))


def _if(taken: Expr, then: Mapping[str, Expr], otherwise: Mapping[str, Expr]) -> dict[str, Expr]:
    return {name: z3.If(taken, value, otherwise[name]) for name, value in then.items()}


def _pairs(
    scope: str, expected: Mapping[str, Expr], found: Mapping[str, Expr]
) -> dict[str, tuple[Expr, Expr]]:
    return {f"{scope}.{name}": (value, found[name]) for name, value in expected.items()}


def _unchanged(
    lemma: Lemma,
    ledger: str,
    register: str,
    given: Sequence[Expr],
    pair: tuple[Expr, Expr],
    *,
    by_kind: bool = True,
) -> Question:
    """A register is as expected."""
    goal, changes = pair[0] == pair[1], {register: pair}
    return Question(lemma, ledger, register, tuple(given), goal, changes, by_kind)


def _stays(
    lemma: Lemma,
    observer: Observer,
    scope: str,
    given: Sequence[Expr],
    expected: Mapping[str, Expr],
    found: Mapping[str, Expr],
    *,
    or_else: Expr | None = None,
) -> Question:
    """The state and registers of an observer are as expected."""
    goal = same(expected, found)
    return Question(
        lemma,
        observer.name,
        "",
        tuple(given),
        goal if or_else is None else z3.Or(goal, or_else),
        _pairs(scope, expected, found),
        by_kind=True,
    )
