"""Checks the delivery of events and the Python compiled from terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proofs.checks.frame.compiled import bundles, mismatches
from proofs.checks.frame.houdini import inductive, needed
from proofs.checks.frame.lemmas import Frame
from proofs.checks.frame.reader import Refused
from proofs.checks.frame.results import SCHEMA, Failure, FrameCheck, Invariant
from proofs.checks.frame.sources import Arguments, term_question
from proofs.checks.frame.space import Space
from proofs.checks.frame.statements import ASSUMED, LEDGERS, LEMMAS, RULES, RUNS, TERMS
from proofs.checks.frame.verification_conditions import RLIMIT, Prover
from proofs.logic.compiled import to_python
from spec import __version__
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.digest import spec_digest
from spec.language.terms import Scope
from spec.stream.scopes import DELIVERY, STANDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from proofs.checks.frame.sources import Source
    from proofs.checks.frame.verification_conditions import Question
    from spec.language.machine import Observer
    from spec.stream.scopes import Delivery

__all__ = [
    "check_frame",
    "observers_of",
    "prove_delivery",
    "prove_frame",
    "prove_source",
]


def check_frame(
    modes: Sequence[Mode] = tuple(Mode),
    progress: Callable[[str], None] = lambda _: None,
    *,
    delivery: Delivery = DELIVERY,
    rlimit: int = RLIMIT,
) -> FrameCheck:
    """Prove the frame theorem for some modes, and that the compiled Python equals the terms.

    Args:
        progress: called with a description of the current work.
        rlimit: resource limit of each question, in units of Z3.
    """
    prover, observers = Prover(rlimit), observers_of(modes)
    invariants = prove_frame(prover, modes, observers, delivery, progress)
    for source, compiled, made_of in bundles(modes):
        progress(f"frame: reading {source.of}")
        prove_source(prover, source)
        for what, wrong in mismatches(source, compiled, made_of):
            _note(prover, RUNS, source.of, what, wrong=wrong)
    prove_delivery(prover, delivery)
    of_requests = any(observer.per_request for observer in observers)
    return FrameCheck(
        schema=SCHEMA,
        tool=__version__,
        spec=spec_digest(),
        modes=list(modes),
        observers=[observer.name for observer in observers],
        lemmas=[prover.answer(each) for each in LEMMAS if of_requests or not each.of_requests],
        invariants=invariants,
    )


def observers_of(modes: Iterable[Mode]) -> list[Observer]:
    """The obligations in any bundle of some modes."""
    names = {name for mode in modes for bundle in Bundle for name in MODES[mode].names(bundle)}
    return [observer for name, observer in OBLIGATIONS.items() if name in names]


def prove_frame(
    prover: Prover,
    modes: Sequence[Mode],
    observers: Iterable[Observer],
    delivery: Delivery = DELIVERY,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Invariant]:
    """Prove the lemmas of the frame theorem; returns the invariants used."""
    progress("frame: ledgers")
    space, found = Space(modes), list[Invariant]()
    prover.ask(space, Frame(space, delivery).ledgers())
    prover.ask(space, Frame(space, delivery).reasons())
    for observer in observers:
        progress(f"frame: {observer.name}")
        having = [m for m in modes if any(observer.name in MODES[m].names(b) for b in Bundle)]
        space = Space(having or modes, observer)
        plain = Frame(space, delivery)
        held = inductive(space, observer, prover.rlimit)
        held = needed(space, observer, held, plain.observers(observer), prover.rlimit)
        frame = Frame(space, delivery, held)
        prover.ask(space, frame.inductive(observer))
        prover.ask(space, frame.observers(observer), frame.inside)
        found += [Invariant(observer.name, each.says) for each in held]
    return found


def prove_source(prover: Prover, source: Source) -> None:
    """Prove that compiled functions equal their terms."""
    if source.ledgers:
        _ask(prover, LEDGERS, source.of, None, source.ledger_questions)
        _ask(prover, ASSUMED, source.of, None, source.assumption_questions)
    for place, observer in enumerate(source.observers):

        def rules(arguments: Arguments, place: int = place) -> Iterator[Question]:
            return source.observer_questions(place, arguments)

        _ask(prover, RULES, source.of, observer, rules)


def prove_delivery(
    prover: Prover,
    delivery: Delivery = DELIVERY,
    texts: Mapping[tuple[str, str], str] | None = None,
) -> None:
    """Prove that the compiled reasons of delivery equal their terms.

    Args:
        texts: the Python of each, by scope and reason; by default as it is compiled.
    """
    names = {(Scope.STANDS, name): f"stands.{name}" for name in STANDS}
    for scope, reasons in delivery.reasons.items():
        for reason, term in reasons.items():
            text = to_python(term, names) if texts is None else texts[scope, reason]

            def one(
                arguments: Arguments,
                text: str = text,
                scope: str = scope,
                reason: str = reason,
                delivery: Delivery = delivery,
            ) -> Iterator[Question]:
                term = delivery.reasons[scope][reason]
                yield term_question(scope, reason, text, term, arguments)

            _ask(prover, TERMS, scope, None, one)


def _ask(
    prover: Prover,
    lemma: str,
    of: str,
    observer: Observer | None,
    questions: Callable[[Arguments], Iterator[Question]],
) -> None:
    """Ask questions about a source, which may be outside the subset of Python that is read."""
    arguments = Arguments(observer)
    try:
        prover.ask(arguments, iter(list(questions(arguments))))
    except Refused as refused:
        _note(prover, lemma, of, "" if observer is None else observer.name, says=str(refused))


def _note(
    prover: Prover, lemma: str, of: str, part: str, *, wrong: bool = True, says: str = ""
) -> None:
    prover.count(lemma, of)
    if wrong:
        prover.fail(lemma, Failure(of, part, "refuted", says or "is not what it must be"))
