"""Runs a mutation campaign: each mutant is killed by a check, proved equivalent, or survives."""

from __future__ import annotations

import time
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

import msgspec

from proofs.mutation.detection.checks import CHECKS
from proofs.mutation.equivalence.of_changes import compare_change, shown_same
from proofs.mutation.equivalence.product import Compared, compare, difference, same_step
from proofs.mutation.mutants.changes import PARTS, changes
from proofs.mutation.mutants.delivery import PART as DELIVERY
from proofs.mutation.mutants.delivery import DeliveryChange, delivery_changes
from proofs.mutation.mutants.rules import Mutant, mutants
from proofs.mutation.mutants.tables import PART as LOWERING
from proofs.mutation.mutants.tables import TableChange, table_changes
from proofs.mutation.mutants.trusted import Change
from proofs.mutation.pins import unlike
from proofs.mutation.runs.judge import alike
from spec.claims.states import Mode
from spec.cli.common import Code
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = [
    "EQUIVALENT",
    "KILLED",
    "PLACES",
    "SURVIVED",
    "UNKNOWN",
    "Fate",
    "Tried",
    "campaign",
    "everything",
    "exit_code",
    "key_of",
    "tally",
]

Tried = Mutant | Change | DeliveryChange | TableChange
"""What a campaign tries: a mutant of an obligation, or a change of what else is trusted."""

PLACES: tuple[str, ...] = (*Mode, *PARTS, DELIVERY, LOWERING)
"""Where something can be changed: the obligations of a mode, or a part of what is shared."""


def everything(place: str) -> Sequence[Tried]:
    """All mutants of a mode, or of a part shared by all modes."""
    if place == LOWERING:
        return table_changes()
    if place == DELIVERY:
        return delivery_changes()
    return changes(place) if place in PARTS else tuple(mutants(Mode(place)))


KILLED, EQUIVALENT, SURVIVED, UNKNOWN = "killed", "equivalent", "survived", "unknown"


class Fate(msgspec.Struct, frozen=True):
    """The result for a mutant: killed, equivalent, survived or unknown.

    `mode` is that of a mutant, or the part of a change. `by` are all checks that detect it, the
    strongest reason first; `detail` is what the first of them found, or the solver's answer about
    equivalence.
    """

    mode: str
    mutant: str
    operator: str
    says: str
    result: str
    by: list[str]
    detail: str
    seconds: float


def campaign(tried: Sequence[Tried]) -> Iterator[Fate]:
    """Judge mutants, grouped by obligation; yields one result for each, in any order.

    Raises:
        SpecError: the specification itself does not give the pinned verdicts.
    """
    if wrong := unlike():
        raise SpecError(
            f"{len(wrong)} runs of proofs/mutation are not judged as pinned; the first: {wrong[0]}",
            "if the new verdicts are right, python -m proofs.mutation.pins pins them",
        )

    def key(mutant: Mutant) -> tuple[str, str]:
        return alike(mutant.mode), mutant.original.name

    rules = [each for each in tried if isinstance(each, Mutant)]
    for _, group in groupby(sorted(rules, key=key), key):
        yield from _judge(list(group))
    yield from _judge_changes([each for each in tried if not isinstance(each, Mutant)])


def _judge_changes(changes: Sequence[Change | DeliveryChange | TableChange]) -> Iterator[Fate]:
    """Changes that no check detects are compared with the original, without a search if
    possible.
    """
    left: list[Change] = []
    for change in changes:
        started = time.perf_counter()
        about = (change.part, change.name, change.operator, change.says)
        noticed = dict(_noticed(change))
        if noticed:
            yield _fate(about, KILLED, list(noticed), next(iter(noticed.values())), started)
        elif isinstance(change, TableChange):
            yield _fate(about, SURVIVED, [], "no probe detects it", started)
        elif isinstance(change, DeliveryChange):
            yield _fate(about, EQUIVALENT, [], str(Compared.FRAME), started)
        else:
            left.append(change)
    started = time.perf_counter()
    for change, same in zip(left, shown_same(left), strict=True):
        about = (change.part, change.name, change.operator, change.says)
        result, detail = (
            (EQUIVALENT, str(Compared.REACHED)) if same else _explained(*compare_change(change))
        )
        yield _fate(about, result, [], detail, started)
        started = time.perf_counter()


