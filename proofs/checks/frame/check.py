"""Checks the delivery of events, and that what runs equals the terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.native import library
from proofs.checks.frame.generated import prove_connectives, prove_generated, prove_tables
from proofs.checks.frame.houdini import inductive, needed
from proofs.checks.frame.lemmas import Frame
from proofs.checks.frame.results import SCHEMA, FrameCheck, Invariant
from proofs.checks.frame.space import Space
from proofs.checks.frame.statements import Lemma
from proofs.checks.frame.translation import Translation
from proofs.checks.frame.verification_conditions import RLIMIT, Prover
from spec import __version__
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.digest import spec_digest
from spec.stream.scopes import DELIVERY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from spec.language.machine import Observer
    from spec.stream.scopes import Delivery

__all__ = [
    "check_frame",
    "observers_of",
    "prove_frame",
]

_NO_TABLES = "the tables of the native core: no library of these sources is built; make native-core"


def check_frame(
    modes: Sequence[Mode] = tuple(Mode),
    progress: Callable[[str], None] = lambda _: None,
    *,
    delivery: Delivery = DELIVERY,
    rlimit: int = RLIMIT,
) -> FrameCheck:
    """Prove the frame theorem for some modes, and that what runs equals the terms.

    Args:
        progress: called with a description of the current work.
        rlimit: resource limit of each question, in units of Z3.
    """
    prover, observers = Prover(rlimit), observers_of(modes)
    invariants = prove_frame(prover, modes, observers, delivery, progress)
    translation = Translation(prover)
    progress("frame: the functions of the judge")
    prove_connectives(translation)
    prove_generated(translation, modes)
    left_out, not_checked = set[Lemma](), list[str]()
    if library() is None:
        left_out.add(Lemma.TABLES)
        not_checked.append(_NO_TABLES)
    else:
        progress("frame: the tables of the native core")
        prove_tables(translation, modes)
    of_requests = any(observer.per_request for observer in observers)
    return FrameCheck(
        schema=SCHEMA,
        tool=__version__,
        spec=spec_digest(),
        modes=list(modes),
        observers=[observer.name for observer in observers],
        lemmas=[
            prover.answer(each)
            for each in Lemma
            if each not in left_out and (of_requests or not each.of_requests)
        ],
        invariants=invariants,
        not_checked=not_checked,
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
