"""What is asked of a mode: is it consistent, and is it sound? The engines answer."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from proofs.encode import Bits, Integers
from proofs.engines.search import Found, find_refutation, find_witness
from proofs.engines.spacer import ProofResult, prove
from proofs.model import model_of
from proofs.pair import swap_lemma
from proofs.replay import to_events
from proofs.story import Line, tell
from spec.claims import Mode
from spec.events import Event
from spec.modes import MODES, Bundle

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofs.model import Model

__all__ = [
    "DEPTH",
    "SCHEMA",
    "Check",
    "Checks",
    "Consistent",
    "Sound",
    "check_mode",
    "exit_code",
    "proof_schema",
]

SCHEMA = "resident-claims/proof/1"
DEPTH = 16
WIDTH = 6


class Consistent(msgspec.Struct, frozen=True):
    """`witnessed` with a shortest run in which every obligation is exercised and satisfied.

    `vacuous`: there is none of up to `depth` events. `unknown`: the work limit was reached.
    """

    result: str
    depth: int
    witness: list[Event]
    story: list[Line]
    seconds: float


class Sound(msgspec.Struct, frozen=True):
    """`proved` for every run if `bound` is null, else for runs of up to `bound` events.

    `refuted` comes with the clauses that fail and a shortest run that shows it; where that run
    could not be written as events, `trace` is empty and `story` still tells it.
    """

    result: str
    engine: str
    bound: int | None
    rechecked: bool
    seconds: float
    clauses: dict[str, str]
    failed: list[str]
    trace: list[Event]
    story: list[Line]
    reason: str = ""


class Check(msgspec.Struct, frozen=True):
    """One mode, by one bundle; `readings` names the choices under which the result holds."""

    mode: str
    bundle: str
    readings: list[str]
    obligations: list[str]
    consistent: Consistent
    sound: Sound


class Checks(msgspec.Struct, frozen=True):
    """The published form of a run of `python -m proofs check`."""

    schema: str
    tool: str
    spec: str
    checks: list[Check]


def check_mode(
    mode: Mode,
    bundle: Bundle = Bundle.CONTRACT,
    depth: int = DEPTH,
    progress: Callable[[str], None] = lambda _: None,
) -> Check:
    """Both questions about one mode.

    Args:
        depth: how many events the bounded searches go to.
        progress: told what is being worked on.
    """
    progress(f"{mode}: looking for a run that exercises every obligation")
    consistent = _consistent(mode, bundle, depth)
    progress(f"{mode}: proving the auditor's theorem")
    sound = _sound(mode, bundle, depth)
    spec = MODES[mode]
    return Check(
        mode=mode,
        bundle=bundle,
        readings=list(spec.readings),
        obligations=list(spec.names(bundle)),
        consistent=consistent,
        sound=sound,
    )


def _consistent(mode: Mode, bundle: Bundle, depth: int) -> Consistent:
    started = time.perf_counter()
    model = model_of(mode, bundle, Bits(WIDTH), replay=True)
    outcome = find_witness(model, depth)
    if outcome.found is None:
        result, witness, story = "vacuous" if outcome.complete else "unknown", [], []
    else:
        result = "witnessed"
        witness, story = to_events(model, outcome.found), tell(model, outcome.found)
    return Consistent(result, outcome.depth, witness, story, _since(started))


def _sound(mode: Mode, bundle: Bundle, depth: int) -> Sound:
    started = time.perf_counter()
    model = model_of(mode, bundle, Integers())
    clauses = {clause.name: clause.says for clause in model.clauses}
    proof = prove(model)
    if proof.result is ProofResult.PROVED and mode is Mode.SOFT_PRIORITY and not swap_lemma():
        return _answer("unknown", "spacer", None, started, clauses, reason="the swap lemma fails")
    if proof.result is ProofResult.PROVED:
        return _answer("proved", "spacer", None, started, clauses, rechecked=proof.rechecked)
    readable = model_of(mode, bundle, Bits(WIDTH), replay=True)
    outcome = find_refutation(readable, depth)
    if outcome.found is not None:
        events = to_events(readable, outcome.found)
        return _refuted(readable, outcome.found, events, started, clauses)
    anything = model_of(mode, bundle, Bits(WIDTH))
    outcome = find_refutation(anything, depth)
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


def proof_schema() -> dict[str, Any]:
    """The JSON Schema of `Checks`."""
    return msgspec.json.schema(Checks)


def exit_code(checks: list[Check]) -> int:
    """0 if each mode is witnessed and proved, 1 if one is refuted, 3 otherwise."""
    if any(c.sound.result == "refuted" for c in checks):
        return 1
    fine = all(c.sound.result == "proved" and c.consistent.result == "witnessed" for c in checks)
    return 0 if fine and checks else 3
