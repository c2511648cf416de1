"""What is asked of a mode: is it consistent, is it sound, and what of it is needed? The engines
answer."""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple

from proofs.certificate import write_certificate
from proofs.encode import Bits, Integers
from proofs.engines.search import WIDTH, Found, find_refutation
from proofs.engines.spacer import ProofResult, prove
from proofs.engines.switched import Switched
from proofs.model import model_of
from proofs.necessity import lacking
from proofs.pair import swap_lemma
from proofs.paper import paper_as_contract, paper_by_clause
from proofs.replay import to_events
from proofs.results import (
    SCHEMA,
    Added,
    Check,
    Checks,
    Consistent,
    Lacking,
    Paper,
    Sound,
    exit_code,
    proof_schema,
)
from proofs.story import Line, tell
from spec.claims import Mode
from spec.events import Event
from spec.modes import MODES, Bundle

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor
    from pathlib import Path

    from proofs.model import Model

__all__ = ["DEPTH", "SCHEMA", "Check", "Checks", "check_mode", "exit_code", "proof_schema"]

DEPTH = 16


class _Searched(NamedTuple):
    """What one unrolling of a mode answers; no paper where the proof of the contract is its own."""

    consistent: Consistent
    paper: Paper | None
    necessary: dict[str, Lacking]
    guards: dict[str, Lacking]


def check_mode(
    mode: Mode,
    bundle: Bundle = Bundle.CONTRACT,
    depth: int = DEPTH,
    progress: Callable[[str], None] = lambda _: None,
    *,
    guards: bool = False,
    plain: bool = False,
    beside: Executor | None = None,
    certificate: Path | None = None,
) -> Check:
    """Every question about one mode.

    Args:
        depth: how many events the bounded searches go to.
        progress: told what is being worked on.
        guards: take out each rule by itself, too.
        plain: of the runs that an obligation or rule prevents, find the plainest.
        beside: works on the searches while the theorem is being proved.
        certificate: a folder in which to write what `recheck` checks again.
    """
    ask = (mode, bundle, depth, guards, plain)
    searching = beside.submit(_search, *ask) if beside is not None else None
    if searching is None:
        progress(f"{mode}: searching runs that exercise everything, or break a clause")
        searching = Future()
        searching.set_result(_search(*ask))
    progress(f"{mode}: proving the auditor's theorem")
    sound = _sound(mode, bundle, depth, certificate)
    progress(f"{mode}: taking the contract apart")
    found, spec = searching.result(), MODES[mode]
    paper = found.paper
    if paper is None and sound.result == "proved" and sound.bound is None:
        paper = paper_as_contract(sound)
    return Check(
        mode=mode,
        bundle=bundle,
        readings=list(spec.readings),
        obligations=list(spec.names(bundle)),
        consistent=found.consistent,
        sound=sound,
        paper=paper or paper_by_clause(Switched(mode), depth),
        added=[Added(name, why) for name, why in spec.added.items()],
        necessary=found.necessary,
        guards=found.guards,
    )


def _search(mode: Mode, bundle: Bundle, depth: int, guards: bool, plain: bool) -> _Searched:
    runs = Switched(mode, plain=plain)
    consistent = _consistent(runs, bundle, depth)
    necessary = lacking(runs, runs.obligations)
    paper = paper_by_clause(runs, depth) if MODES[mode].added else None
    return _Searched(consistent, paper, necessary, lacking(runs, runs.guards) if guards else {})


def _consistent(runs: Switched, bundle: Bundle, depth: int) -> Consistent:
    started = time.perf_counter()
    added = frozenset(MODES[runs.model.mode].added)
    outcome = runs.witness(depth, added if bundle is Bundle.PAPER else frozenset())
    if outcome.found is None:
        result, witness, story = "vacuous" if outcome.complete else "unknown", [], []
    else:
        result = "witnessed"
        witness, story = to_events(runs.model, outcome.found), tell(runs.model, outcome.found)
    return Consistent(result, outcome.depth, witness, story, _since(started))


def _sound(mode: Mode, bundle: Bundle, depth: int, certificate: Path | None = None) -> Sound:
    started = time.perf_counter()
    model = model_of(mode, bundle, Integers())
    clauses = {clause.name: clause.says for clause in model.clauses}
    proof = prove(model)
    if proof.result is ProofResult.PROVED and mode is Mode.SOFT_PRIORITY and not swap_lemma():
        return _answer("unknown", "spacer", None, started, clauses, reason="the swap lemma fails")
    if proof.result is ProofResult.PROVED:
        if certificate is not None:
            write_certificate(certificate, mode, bundle, proof)
        return _answer("proved", "spacer", None, started, clauses, rechecked=proof.rechecked)
    readable = model_of(mode, bundle, Bits(WIDTH), replay=True)
    outcome = find_refutation(readable, depth, plain=True)
    if outcome.found is not None:
        events = to_events(readable, outcome.found)
        return _refuted(readable, outcome.found, events, started, clauses)
    anything = model_of(mode, bundle, Bits(WIDTH))
    outcome = find_refutation(anything, depth, plain=True)
    if outcome.found is not None:
        return _refuted(anything, outcome.found, [], started, clauses)
    if proof.result is ProofResult.REFUTED:
        reason = f"refuted by Spacer; no run of up to {outcome.depth} events shows it"
        return _answer("refuted", "spacer", None, started, clauses, reason=reason)
    if outcome.complete:
        return _answer("proved", "search", depth, started, clauses, reason=proof.reason)
    return _answer("unknown", "search", outcome.depth, started, clauses, reason=proof.reason)


def _refuted(
    model: Model, found: Found, events: list[Event], started: float, clauses: dict[str, str]
) -> Sound:
    return _answer(
        "refuted",
        "search",
        len(found.events),
        started,
        clauses,
        failed=list(found.failed),
        trace=events,
        story=tell(model, found),
    )


def _answer(
    result: str,
    engine: str,
    bound: int | None,
    started: float,
    clauses: dict[str, str],
    *,
    rechecked: bool = False,
    failed: list[str] | None = None,
    trace: list[Event] | None = None,
    story: list[Line] | None = None,
    reason: str = "",
) -> Sound:
    return Sound(
        result=result,
        engine=engine,
        bound=bound,
        rechecked=rechecked,
        seconds=_since(started),
        clauses=clauses,
        failed=failed or [],
        trace=trace or [],
        story=story or [],
        reason=reason,
    )


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 3)
