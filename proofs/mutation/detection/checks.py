"""The checks that detect mutants of observer rules, the strongest reason first.

Each check returns what it found, or None. Only the last one does not show which version is wrong.
"""

from __future__ import annotations

from functools import cache, wraps
from typing import TYPE_CHECKING, Final

from proofs.mutation.detection import of_changes
from proofs.mutation.detection.frame import refuted
from proofs.mutation.detection.of_changes import NOTICES
from proofs.mutation.detection.probes import TABLE_NOTICES
from proofs.mutation.mutants.delivery import DeliveryChange
from proofs.mutation.mutants.tables import TableChange
from proofs.mutation.mutants.trusted import Change, waits
from proofs.mutation.runs.judge import alike, breaches, is_faithful, judged, received, trail
from proofs.mutation.runs.lines import runs, traces
from spec.contract.environments import ENVIRONMENTS
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from proofs.mutation.mutants.rules import Mutant
    from proofs.mutation.runs.judge import Breach

    Tried = Mutant | Change | TableChange | DeliveryChange
    from proofs.mutation.runs.lines import Trace
    from spec.claims.states import Mode

__all__ = ["CHECKS", "forget"]


def forget() -> None:
    """Clear the caches of runs."""
    _breaking.cache_clear()
    _pins_of.cache_clear()
    of_changes.forget()


def structure(mutant: Mutant) -> str | None:
    """Its own validation rejects it."""
    try:
        _ = mutant.observer
    except ValueError as problem:
        return str(problem)
    return None


def theorem(mutant: Mutant) -> str | None:
    """A run keeps the mutant and the other obligations, and breaks a clause of the theorem.

    Only for the contract: the paper's bundles need not imply the theorem.
    """
    if mutant.bundle is Bundle.PAPER:
        return None
    for line, breach in _breaking(mutant.mode, mutant.original.name):
        steps = received(alike(mutant.mode), line)
        judge, own = mutant.judge, mutant.original.name
        if judge is None or _kept(own, judge.verdicts(steps), breach):
            return f"{breach.clause.name} fails after {line}"
    return None


@cache
def _breaking(mode: Mode, name: str) -> tuple[tuple[str, Breach], ...]:
    """Runs of the mode that break a clause and keep all obligations but one."""
    others = [other for other in MODES[mode].names() if other != name]
    return tuple(
        (line, breach)
        for line in runs()
        for breach in breaches(mode, line)
        if _in_world(mode, line, breach.number)
        and all(_kept(other, judged(alike(mode), other, line), breach) for other in others)
    )


def _in_world(mode: Mode, line: str, number: int) -> bool:
    if not is_faithful(alike(mode), line):
        return False
    events = [step[0] for step in received(alike(mode), line)[:number]]
    return all(e["kind"] in ENVIRONMENTS[mode] for e in events)


def _kept(name: str, found: Sequence[Verdict], breach: Breach) -> bool:
    """Nothing is violated up to the breach, and nothing is owed there that suspends the clause."""
    until = found[: breach.number]
    owed = waits(breach.clause, name) and until[-1] is Verdict.PENDING
    return not owed and Verdict.VIOLATED not in until


def hand(mutant: Mutant) -> str | None:
    """A hand-written trace of the test suite no longer gets its recorded verdict."""
    written = (t for t in traces() if t.mode == mutant.mode)
    return next((t.name for t in written if not _as_written(mutant, t)), None)


def _as_written(mutant: Mutant, trace: Trace) -> bool:
    """A kept trace has no violation, ends with nothing owed, and satisfies its obligation; a broken
    one violates its obligation, or another one if that was removed.
    """
    constants, own = alike(mutant.mode), mutant.original.name
    if mutant.judge is None:
        names = set(MODES[mutant.mode].names(mutant.bundle)) - {own}
        found = [judged(constants, name, line) for name in names for line in trace.lines]
        return trace.kept or own != trace.obligation or any(Verdict.VIOLATED in v for v in found)
    found = [tuple(mutant.judge.verdicts(received(constants, line))) for line in trace.lines]
    if not trace.kept:
        return own != trace.obligation or any(Verdict.VIOLATED in v for v in found)
    fine = all(Verdict.VIOLATED not in v and v[-1] is not Verdict.PENDING for v in found)
    return fine and (own != trace.obligation or any(Verdict.SATISFIED in v for v in found))


def pins(mutant: Mutant) -> str | None:
    """A run gets a verdict, at some event, that differs from the pinned one.

    For a removed obligation: a run that only it rejects is kept.
    """
    constants, name = alike(mutant.mode), mutant.original.name
    if mutant.judge is None:
        names = MODES[mutant.mode].names(mutant.bundle)
        alone = (line for line in runs() if _condemning(constants, names, line) == [name])
        return next(alone, None)
    for line, pinned in _pins_of(constants, name):
        if trail(mutant.judge.verdicts(received(constants, line))) != pinned:
            return line
    return None


def _condemning(constants: str, names: Iterable[str], line: str) -> list[str]:
    """The obligations that a run breaks; none if no faithful stream contains the run."""
    if not is_faithful(constants, line):
        return []
    return [n for n in names if Verdict.VIOLATED in judged(constants, n, line)]


def frame(mutant: Mutant) -> str | None:
    """The frame theorem is no longer proved for the changed delivery terms."""
    return None  # only for changes of these terms


def necessity(mutant: Mutant) -> str | None:
    """A run that one obligation forbids because of a clause no longer breaks the clause."""
    return None  # a changed rule leaves the clauses unchanged


def _either(name: str, check: Callable[[Mutant], str | None]) -> Callable[[Tried], str | None]:
    """Combine the checks of one name for mutants of rules and for other changes."""

    @wraps(check)
    def both(tried: Tried) -> str | None:
        match tried:
            case Change():
                return NOTICES[name](tried) if name in NOTICES else None
            case DeliveryChange():
                return refuted(tried) if name == "frame" else None
            case TableChange():
                return TABLE_NOTICES[name](tried) if name in TABLE_NOTICES else None
        return check(tried)

    return both


CHECKS: Final[dict[str, Callable[[Tried], str | None]]] = {
    "structure": _either("structure", structure),
    "theorem": _either("theorem", theorem),
    "frame": _either("frame", frame),
    "necessity": _either("necessity", necessity),
    "traces": _either("traces", hand),
    "pins": _either("pins", pins),
}
"""Each check by name, the strongest reason first."""


@cache
def _pins_of(constants: str, name: str) -> tuple[tuple[str, str], ...]:
    """Each run that a faithful stream may contain, with the pinned verdicts of an obligation: by
    its code, or by code and constants.
    """
    code = OBLIGATIONS[name].code
    return tuple(
        (line, pinned.get(code, pinned.get(f"{code}/{constants}", "")))
        for line, pinned in runs().items()
        if is_faithful(constants, line)
    )
