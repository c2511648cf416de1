"""The campaign: each mutant is killed by a named check, shown equivalent, or survives."""

from __future__ import annotations

import time
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

import msgspec

from proofs.mutation.checks import CHECKS
from proofs.mutation.judge import alike
from proofs.mutation.pins import unlike
from proofs.mutation.product import Compared, compare, difference, same_step
from spec.cli import Code
from spec.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from proofs.mutation.operators import Mutant

__all__ = ["EQUIVALENT", "KILLED", "SURVIVED", "UNKNOWN", "Fate", "campaign", "exit_code", "tally"]

KILLED, EQUIVALENT, SURVIVED, UNKNOWN = "killed", "equivalent", "survived", "unknown"


class Fate(msgspec.Struct, frozen=True):
    """What became of a mutant: killed, equivalent, survived or unknown.

    `by` are all checks that notice it, the strongest reason first; `detail` is what the first of
    them noticed, or else what the solver says of the mutant and its original.
    """

    mode: str
    mutant: str
    operator: str
    says: str
    result: str
    by: list[str]
    detail: str
    seconds: float


def campaign(mutants: Sequence[Mutant]) -> Iterator[Fate]:
    """Judge mutants, those of one obligation together; one fate for each, in any order.

    Raises:
        SpecError: the specification does not judge the runs as pinned, so they tell nothing.
    """
    if wrong := unlike():
        raise SpecError(
            f"{len(wrong)} runs of proofs/mutation are not judged as pinned; the first: {wrong[0]}",
            "if the new verdicts are right, python -m proofs.mutation.pins pins them",
        )

    def key(mutant: Mutant) -> tuple[str, str]:
        return alike(mutant.mode), mutant.original.name

    for _, group in groupby(sorted(mutants, key=key), key):
        yield from _judge(list(group))


def _judge(group: Sequence[Mutant]) -> Iterator[Fate]:
    """What no check notices is compared with its original, once for modes that are alike."""
    left: dict[str, list[Mutant]] = {}
    for mutant in group:
        started = time.perf_counter()
        noticed = dict(_noticed(mutant))
        if noticed:
            said = next(iter(noticed.values()))
            yield _fate(mutant, KILLED, list(noticed), said, started)
        elif mutant.observer is None:
            yield _fate(mutant, SURVIVED, [], "no run is condemned by it alone", started)
        else:
            left.setdefault(mutant.name, []).append(mutant)
    started = time.perf_counter()
    firsts = [same[0] for same in left.values()]
    observers = [first.observer for first in firsts if first.observer is not None]
    steps = same_step(firsts[0].mode, firsts[0].original, observers) if firsts else []
    for first, same in zip(firsts, steps, strict=True):
        result, detail = (EQUIVALENT, str(Compared.STEP)) if same else _compare(first)
        for mutant in left[first.name]:
            yield _fate(mutant, result, [], detail, started)
            started = time.perf_counter()


def _noticed(mutant: Mutant) -> Iterator[tuple[str, str]]:
    for name, check in CHECKS.items():
        said = check(mutant)
        if said is not None:
            yield name, said
            if name == "structure":  # there is nothing to judge runs with
                return


def _compare(mutant: Mutant) -> tuple[str, str]:
    assert mutant.observer is not None
    compared = compare(mutant.mode, mutant.original, mutant.observer)
    if compared is Compared.DIFFERENT:
        run = difference(mutant.mode, mutant.original, mutant.observer)
        return SURVIVED, compared if run is None else f"{compared}: {run}"
    return (EQUIVALENT if compared is Compared.RUN else UNKNOWN), str(compared)


def _fate(mutant: Mutant, result: str, by: list[str], detail: str, started: float) -> Fate:
    seconds = round(time.perf_counter() - started, 3)
    about = (str(mutant.mode), mutant.name, mutant.operator, mutant.says)
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
