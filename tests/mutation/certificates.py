"""Says again what the files of a certificate have to ask, and compares what is written with it.

A question is given as a formula, which Z3 compares with the one that is written, or as whether it
is satisfiable, which cvc5 answers. A killer returns what differs, or nothing.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias
from unittest.mock import patch

import msgspec
import z3

from proofs.certificates import runs
from proofs.certificates.lemmas import Lemmas
from proofs.certificates.page import DataError, Page
from proofs.certificates.recheck import Solver, solved
from proofs.certificates.strategy import Strategy
from proofs.certificates.theorem import Theorem
from proofs.checks.control import CONTROLS, find
from proofs.checks.lemmas import Always, Lemma, Proven, Runs, Valid, lemmas_of
from proofs.engines.bounded.unrolling import Found
from proofs.engines.invariants.recheck import Invariant
from proofs.logic.encode import Integers
from proofs.model.of_mode import model_of
from proofs.receptiveness.check import receptive_questions
from spec.claims.states import Mode
from spec.contract.modes import Bundle

__all__ = ["lemmas", "receptive", "theorem", "witness"]

_CONTRACT: Final = Bundle.CONTRACT
_CLAIMED: Final = Invariant(
    lambda at: z3.Or(at["was.registered"], at["c.threshold"] < at["was.lead"])
)
"""It is none: each question about it is satisfiable."""
_Events: TypeAlias = list[dict[str, Any]]


def _event(kind: str, **fields: bool | int) -> dict[str, Any]:
    return {"kind": kind, "mine": True, "named": True, **fields}


_ONE: Final = {"c.threshold": 1}
_REGISTERED, _REPORTED = _event("claim_registered"), _event("claim_materialized")
_CACHED: Final = _event("block_cached", lead=1, restorable=True)
_GOOD: Final = [_REGISTERED, _CACHED, _REPORTED]
_RUNS: Final[tuple[tuple[_Events, list[str]], ...]] = (
    (_GOOD, []),
    ([_REGISTERED, _CACHED | {"lead": -1}], ["event 2", "end"]),  # impossible
    ([_REGISTERED, _REPORTED, _REGISTERED], ["event 2", "event 3", "end"]),  # a false report
    ([_REGISTERED, _CACHED], ["end"]),  # a report is owed
    ([_REGISTERED], ["end"]),
)
"""Runs of best_effort, and which questions about them are satisfiable."""
_STATES: Final = {0: ["first state", "event 1"], 3: ["event 3"]}
"""The same where one more block is held in a state of the good run."""
_EVENTS: Final = 64
_LARGEST: Final = _event("block_cached", lead=10**9)
_REFUSED: Final[tuple[tuple[dict[str, int], _Events], ...]] = (
    *((constants, [_LARGEST]) for constants in ({}, {"c.threshold": 0})),
    *((_ONE, [_LARGEST] * number) for number in (0, _EVENTS + 1)),
    *((_ONE, [_LARGEST | {"lead": lead}]) for lead in (10**9 + 1, -(10**9) - 1, True, "1")),
    *((_ONE, [_LARGEST | field]) for field in ({"kind": "block"}, {"size": 1}, {"mine": 1})),
)
"""Constants and events that are no run."""


def theorem() -> str:
    """The invariant of a theorem."""
    mode, part = Mode.EXPIRING, Theorem()
    asked = _of_invariant(model_of(mode, _CONTRACT, Integers()))
    return _differs(part, mode, part.written(mode, _CONTRACT, _CLAIMED), asked)


def receptive() -> str:
    """Receptiveness."""
    mode = Mode.BEST_EFFORT
    return _differs(Strategy(), mode, {}, {"receptive.smt2": receptive_questions(mode)})


def lemmas() -> str:
    """A lemma of each form, some of which do not hold."""
    mode, (x, y) = Mode.SOFT_PRIORITY, z3.Ints("x y")
    controls = CONTROLS[1:3]
    run = find(controls[:1])[0][controls[0].name]  # it is not the other one
    always = next(x.states for x in lemmas_of(Mode.HARD_PROTECTED) if isinstance(x.states, Always))
    valid = {"one, or more": x < y, "two": z3.Or(x < 0, x == y)}
    shown = {control.name: run for control in controls}
    stated: dict[str, tuple[Any, Proven]] = {
        "first, of all": (always, Proven("proved", _CLAIMED)),
        "no lemma": (Valid(lambda: valid, "two", {}), Proven("proved")),
        "runs": (Runs(controls, controls[0]), Proven("proved", None, shown)),
    }
    made = [Lemma(name, "", frozenset(), states) for name, (states, _) in stated.items()]
    proofs = {name: proven for name, (_, proven) in stated.items()}
    asked = {
        **_of_invariant(always.model(), "lemma.first-of-all."),
        "lemma.no-lemma.smt2": {name: z3.Not(formula) for name, formula in valid.items()},
        "lemma.runs.swapped.json": {},
        "lemma.runs.swapped.smt2": _answers(len(run.events), []),
        "lemma.runs.equal-one-first.json": {},
        "lemma.runs.equal-one-first.smt2": _answers(len(run.events), ["end"]),
    }
    with patch("proofs.certificates.lemmas.lemmas_of", return_value=made):
        return _differs(Lemmas(), mode, Lemmas().written(mode, proofs), asked)


def witness() -> str:
    """Runs that are good, bad, or none."""
    mode, part = Mode.BEST_EFFORT, runs.Witness()
    model = model_of(mode, _CONTRACT, Integers())
    plain = {n: n == "authorised" if z3.is_bool(v) else 0 for n, v in model.event("").items()}
    for events, satisfiable in _RUNS:
        kinds = [{"kind": model.alphabet.index(event["kind"])} for event in events]
        each = tuple(plain | event | kind for event, kind in zip(events, kinds, strict=True))
        written = part.written(mode, _CONTRACT, Found(each, (_ONE,)))
        read = msgspec.json.decode(written["witness.json"], type=runs.Run)
        if read != runs.Run(_ONE, events):
            return f"certificate: other events: {events}"
        asked = {"witness.json": {}, "witness.smt2": _answers(len(events), satisfiable)}
        if found := _differs(part, mode, written, asked):
            return f"{found} of {events}"
    for at, satisfiable in _STATES.items():
        replay = runs._Replay(model, runs.Run(_ONE, _GOOD), runs._satisfied)
        replay._states[at]["was.lead"] += 1
        if found := _asks(replay.page([]), _answers(len(_GOOD), satisfiable)):
            return f"certificate: state {at} {found}"
    runs._Replay(model, runs.Run(_ONE, [_LARGEST] * _EVENTS), runs._satisfied)
    for constants, events in _REFUSED:
        with suppress(DataError):
            content = msgspec.json.encode(runs.Run(constants, events))
            part.pages(mode, _CONTRACT, {"witness.json": content})
            return f"certificate: not refused: {constants}, {events[:1]}"
    return ""


def _answers(events: int, satisfiable: Container[str]) -> dict[str, bool]:
    names = ("first state", *(f"event {n + 1}" for n in range(events)), "end")
    return {name: name in satisfiable for name in names}


def _of_invariant(model: Any, prefix: str = "") -> dict[str, Any]:
    """The files of `_CLAIMED`, with their questions."""
    state = model.state("")
    step = model.step(state, model.event(""))
    after = {name: step.following.get(name, value) for name, value in state.items()}
    happens = z3.And(_CLAIMED.at(state), step.possible, *step.keeps.values())
    asked = {
        "initiation": z3.And(model.initial(state), z3.Not(_CLAIMED.at(state))),
        "consecution": z3.And(happens, z3.Not(_CLAIMED.at(after))),
        "implication": z3.And(happens, z3.Not(z3.And(*step.clauses.values()))),
    }
    files = {f"{prefix}{name}.smt2": {name: formula} for name, formula in asked.items()}
    return {f"{prefix}invariant.smt2": {}} | files


def _differs(
    part: Any, mode: Mode, written: Mapping[str, bytes], asked: Mapping[str, Mapping[str, Any]]
) -> str:
    """How the files differ from these; one without questions is data."""
    pages = part.pages(mode, _CONTRACT, {name: written[name] for name in part.data(mode)})
    if not [*pages] == [*part.names(mode)] == [*asked] or {*part.data(mode)} != {*written}:
        return f"certificate: other files: {', '.join(pages)}"
    for name, questions in asked.items():
        if found := _asks(pages[name], questions):
            return f"certificate: {name} {found}"
        if not questions and pages[name].content != written[name]:
            return f"certificate: {name} is changed"
    return ""


def _asks(page: Page, asked: Mapping[str, Any]) -> str:
    """How the questions of a page differ from these."""
    if [*page.questions] != [*asked]:
        return f"has other questions: {', '.join(page.questions)}"
    answer = solved("", "", page, Solver.CVC5) if asked else None
    if answer is not None and answer.unknown:
        return "is not answered"
    parts = page.content.decode().split("(check-sat)")
    for end, (name, wanted) in enumerate(asked.items(), start=1):
        if isinstance(wanted, bool):
            differs = answer is None or wanted is not (name in answer.sat)
        else:
            found = [*z3.parse_smt2_string("".join(parts[:end]))]
            differs = not _equal(found, wanted)
        if differs:
            return f"asks something else: {name}"
    return ""


def _equal(found: list[Any], wanted: Any) -> bool:
    """One formula is satisfiable, since all that are not are equal; of several each is compared."""
    if not isinstance(wanted, list):
        found, wanted = [z3.And(found)], [wanted]
        if _may(wanted[0]) != z3.sat:
            return False
    pairs = zip(found, wanted, strict=True)
    return len(found) == len(wanted) and all(_may(a != b) == z3.unsat for a, b in pairs)


def _may(formula: Any) -> Any:
    solver = z3.Solver()
    solver.add(formula)
    return solver.check()
