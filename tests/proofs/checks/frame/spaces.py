"""What the tests of the frame theorem share: each obligation with all invariants found of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

from proofs.checks.frame.candidates import Candidate
from proofs.checks.frame.houdini import inductive
from proofs.checks.frame.lemmas import Frame
from proofs.checks.frame.results import Answer
from proofs.checks.frame.space import Space
from proofs.checks.frame.statements import Lemma
from proofs.checks.frame.verification_conditions import RLIMIT, Prover
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.language.machine import Observer
from spec.language.terms import Term
from spec.stream.scopes import DELIVERY, Delivery


def modes_with(name: str) -> list[Mode]:
    """The modes in some bundle of which an obligation is."""
    return [m for m in Mode if any(name in MODES[m].names(b) for b in Bundle)]


@cache
def found(name: str) -> tuple[Space, list[Candidate]]:
    """An obligation of the specification, and what holds of every state of it."""
    space = Space(modes_with(name), OBLIGATIONS[name])
    return space, inductive(space, OBLIGATIONS[name], RLIMIT)


def answers(prover: Prover) -> dict[str, Answer]:
    """What came out of each lemma that was asked of."""
    every = {str(lemma): prover.answer(lemma) for lemma in Lemma}
    return {name: answer for name, answer in every.items() if answer.questions}


def of_ledgers(delivery: Delivery = DELIVERY) -> dict[str, Answer]:
    """The lemmas about ledgers, and about the reasons themselves."""
    prover, space = Prover(), Space(list(Mode))
    prover.ask(space, Frame(space, delivery).ledgers())
    prover.ask(space, Frame(space, delivery).reasons())
    return answers(prover)


def of_observer(name: str, delivery: Delivery = DELIVERY) -> dict[str, Answer]:
    """The lemmas about an obligation of the specification."""
    space, invariants = found(name)
    prover, frame = Prover(), Frame(space, delivery, invariants)
    prover.ask(space, frame.observers(OBLIGATIONS[name]), frame.inside)
    return answers(prover)


def of_any(observer: Observer, delivery: Delivery = DELIVERY) -> dict[str, Answer]:
    """The lemmas about any observer, in any mode."""
    space = Space(list(Mode), observer)
    frame = Frame(space, delivery, inductive(space, observer, RLIMIT))
    prover = Prover()
    prover.ask(space, frame.inductive(observer))
    prover.ask(space, frame.observers(observer), frame.inside)
    return answers(prover)


def refuted(results: dict[str, Answer]) -> list[str]:
    """The lemmas that were refuted."""
    return [name for name, answer in results.items() if answer.result == "refuted"]


def without(scope: str, reason: str, delivery: Delivery = DELIVERY) -> Delivery:
    """Delivery with one reason left out."""
    return with_reasons(
        scope, {n: t for n, t in delivery.reasons[scope].items() if n != reason}, delivery
    )


def with_reasons(scope: str, reasons: dict[str, Term], delivery: Delivery = DELIVERY) -> Delivery:
    """Delivery with other reasons in a scope."""
    claim, request, opens = (
        reasons if each == scope else delivery.reasons[each]
        for each in ("claim", "request", "opens")
    )
    return replace(delivery, claim=claim, request=request, opens=opens)


def reasons() -> Iterator[tuple[str, str]]:
    """Every reason of delivery, with its scope."""
    for scope, each in DELIVERY.reasons.items():
        yield from ((scope, reason) for reason in each)


def first_refuted(delivery: Delivery, names: Iterable[str] = OBLIGATIONS) -> str | None:
    """The first obligation for which some lemma is refuted."""
    return next((name for name in names if refuted(of_observer(name, delivery))), None)
