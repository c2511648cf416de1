"""The functions for one kind of event equal the terms, and planted bugs in them are found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from monitor.evaluate import by_kind, inlined
from monitor.evaluate.compile import compile_mode
from proofs.checks.frame import for_kind
from proofs.checks.frame.check import observers_of, prove_kinds
from proofs.checks.frame.compiled import runs_text
from proofs.checks.frame.results import Failure
from proofs.checks.frame.statements import BY_KIND, LEMMAS
from proofs.checks.frame.verification_conditions import Prover
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind

LEMMA = next(lemma for lemma in LEMMAS if lemma.name == BY_KIND)
MODE = Mode.OFFLOADABLE
OBSERVERS = observers_of([MODE])


def failures(monkeypatch: pytest.MonkeyPatch, kind: Kind) -> list[Failure]:
    """What is found of the functions for one kind."""
    monkeypatch.setattr("proofs.checks.frame.check.EVENTS", (kind,))
    monkeypatch.setattr(for_kind, "KINDS", (kind,))
    prover = Prover()
    prove_kinds(prover, [MODE], OBSERVERS)
    return prover.answer(LEMMA).failures


@pytest.mark.parametrize("kind", [Kind.BLOCK_EVICTED, Kind.CLAIM_ACCEPTED])
def test_kind(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions of a kind are proved as they are."""
    assert [] == failures(monkeypatch, kind)


INLINED = [
    ("run.facts = now", "pass", "Pass is not a statement"),
    ("was[9] + 1", "was[9] + 2", "claim"),
    ("    if run.taint is not None:\n        return\n", "", "explicit_acceptance"),
    ("base[1] = ObserverState(3", "base[1] = ObserverState(2", "explicit_acceptance"),
    ("base[1] = ObserverState(3", "base[3] = ObserverState(3", "is not what was read"),
    ("w.own, at, 3,", "w.own, at, 2,", "explicit_acceptance"),
    ("w.own, at, 3,", "(), e, 3,", "another event"),
    ("        run.keep_left(6, w)", "        run.keep_left(5, w)", "no observer of the bundle"),
    ("if w.state in {4, 5}:", "if w.state in {4}:", "claim_harm_attribution"),
    ("(*w.trail[-7:], (KIND, at)))", "KIND)", "explicit_acceptance"),
    ("(*w.trail[-7:], (KIND, at)))", "w.trail)", "is not a trail"),
    ("if owing:", "if not owing:", "owed"),
    ("        owing = True\n    w = base[3]", "        pass\n    w = base[3]", "Pass is not"),
    ("        owing = True\n    w = base[3]", "        owing = False\n    w = base[3]", "owed"),
    ("if run.requests or run.retired:", "if run.requests:", "requests"),
    ("run.step_requests(e, was, now)", "run.step_requests(e, now, was)", "may not be called"),
    ("w = base[1]", "w = base[2]", "is not what was read"),
    ("moved = req != req_was", "moved = False", "moved"),
    ("run.change(request_id, request, req)", "run.change(request_id, request, was)", "may not be"),
    ("    if away != req_was[5]:\n        return False\n", "", "moves nothing"),
    ("def idle(", "def lazy(", "has step"),
    ("c = run.constants", "c = run.facts", "there is no c.threshold"),
]
"""A text of the functions for an eviction, what is put in its place, and what is found."""


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new", "finds"), INLINED)
def test_planted(old: str, new: str, finds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug in a function that moves a claim is found where it is."""

    def planted(*given: object, about: bool) -> str:
        text = inlined.inlined_source(*given, about=about)  # type: ignore[arg-type]
        assert not about or old in text
        return text.replace(old, new, 1) if about else text

    monkeypatch.setattr(for_kind, "inlined_source", planted)
    found = failures(monkeypatch, Kind.BLOCK_EVICTED)
    assert {"refuted"} == {failure.result for failure in found}
    assert any(finds in (failure.part, failure.says) or finds in failure.says for failure in found)


PLAIN = [
    ("(was[9] + 1)", "(was[9] + 0)", "claim"),
    ("return 3, own, 3", "return 3, own, 2", "explicit_acceptance"),
    ("return 3, own, 3", "return 2, own, 3", "explicit_acceptance"),
    ("def request(", "def requests(", "request"),
]


@pytest.mark.parametrize(("old", "new", "finds"), PLAIN)
def test_planted_plain(old: str, new: str, finds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug in a function of a ledger or an observer is found where it is."""
    changed: list[str] = []

    def planted(*given: object) -> str:
        text = by_kind.source_of(*given)  # type: ignore[arg-type]
        changed.extend([text] if old in text else [])
        return text.replace(old, new)

    monkeypatch.setattr(for_kind, "source_of", planted)
    found = failures(monkeypatch, Kind.BLOCK_EVICTED)
    assert changed
    assert finds in {failure.part for failure in found}


@pytest.mark.parametrize("about", [True, False])
def test_runs(about: bool) -> None:
    """The functions that run are those of the text that is read, with the kind that it names."""

    def each() -> Iterator[tuple[Kind, inlined.Inlined]]:
        kinds = compile_mode(MODE, Bundle.CONTRACT).kinds
        for kind in Kind:
            yield kind, kinds[kind].about if about else kinds[kind].beside

    observers = compile_mode(MODE, Bundle.CONTRACT).observers
    for kind, functions in each():
        text = inlined.inlined_source(observers, kind, about=about)
        for name in ("step", "request", "other", "idle"):
            function = getattr(functions, name)
            assert runs_text(function, text, name)
            assert function.__globals__["KIND"] is kind
