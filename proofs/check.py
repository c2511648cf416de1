"""What is asked of a mode: is it consistent, is it sound, and what of it is needed? The engines
answer."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from proofs.beside import Task
from proofs.certificate import write_certificate
from proofs.cores import cores_of
from proofs.engines.answers import EngineName
from proofs.engines.switched import Switched, readable_contract
from proofs.itf import write_trace
from proofs.lemmas import lemmas_of
from proofs.necessity import lacking
from proofs.paper import paper_as_contract, paper_by_clause
from proofs.reach import reachable
from proofs.receptive import receptive
from proofs.replay import to_events
from proofs.results import (
    SCHEMA,
    Added,
    Check,
    Checks,
    Consistent,
    Lacking,
    Leaned,
    Paper,
    exit_code,
    proof_schema,
)
from proofs.sound import sound_by
from proofs.story import tell
from proofs.tale import tales
from spec.errors import SpecError
from spec.modes import MODES, Bundle

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor
    from pathlib import Path

    from proofs.engines.search import Found, Outcome
    from proofs.model import Model
    from proofs.reach import Reached
    from proofs.receptive import Receptive
    from proofs.results import Sound
    from proofs.tale import Tale
    from spec.claims import Mode

__all__ = ["DEPTH", "SCHEMA", "Check", "Checks", "check_mode", "exit_code", "proof_schema"]

DEPTH = 16


class _Searched(NamedTuple):
    """What one unrolling of a mode answers; no paper where the proof of the contract is its own."""

    witness: Outcome
    seconds: float
    paper: Paper | None
    necessary: dict[str, Lacking]
    guards: dict[str, Lacking]


def check_mode(
    mode: Mode,
    bundle: Bundle = Bundle.CONTRACT,
    depth: int = DEPTH,
    progress: Callable[[str], None] = lambda _: None,
    *,
    engine: EngineName = EngineName.AUTO,
    guards: bool = False,
    plain: bool = False,
    beside: Executor | None = None,
    certificate: Path | None = None,
    trace: Path | None = None,
) -> Check:
    """Every question about one mode.

    Args:
        depth: how many events the bounded searches go to.
        progress: told what is being worked on.
        engine: answers whether the theorem holds.
        guards: take out each rule by itself, too.
        plain: of the runs that an obligation or rule prevents, find the plainest.
        beside: works on other questions while the theorem is being proved.
        certificate: a folder in which to write what `recheck` checks again.
        trace: a file for the run that refutes the theorem, or else for the witness.

    Raises:
        SpecError: `certificate` or `trace` cannot be written.
    """
    search = Task(beside, partial(_search, mode, bundle, depth, guards, plain))
    reach = Task(beside, partial(reachable, mode))
    others = Task(beside, partial(_others, mode))
    progress(f"{mode}: proving the auditor's theorem")
    sound, answer = sound_by(engine, mode, bundle, depth)
    written = certificate if answer.proof is not None else None
    if written is not None and answer.proof is not None:
        write_certificate(written, mode, bundle, answer.proof)
    progress(f"{mode}: telling its story, and whether anybody can be forced")
    told, receptiveness, lemmas = others.result()
    progress(f"{mode}: looking for states and rules out of reach")
    reached = reach.result()
    progress(f"{mode}: taking the contract apart")
    found, spec = search.result(), MODES[mode]
    paper = found.paper
    if paper is None and sound.result == "proved":
        paper = paper_as_contract(sound)
    readable = readable_contract(mode)
    witnessed = found.witness.found
    shown = None if witnessed is None else (readable, witnessed)
    if answer.shown is not None:
        shown = (answer.shown.model, answer.shown.found)
    if trace is not None:
        _write(trace, bundle, sound, shown)
    progress(f"{mode}: finding what each clause rests on")
    cores = cores_of(mode, bundle, answer.proof, found.necessary)
    return Check(
        mode=mode,
        bundle=bundle,
        readings=list(spec.readings),
        obligations=list(spec.names(bundle)),
        consistent=_consistent(readable, found, told, reached),
        sound=sound,
        receptive=receptiveness,
        lemmas=lemmas,
        paper=paper or paper_by_clause(Switched(mode), depth),
        added=[Added(name, why) for name, why in spec.added.items()],
        necessary=found.necessary,
        guards=found.guards,
        core=cores.core,
        in_every_core=cores.in_every,
        unused=cores.unused,
        certificate=None if written is None else str(written),
    )


def _search(mode: Mode, bundle: Bundle, depth: int, guards: bool, plain: bool) -> _Searched:
    started = time.perf_counter()
    runs = Switched(mode, plain=plain)
    added = frozenset(MODES[mode].added)
    witness = runs.witness(depth, added if bundle is Bundle.PAPER else frozenset())
    seconds = _since(started)
    necessary = lacking(runs, runs.obligations)
    paper = paper_by_clause(runs, depth) if MODES[mode].added else None
    taken = lacking(runs, runs.guards) if guards else {}
    return _Searched(witness, seconds, paper, necessary, taken)


def _others(mode: Mode) -> tuple[list[Tale], Receptive, list[Leaned]]:
    lemmas = [
        Leaned(lemma.name, lemma.says, "proved" if lemma.holds() else "failed")
        for lemma in lemmas_of(mode)
    ]
    return tales(mode), receptive(mode), lemmas


def _consistent(
    readable: Model, searched: _Searched, told: list[Tale], reached: Reached
) -> Consistent:
    outcome, found = searched.witness, searched.witness.found
    missing = "vacuous" if outcome.complete else "unknown"
    return Consistent(
        result="witnessed" if found else missing,
        depth=outcome.depth,
        witness=to_events(readable, found) if found else [],
        story=tell(readable, found) if found else [],
        seconds=searched.seconds,
        tales=told,
        reached=reached,
    )


def _write(path: Path, bundle: Bundle, sound: Sound, shown: tuple[Model, Found] | None) -> None:
    if shown is None:
        raise SpecError("there is no run to write", "neither a witness nor a refutation was found")
    model, found = shown
    breaks = ", ".join(sound.failed)
    meta = {"property": f"breaks {breaks}" if breaks else "witness", "bundle": str(bundle)}
    write_trace(path, model, found, meta, events=sound.trace if breaks else None)


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 3)
