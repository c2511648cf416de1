"""The frame theorem as it is, and how it turns red."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from proofs.checks.frame.lemmas import Frame
from proofs.checks.frame.results import Answer
from proofs.checks.frame.space import EVENTS
from proofs.checks.frame.statements import Lemma
from proofs.checks.frame.verification_conditions import Prover
from spec.contract.ledgers import kind, now, req_was, was
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.contract.obligations._build import VIOLATED, idle, pending, satisfied, violated
from spec.contract.vocabulary import e
from spec.events.alphabet import CONFLICT_ACTIONS, Kind
from spec.language.machine import Guard, Observer, Register, Rule
from spec.language.terms import FALSE, TRUE, Scope, Sort, Var
from spec.stream.scopes import DELIVERY
from tests.proofs.checks.frame.spaces import (
    answers,
    first_refuted,
    found,
    of_any,
    of_ledgers,
    of_observer,
    reasons,
    refuted,
    with_reasons,
    without,
)

pytestmark = pytest.mark.slow

REASONS = list(reasons())
KNOWN_MODES = {name for mode in MODES.values() for b in Bundle for name in mode.names(b)}


def an_observer(*rules: Rule, per_request: bool = False) -> Observer:
    """An observer with three states and these rules."""
    return Observer(
        name="tried",
        code="Z",
        reason="",
        source="",
        states=(idle("idle"), pending("owed", "owed"), satisfied("told", "told"), violated("no")),
        rules=rules,
        per_request=per_request,
    )


class TestProved:
    """The lemmas, for the specification as it is."""

    def test_ledgers(self) -> None:
        """Every lemma about ledgers is proved, of each register and for each kind of event."""
        results = of_ledgers()
        assert {"proved"} == {answer.result for answer in results.values()}
        facts = results[Lemma.CLAIM_FACTS].questions
        assert {"claim facts": 12 * len(EVENTS), "declarations": 3 * len(EVENTS)} == facts
        assert {Lemma.CLAIM_FACTS, Lemma.KNOWN_TO_ALL, Lemma.ENDED_UNOPENED} <= set(results)

    @pytest.mark.parametrize("name", OBLIGATIONS)
    def test_observers(self, name: str) -> None:
        """Every lemma about an obligation is proved, for each kind of event."""
        results = of_observer(name)
        assert {"proved"} == {answer.result for answer in results.values()}
        assert {name: len(EVENTS)} == results[Lemma.AGREEMENT].questions
        followed = {Lemma.REQUEST_OBSERVERS, Lemma.UNOPENED_OBSERVERS, Lemma.RETIRED} <= set(
            results
        )
        assert OBLIGATIONS[name].per_request == followed

    def test_every_obligation_has_a_mode(self) -> None:
        """No obligation is left out because no bundle has it."""
        assert KNOWN_MODES == set(OBLIGATIONS)

    def test_every_kind(self) -> None:
        """The theorem is about every kind of event, disorder of the stream too."""
        assert set(Kind) == set(EVENTS)


class TestDroppedDelivery:
    """A delivery that is not made, though it is needed."""

    @pytest.mark.parametrize(("scope", "reason"), REASONS)
    @pytest.mark.deep
    def test_each_reason_is_needed(self, scope: str, reason: str) -> None:
        """Without any one reason some obligation is refuted."""
        assert first_refuted(without(scope, reason)) is not None

    @pytest.mark.parametrize(("scope", "reason"), REASONS)
    @pytest.mark.deep
    def test_each_reason_can_be_too_narrow(self, scope: str, reason: str) -> None:
        """A reason that asks for one thing more than it says is refuted."""
        narrower = {**DELIVERY.reasons[scope], reason: DELIVERY.reasons[scope][reason] & e.hit}
        assert first_refuted(with_reasons(scope, narrower)) is not None

    def test_counterexample(self) -> None:
        """What was skipped is reported: the state, the event, and what it would have changed."""
        answer = of_observer("explicit_acceptance", without("claim", "due"))[Lemma.CLAIM_OBSERVERS]
        kinds = {failure.part for failure in answer.failures}
        assert {f"at {k}" for k in (Kind.REQUEST_FINISHED, *CONFLICT_ACTIONS)} == kinds
        shown = next(f for f in answer.failures if f.part == f"at {Kind.REQUEST_FINISHED}")
        assert shown.counterexample is not None
        assert {"kind": "request_finished"} == shown.counterexample.event
        assert "owed" == shown.counterexample.state["claim.state"]
        (change,) = shown.counterexample.changes
        assert ("claim.state", "owed", "violated") == (change.what, change.expected, change.found)

    @pytest.mark.parametrize("name", sorted(DELIVERY.known))
    def test_known(self, name: str) -> None:
        """A register that the pool does not know of a request is not what it was at first."""
        results = of_ledgers(replace(DELIVERY, known=DELIVERY.known - {name}))
        assert [Lemma.UNOPENED_FACTS] == refuted(results)

    def test_known_too_much(self) -> None:
        """A register that depends on the claim cannot be known for all claims at once."""
        results = of_ledgers(replace(DELIVERY, known=DELIVERY.known | {"loaded"}))
        assert Lemma.KNOWN_TO_ALL in refuted(results)

    @pytest.mark.parametrize("name", sorted(DELIVERY.shared))
    def test_shared(self, name: str) -> None:
        """What the pool knows rests on fields that every claim must see alike."""
        results = of_ledgers(replace(DELIVERY, shared=DELIVERY.shared - {name}))
        assert [Lemma.KNOWN_TO_ALL] == refuted(results)

    @pytest.mark.parametrize("name", sorted(DELIVERY.left))
    def test_left(self, name: str) -> None:
        """What a request that ended leaves is no less than is stated."""
        results = of_ledgers(replace(DELIVERY, left=DELIVERY.left - {name}))
        assert [Lemma.ENDED_UNOPENED] == refuted(results)

    def test_unmet(self) -> None:
        """What is delivered to no claim that was not met is no more than is stated."""
        results = of_ledgers(replace(DELIVERY, unmet=TRUE))
        assert [Lemma.UNMET] == refuted(results)

    def test_everything_delivered(self) -> None:
        """Where everything is delivered there is nothing to prove, and that is no proof."""
        every = with_reasons("claim", {"every": TRUE})
        answer = of_observer("claim_identity", every)[Lemma.CLAIM_OBSERVERS]
        assert "unknown" == answer.result


class TestOtherObservers:
    """Observers that the specification does not have: nothing rests on those that it has."""

    def test_reads_what_is_not_delivered(self) -> None:
        """A rule that fires at somebody else's events is refuted, at the kind that it waits for."""
        rule = Rule(Guard.FORBIDDEN, "odd", ~e.mine & kind(Kind.BLOCK_CACHED), VIOLATED, why="")
        results = of_any(an_observer(rule))
        failures = results[Lemma.CLAIM_OBSERVERS].failures
        assert [f"at {Kind.BLOCK_CACHED}"] == [failure.part for failure in failures]
        assert Lemma.AGREEMENT in refuted(results)

    def test_needs_an_invariant(self) -> None:
        """A rule that waits for a state of the ledger is inert where that state is not reached."""
        owed = Rule(
            Guard.OWED,
            "owed",
            e.mine & kind(Kind.CLAIM_RETIRED) & was.committed,
            "owed",
            source=("idle",),
            why="",
        )
        gone = Rule(Guard.MOOT, "gone", ~now.committed, "idle", source=("owed",), why="")
        results = of_any(an_observer(owed, gone))
        assert [] == refuted(results)
        assert {"tried": len(EVENTS)} == results[Lemma.AGREEMENT].questions
        assert 0 < sum(results[Lemma.INVARIANTS].questions.values())

    def test_without_that_invariant(self) -> None:
        """The same rule where the state can be reached is refuted."""
        owed = Rule(Guard.OWED, "owed", e.mine & kind(Kind.CLAIM_RETIRED), "owed", why="")
        gone = Rule(Guard.MOOT, "gone", ~now.committed, "idle", source=("owed",), why="")
        assert Lemma.CLAIM_OBSERVERS in refuted(of_any(an_observer(owed, gone)))

    def test_other_requests(self) -> None:
        """A rule of requests that fires at another request's end is refuted."""
        owed = Rule(
            Guard.OWED,
            "owed",
            e.mine & e.here & kind(Kind.LOAD_FAILED),
            "owed",
            source=("idle",),
            why="",
        )
        over = Rule(
            Guard.DUE, "over", kind(Kind.REQUEST_FINISHED), VIOLATED, source=("owed",), why=""
        )
        results = of_any(an_observer(owed, over, per_request=True))
        assert [Lemma.REQUEST_OBSERVERS, Lemma.AGREEMENT] == refuted(results)

    def test_unopened(self) -> None:
        """A rule that fires at every lookup of a request asks for the request to be followed."""
        seen = Rule(Guard.NOTED, "seen", e.here & kind(Kind.PREFIX_LOOKUP), "told", why="")
        observer = an_observer(seen, per_request=True)
        assert [Lemma.UNOPENED_OBSERVERS, Lemma.AGREEMENT] == refuted(of_any(observer))
        opens = {**DELIVERY.opens, "looked up": e.here & kind(Kind.PREFIX_LOOKUP)}
        assert [] == refuted(of_any(observer, with_reasons("opens", opens)))

    def test_retired(self) -> None:
        """What moves a request that is over must not depend on what came before its end."""
        lost = Rule(
            Guard.DUE, "lost", e.mine & kind(Kind.BLOCK_LOST) & req_was.failed, VIOLATED, why=""
        )
        assert Lemma.RETIRED in refuted(of_any(an_observer(lost, per_request=True)))
        here = structs.replace(lost, when=lost.when & e.here)
        assert Lemma.RETIRED not in refuted(of_any(an_observer(here, per_request=True)))

    def test_own_registers(self) -> None:
        """What a claim and its request remember alike need not be delivered to both."""
        seen = Var(Scope.OWN, "seen", Sort.BOOL)
        note = Rule(
            Guard.NOTED,
            "note",
            e.mine & kind(Kind.BLOCK_LOST),
            "owed",
            source=("idle",),
            sets={"seen": TRUE},
            why="",
        )
        due = Rule(
            Guard.DUE,
            "due",
            kind(Kind.REQUEST_FINISHED) & seen,
            VIOLATED,
            source=("owed",),
            why="",
        )
        observer = structs.replace(
            an_observer(per_request=True),
            registers=(Register("seen", Sort.BOOL, False),),
            rules=(note, due),
        )
        assert [] == refuted(of_any(observer))

    @pytest.mark.parametrize("name", [o.name for o in OBLIGATIONS.values() if o.per_request])
    @pytest.mark.deep
    def test_actions_concern_some(self, name: str) -> None:
        """If rules at actions asked who is responsible or named, actions would open requests for
        those alone, and claims that were not met would miss none."""
        concerned = was.responsible | e.blamed
        acted = kind(*CONFLICT_ACTIONS)
        observer = OBLIGATIONS[name]
        asking = structs.replace(
            observer,
            rules=tuple(
                structs.replace(r, when=r.when & (~acted | concerned)) for r in observer.rules
            ),
        )
        opens = {**DELIVERY.opens, "acted on": e.here & acted & concerned}
        narrow = with_reasons("opens", opens)
        assert [] == refuted(of_any(asking, narrow))
        assert [] == refuted(of_ledgers(narrow))


class TestBook:
    """What is made of questions that cannot be answered."""

    def test_not_asked(self) -> None:
        """A lemma of which nothing was asked is not proved."""
        answer: Answer = Prover().answer(next(iter(Lemma)))
        assert "unknown" == answer.result

    def test_nothing_fulfils_what_is_given(self) -> None:
        """A lemma that is about no event at all is not proved."""
        never = with_reasons("opens", {"always": ~FALSE})
        assert "unknown" == of_ledgers(never)[Lemma.UNOPENED_FACTS].result

    def test_bounded(self) -> None:
        """A question that costs more than it may is unknown."""
        space, invariants = found("claim_harm_attribution")
        prover, frame = Prover(rlimit=1), Frame(space, DELIVERY, invariants)
        prover.ask(space, frame.observers(OBLIGATIONS["claim_harm_attribution"]), frame.inside)
        assert "unknown" == answers(prover)[Lemma.AGREEMENT].result