_RESULT = {
    Compared.STEP: EQUIVALENT,
    Compared.REACHED: EQUIVALENT,
    Compared.RUN: EQUIVALENT,
    Compared.DIFFERENT: SURVIVED,
    Compared.UNKNOWN: UNKNOWN,
}


def _judge(group: Sequence[Mutant]) -> Iterator[Fate]:
    """Mutants that no check detects are compared with the original, once for equivalent modes."""
    left: dict[str, list[Mutant]] = {}
    for mutant in group:
        started = time.perf_counter()
        noticed = dict(_noticed(mutant))
        if noticed:
            detail = next(iter(noticed.values()))
            yield _fate(_about(mutant), KILLED, list(noticed), detail, started)
        elif mutant.observer is None:
            yield _fate(_about(mutant), SURVIVED, [], "no run is condemned by it alone", started)
        else:
            left.setdefault(mutant.name, []).append(mutant)
    started = time.perf_counter()
    firsts = [same[0] for same in left.values()]
    observers = [first.observer for first in firsts if first.observer is not None]
    steps = same_step(firsts[0].mode, firsts[0].original, observers) if firsts else []
    for first, same in zip(firsts, steps, strict=True):
        result, detail = (EQUIVALENT, str(same)) if same is not None else _compare(first)
        for mutant in left[first.name]:
            yield _fate(_about(mutant), result, [], detail, started)
            started = time.perf_counter()


def _noticed(mutant: Tried) -> Iterator[tuple[str, str]]:
    for name, check in CHECKS.items():
        found = check(mutant)
        if found is not None:
            yield name, found
            if name == "structure":  # nothing to judge runs with
                return


def _compare(mutant: Mutant) -> tuple[str, str]:
    assert mutant.observer is not None
    compared = compare(mutant.mode, mutant.original, mutant.observer)
    different = compared is Compared.DIFFERENT
    run = difference(mutant.mode, mutant.original, mutant.observer) if different else None
    return _explained(compared, run)


def _explained(compared: Compared, run: str | None) -> tuple[str, str]:
    """The result of a comparison, with its detail."""
    return _RESULT[compared], str(compared) if run is None else f"{compared}: {run}"


def key_of(tried: Tried) -> tuple[str, str]:
    """The key of a result: the mode or part, and the name of the mutant."""
    return (str(tried.mode) if isinstance(tried, Mutant) else tried.part), tried.name


def _about(mutant: Mutant) -> tuple[str, str, str, str]:
    return str(mutant.mode), mutant.name, mutant.operator, mutant.says


def _fate(
    about: tuple[str, str, str, str], result: str, by: list[str], detail: str, started: float
) -> Fate:
    seconds = round(time.perf_counter() - started, 3)
    return Fate(*about, result, by, detail, seconds)


def tally(fates: Iterable[Fate]) -> dict[str, int]:
    """How many were killed, by the strongest check; and how many have each other result."""
    found = Counter(fate.by[0] if fate.by else fate.result for fate in fates)
    return {name: found[name] for name in (*CHECKS, EQUIVALENT, SURVIVED, UNKNOWN)}


def exit_code(fates: Sequence[Fate], wanted: int) -> Code:
    """OK if each of the mutants was killed or is equivalent; a survivor outweighs all else."""
    results = {fate.result for fate in fates}
    if SURVIVED in results:
        return Code.VIOLATED
    done = bool(fates) and len(fates) == wanted and UNKNOWN not in results
    return Code.OK if done else Code.INCONCLUSIVE
