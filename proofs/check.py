"""Checks a mode for soundness, consistency and necessity, and further properties on request.

A full check adds scenarios, coverage, receptiveness, the necessity of single rules, proof cores,
and the paper's bundle. What certificates need is imported only where one is written.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, NamedTuple

from proofs.checks.cores import cores_of, proof_of, rests_on
from proofs.checks.coverage import reachable
from proofs.checks.lemmas import lemmas_of
from proofs.checks.necessity import lacking
from proofs.checks.paper import paper_as_contract, paper_by_clause
from proofs.checks.redundancy import redundancy
from proofs.checks.results import Lacking, Leaned, Paper
from proofs.checks.soundness import sound_by
from proofs.checks.statement.check import statement_of
from proofs.engines.background import Task
from proofs.engines.bounded.assumption_bmc import WIDTH, AssumptionBmc
from proofs.engines.bounded.search import find_witness
from proofs.engines.names import DEPTH, EngineName
from proofs.logic.encode import Bits
from proofs.model.of_mode import model_of
from proofs.receptiveness.check import receptive
from proofs.report.results import NOT_FOUND, SCHEMA, Added, Check, Checks, Consistent, proof_schema
from proofs.report.verdict import exit_code
from proofs.traces.itf import write_trace
from proofs.traces.narrative import tell
from proofs.traces.replay import to_events
from proofs.traces.scenario_search import find_scenarios
from spec.contract.modes import MODES, Bundle
from spec.contract.names import find_bundle, find_mode
from spec.events.alphabet import Kind
from spec.language.errors import SpecError, require
from spec.language.suggest import resolve

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from proofs.checks.cores import Cores
    from proofs.checks.coverage import Reached
    from proofs.checks.results import Sound
    from proofs.engines.bounded.search import Found, Outcome
    from proofs.engines.invariants.recheck import Proof
    from proofs.model.of_mode import Model
    from proofs.receptiveness.check import Receptive
    from proofs.traces.scenario_search import FoundScenario
    from spec.claims.states import Mode

__all__ = ["DEPTH", "SCHEMA", "Check", "Checks", "check_mode", "exit_code", "proof_schema"]


class _Runs(NamedTuple):
    """The results about the statement, lemmas, witnesses, scenarios, coverage and receptiveness;
    None if not requested.
    """

    witness: Outcome
    seconds: float
    scenarios: list[FoundScenario] | None
    reached: Reached | None
    receptive: Receptive | None
    statement: list[Leaned]
    lemmas: list[Leaned]
    written: dict[str, bytes]  # data of lemmas and frame, if a certificate is requested


class _Apart(NamedTuple):
    """The ablation of the contract, one part at a time; None if not requested.

    `paper` is also None if the paper's bundle is the contract.
    """

    necessary: dict[str, Lacking]
    guards: dict[str, Lacking] | None = None
    cores: Cores | None = None
    paper: Paper | None = None


def check_mode(
    mode: Mode,
    bundle: Bundle = Bundle.CONTRACT,
    depth: int = DEPTH,
    progress: Callable[[str], None] = lambda _: None,
    *,
    engine: EngineName = EngineName.AUTO,
    full: bool = False,
    plain: bool = False,
    worker: Executor | None = None,
    certificate: Path | None = None,
    trace: Path | None = None,
) -> Check:
    """Check theorem, witness, lemmas and necessity of one mode; with `full`, everything.

    Args:
        depth: the maximal number of events in bounded searches.
        full: also check scenarios, coverage, receptiveness, guards, cores and the paper's bundle.
        progress: called with a description of the current work.
        engine: decides whether the theorem holds.
        plain: minimise the runs that an obligation or rule prevents.
        beside: an executor for other questions while the theorem is being proved.
        certificate: a folder to write a certificate to, if all of its parts are shown: theorem,
        lemmas, witness, receptiveness, and the frame theorem.
        trace: a file for the counterexample to the theorem, or else for the witness.

    Raises:
        SpecError: `certificate` or `trace` cannot be written, or an argument is of another type.
    """
    mode, bundle = find_mode(mode).mode, find_bundle(bundle)  # names would be equal to, and not be
    engine = resolve(engine, EngineName, what="engine")
    require(depth, int, "depth", "a number of events")
    if depth < 1:
        raise SpecError(f"depth is {depth!r:.60}", "give a number of events from 1")
    for what, path in (("certificate", certificate), ("trace", trace)):
        require(path, (Path, NoneType), what, "a pathlib.Path, or None")
    started, wanted = time.perf_counter(), certificate is not None
    runs = Task(worker, partial(_runs, mode, bundle, depth, full=full, wanted=wanted))
    progress(f"{mode}: proving the theorem")
    sound, answer = sound_by(engine, mode, bundle, depth)
    progress(f"{mode}: is each obligation necessary?")
    same = bundle is Bundle.CONTRACT and answer.engine is EngineName.RECORDED
    known = answer.proof if same else None  # which would otherwise be computed again
    apart, spec = _apart(mode, depth, plain, known or proof_of(mode), full=full), MODES[mode]
    progress(f"{mode}: finding runs that exercise every obligation")
    found, readable = runs.result(), _readable(mode, bundle)
    witnessed = found.witness.found
    shown = None if witnessed is None else (readable, witnessed)
    if answer.shown is not None:
        shown = (answer.shown.model, answer.shown.found)
    if trace is not None:
        _write(trace, bundle, sound, shown)
    written = _certified(mode, bundle, answer.proof, found) if wanted else None
    if certificate is not None and written is not None:
        from proofs.certificates.write import write_certificate

        write_certificate(certificate, mode, bundle, written)
    cores = apart.cores
    return Check(
        mode=mode,
        bundle=bundle,
        interpretations=list(spec.interpretations),
        environment=sorted(Kind),
        obligations=list(spec.names(bundle)),
        consistent=_consistent(readable, found),
        sound=sound,
        receptive=found.receptive,
        statement=found.statement,
        lemmas=found.lemmas,
        paper=(apart.paper or paper_as_contract(sound)) if full else None,
        added=[Added(name, why) for name, why in spec.added.items()],
        necessary=apart.necessary,
        redundancy=redundancy(mode, apart.necessary),
        guards=apart.guards,
        core=None if cores is None else cores.core,
        in_every_core=None if cores is None else cores.in_every,
        unused=None if cores is None else cores.unused,
        certificate=None if written is None else str(certificate),
        seconds=round(time.perf_counter() - started, 3),
    )


def _runs(mode: Mode, bundle: Bundle, depth: int, *, full: bool, wanted: bool) -> _Runs:
    started = time.perf_counter()
    witness = find_witness(_readable(mode, bundle), depth, plain=True)
    seconds = round(time.perf_counter() - started, 3)
    proofs = {lemma.name: lemma.prove() for lemma in lemmas_of(mode)}
    lemmas = [
        Leaned(lemma.name, lemma.says, proofs[lemma.name].result, list(lemma.parts))
        for lemma in lemmas_of(mode)
    ]
    written = dict[str, bytes]()
    if wanted:
        from proofs.certificates.write import FRAME, LEMMAS

        frame = FRAME.written(mode)
        lemmas.append(_framed(mode, frame))
        if all(lemma.result == "proved" for lemma in lemmas):
            written = LEMMAS.written(mode, proofs) | frame
    return _Runs(
        witness,
        seconds,
        find_scenarios(mode) if full else None,
        reachable(mode) if full else None,
        receptive(mode) if full or wanted else None,
        statement_of(mode, bundle),
        lemmas,
        written,
    )


def _readable(mode: Mode, bundle: Bundle) -> Model:
    """The bundle of a mode, in runs that can be written as events."""
    return model_of(mode, bundle, Bits(WIDTH), replay=True)


def _framed(mode: Mode, written: dict[str, bytes]) -> Leaned:
    """The result of the frame theorem, with its invariants."""
    from proofs.certificates.recheck import solved
    from proofs.certificates.write import FRAME

    says = "what may be skipped changes nothing, and what runs is what was proved (docs/frame.md)"
    given = {name.removeprefix(FRAME.folder): content for name, content in written.items()}
    pages = FRAME.pages(mode, Bundle.CONTRACT, given)
    answers = {solved(mode, name, page).answer for name, page in pages.items() if page.questions}
    result = "failed" if "sat" in answers else "unknown" if "unknown" in answers else "proved"
    return Leaned("frame", says, result, [])


def _certified(
    mode: Mode, bundle: Bundle, proof: Proof | None, runs: _Runs
) -> dict[str, bytes] | None:
    """The data of a certificate, or None if a part of it is not shown."""
    shown = runs.receptive is not None and runs.receptive.result == "proved"
    asked = (*runs.statement, *runs.lemmas)
    shown = shown and all(each.result == "proved" for each in asked)
    if not shown or proof is None or proof.invariant is None or runs.witness.found is None:
        return None
    from proofs.certificates.write import THEOREM, WITNESS

    return (
        THEOREM.written(mode, bundle, proof.invariant)
        | runs.written
        | WITNESS.written(mode, bundle, runs.witness.found)
    )


def _apart(mode: Mode, depth: int, plain: bool, proof: Proof, *, full: bool) -> _Apart:
    rests = rests_on(mode, proof)
    runs = AssumptionBmc(
        mode, plain=plain, rests={name: each.names for name, each in rests.items()}
    )
    necessary = lacking(runs, runs.obligations)
    if not full:
        return _Apart(necessary)
    by_clause = MODES[mode].added or proof.invariant is None
    return _Apart(
        necessary,
        lacking(runs, runs.guards),
        cores_of(mode, proof, rests, necessary),
        paper_by_clause(runs, depth, rests) if by_clause else None,
    )


def _consistent(readable: Model, runs: _Runs) -> Consistent:
    outcome, found = runs.witness, runs.witness.found
    missing = NOT_FOUND if outcome.complete else "unknown"
    return Consistent(
        result="witnessed" if found else missing,
        depth=outcome.depth,
        witness=to_events(readable, found) if found else [],
        story=tell(readable, found) if found else [],
        seconds=runs.seconds,
        scenarios=runs.scenarios,
        reached=runs.reached,
    )


def _write(path: Path, bundle: Bundle, sound: Sound, shown: tuple[Model, Found] | None) -> None:
    if shown is None:
        raise SpecError("there is no run to write", "neither a witness nor a refutation was found")
    model, found = shown
    breaks = ", ".join(sound.failed)
    meta = {"property": f"breaks {breaks}" if breaks else "witness", "bundle": str(bundle)}
    write_trace(path, model, found, meta, events=sound.trace if breaks else None)
