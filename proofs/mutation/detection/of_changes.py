"""The checks that detect other mutants of the trusted definitions, strongest reason first.

Each check returns what it found, or None; `proofs.mutation.detection.checks` has the same names.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from proofs.mutation.detection.outcomes import Judged, judged_by, unchanged
from proofs.mutation.mutants.trusted import ORIGINAL, Change
from proofs.mutation.runs.judge import alike, is_faithful, trail
from proofs.mutation.runs.lines import read_run, runs, traces
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import Kind
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from proofs.mutation.detection.outcomes import Outcome

__all__ = ["NOTICES", "distinguishes", "forget", "noticed", "pinned_of"]


def noticed(change: Change) -> Iterator[tuple[str, str]]:
    """The checks that detect a change, by name, with what each found."""
    for name, check in NOTICES.items():
        found = check(change)
        if found is not None:
            yield name, found
            if name == "structure":  # nothing to judge runs with
                return


def _structure(change: Change) -> str | None:
    """Validation rejects it."""
    return change.structure


@lru_cache(1)
def _judged(change: _Same) -> Judged:
    return judged_by(change.change.after)


class _Same:
    """A change with identity as its hash: its contents are not hashable."""

    def __init__(self, change: Change) -> None:
        self.change = change

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.change is self.change

    def __hash__(self) -> int:
        return id(self.change)


def _theorem(change: Change) -> str | None:
    """With the change, a run keeps every obligation and breaks a clause of the theorem."""
    judged = _judged(_Same(change))
    for mode, line, name in _suspects(judged):
        clause = next(c for c in judged.trusted.clauses[mode] if c.name == name)
        outcome = judged.outcome(mode, line)
        for number in outcome.fails[name]:
            if not outcome.keeps(number):
                break
            if outcome.owes(clause, number):
                continue
            if outcome.ends and outcome.ends <= number:
                break
            if _kinds(line, number) <= judged.trusted.kinds[mode]:
                return f"{mode}: {clause.name} fails after {line}"
    return None


def _suspects(judged: Judged) -> Iterator[tuple[Mode, str, str]]:
    """Runs, and clauses that may fail in them while every obligation is kept."""
    touched = judged.touched
    for mode in filter(judged.concerns, Mode):
        others = {c.name for c in judged.trusted.clauses.get(mode, ())}
        if not judged.theorem_differs:
            for line in runs():
                if judged.ledgers_differ(mode, line):
                    yield from ((mode, line, name) for name in others)
            for line, name, violated in _broken(mode):
                free = judged.faithfulness_differs or violated
                if free and violated <= touched and not judged.ledgers_differ(mode, line):
                    yield mode, line, name
        elif judged.theorem_differs_in(mode):
            yield from ((mode, line, name) for line in runs() for name in others)


@cache
def _broken(mode: Mode) -> tuple[tuple[str, str, frozenset[str]], ...]:
    """Runs and clauses that fail in them, with the obligations violated before."""
    found = []
    for line in runs():
        outcome = unchanged().outcome(mode, line)
        for name, numbers in outcome.fails.items():
            sets = [frozenset(outcome.violated(number)) for number in numbers]
            found += [(line, name, each) for each in dict.fromkeys(sets)]
    return tuple(found)


def _necessity(change: Change) -> str | None:
    """A run that only one obligation forbids, and that broke a clause, no longer breaks it.

    So the theorem needs fewer obligations than stated.
    """
    judged = _judged(_Same(change))
    if judged.observers_differ or not judged.theorem_differs:
        return None
    for mode, line, name, clause in _needed():
        after = judged.outcome(mode, line)
        changed = next((c for c in judged.trusted.clauses[mode] if c.name == clause), None)
        if changed is not None and not after.breaks(changed):
            return f"{mode}: {clause} no longer needs {name} in {line}"
    return None


@cache
def _kinds(line: str, number: int) -> frozenset[Kind]:
    return frozenset(event["kind"] for event in read_run(line).events[:number])


@cache
def _needed() -> tuple[tuple[Mode, str, str, str], ...]:
    """Runs that keep all obligations but one and break a clause, with both names."""
    found = []
    for mode in Mode:
        for line in runs():
            outcome = unchanged().outcome(mode, line)
            for clause in ORIGINAL.clauses.get(mode, ()):
                for number in outcome.breaks(clause)[:1]:
                    broken = outcome.violated(number)
                    possible = not outcome.ends or number < outcome.ends
                    if len(broken) == 1 and possible:
                        found.append((mode, line, broken[0], clause.name))
    return tuple(found)


def _traces(change: Change) -> str | None:
    """A hand-written trace of the test suite no longer gets its recorded verdict."""
    judged = _judged(_Same(change))
    if not judged.observers_differ:
        return None
    for trace in traces():
        mode = Mode(trace.mode)
        found = [judged.outcome(mode, line) for line in trace.lines]
        own = [outcome.verdicts(trace.obligation) for outcome in found]
        if trace.kept:
            last = [o.verdicts(name)[-1] for o in found for name in MODES[mode].names()]
            fine = not {Verdict.VIOLATED, Verdict.PENDING} & set(last)
            fine = fine and any(Verdict.SATISFIED in trails for trails in own)
        else:
            fine = any(Verdict.VIOLATED in trails for trails in own)
        if not fine:
            return trace.name
    return None


def _pins(change: Change) -> str | None:
    """The outcome of a run differs, at some event, from the pinned one."""
    judged = _judged(_Same(change))
    gone = _gone(judged)
    if gone is not None:
        return gone
    for mode, line in _where(judged):
        if _otherwise(judged, mode, line):
            return f"{mode}: {line}"
    return None


def _otherwise(judged: Judged, mode: Mode, line: str) -> bool:
    """Whether the outcome of a run in a mode differs from the pinned one."""
    outcome, pinned = judged.outcome(mode, line), _pinned(mode, line)
    if not judged.inputs_differ(mode, line):
        return judged.faithfulness_differs and str(outcome.ends or "") != pinned.get("world", "")
    return pinned_of(mode, line, outcome, judged) != pinned


def distinguishes(change: Change, line: str) -> bool:
    """Whether the outcome of a run differs in some mode between original and change."""
    judged, known = _judged(_Same(change)), unchanged()
    for mode in filter(judged.concerns, Mode):
        if judged.inputs_differ(mode, line):
            after = pinned_of(mode, line, judged.outcome(mode, line), judged)
            if after != pinned_of(mode, line, known.outcome(mode, line), known):
                return True
        elif judged.faithfulness_differs and judged.ends(mode, line) != known.ends(mode, line):
            return True
    return False


def forget() -> None:
    """Clear the caches of runs."""
    for known in (_needed, _broken, _pinned, _kinds):
        known.cache_clear()
    _judged.cache_clear()


def _gone(judged: Judged) -> str | None:
    """A run that the theorem covered, and no longer covers."""
    for mode, kinds in judged.trusted.kinds.items():
        gone = ORIGINAL.kinds[mode] - kinds
        for line in runs() if gone else ():
            ends = unchanged().outcome(mode, line).ends
            if not ends and any(event["kind"] in gone for event in read_run(line).events):
                return f"{mode}: {line}"
    return None


def pinned_of(mode: Mode, line: str, outcome: Outcome, judged: Judged) -> dict[str, str]:
    """The pins of a run in a mode: where it stops being faithful, or else its verdicts and the
    events at which clauses fail.
    """
    found = {"world": str(outcome.ends)} if outcome.ends else {}
    if not is_faithful(alike(mode), line):
        return found
    for name in MODES[mode].names():
        if changes := trail(outcome.verdicts(name)):
            found[OBLIGATIONS[name].code] = changes
    for clause in judged.trusted.clauses.get(mode, ()):
        if fails := outcome.breaks(clause):
            found[f"{mode}.{clause.name}"] = " ".join(map(str, fails))
    return found


NOTICES: Final[dict[str, Callable[[Change], str | None]]] = {
    "structure": _structure,
    "theorem": _theorem,
    "necessity": _necessity,
    "traces": _traces,
    "pins": _pins,
}


@cache
def _pinned(mode: Mode, line: str) -> dict[str, str]:
    """The pins of a run that are about a mode."""
    own, found = {OBLIGATIONS[name].code for name in MODES[mode].names()}, {}
    for key, pin in runs()[line].items():
        name, _, constants = key.partition("/")
        about = name.startswith(f"{mode}.") or name in own or name == "world"
        if about and constants in {"", alike(mode)}:
            found[name] = pin
    if not is_faithful(alike(mode), line):
        return {name: pin for name, pin in found.items() if name == "world"}
    return found


def _where(judged: Judged) -> Iterator[tuple[Mode, str]]:
    """The runs whose outcome may have changed."""
    return ((mode, line) for mode in filter(judged.concerns, Mode) for line in runs())
