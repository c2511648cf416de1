"""The campaign: each mutant is killed by a named check, shown equivalent, or survives."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from proofs.mutation.checks import CHECKS
from proofs.mutation.corpus import corpus
from proofs.mutation.operators import mutants
from proofs.mutation.product import Argument, equivalent
from proofs.mutation.trails import constants, made, pinned
from spec.digest import spec_digest
from spec.errors import OutputError, SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from proofs.mutation.operators import Mutant
    from spec.claims import Mode

__all__ = ["Campaign", "Fate", "campaign", "count", "exit_code", "expect_pinned", "judge"]

KILLED, EQUIVALENT, SURVIVED = "killed", "equivalent", "survived"
_BEFORE = ("structure", "stories")
_SHARED = (*_BEFORE, "")  # checks, or none, whose answer is the same wherever constants are


class Fate(msgspec.Struct, frozen=True):
    """What became of a mutant. `by` is the check that killed it, and `detail` what it noticed;
    for an equivalent one `detail` is the argument."""

    spec: str
    mode: str
    mutant: str
    operator: str
    says: str
    result: str
    by: str
    detail: str
    seconds: float


class Campaign(msgspec.Struct, frozen=True):
    """All fates, and how many mutants were left out by a limit."""

    fates: list[Fate]
    left: int


def judge(mutant: Mutant) -> tuple[str, str, str]:
    """Result, check and detail of one mutant.

    Equivalence is tried before the checks that search, which an equivalent mutant would pass; where
    it rests on what a reader works out, after the theorem, which is stronger.
    """
    for name in _BEFORE:
        if (found := CHECKS[name](mutant)) is not None:
            return KILLED, name, found
    if (argument := _argument(mutant)) is not None:
        return EQUIVALENT, "", argument
    if (found := CHECKS["theorem"](mutant)) is not None:
        return KILLED, "theorem", found
    if (argument := _argument(mutant, derived=True)) is not None:
        return EQUIVALENT, "", argument
    if (found := CHECKS["consistency"](mutant)) is not None:
        return KILLED, "consistency", found
    return SURVIVED, "", ""


def _argument(mutant: Mutant, *, derived: bool = False) -> Argument | None:
    if mutant.rules is None:
        return None
    return equivalent(mutant.mode, mutant.original, mutant.observer(), derived=derived)


def campaign(
    modes: Sequence[Mode],
    resume: Path | None = None,
    limit: int | None = None,
    progress: Callable[[Fate], None] = lambda _: None,
) -> Campaign:
    """Judge every mutant of these modes; modes that an observer cannot tell apart share a fate
    that needs no search.

    Args:
        resume: a file of fates to go on from and to add to.
        limit: judge no more than so many that the file does not have.
        progress: told each fate.
    """
    expect_pinned()
    known = _read(resume)
    alike: dict[tuple[str, str], tuple[str, str, str]] = {}
    fates: list[Fate] = []
    fresh = 0
    for mutant in (m for mode in modes for m in mutants(mode)):
        key = (constants(mutant.mode), mutant.name)
        fate = known.get((mutant.mode, mutant.name))
        if fate is None:
            if limit is not None and fresh >= limit:
                continue
            fresh += 1
            fate = _fate(mutant, alike.get(key))
            _append(resume, fate)
        shared = fate.by in _SHARED and fate.result != SURVIVED and fate.detail != Argument.READ
        if mutant.rules is not None and shared:
            alike[key] = (fate.result, fate.by, fate.detail)
        fates.append(fate)
        progress(fate)
    return Campaign(fates, count(modes) - len(fates))


def count(modes: Iterable[Mode]) -> int:
    """How many mutants there are."""
    return sum(1 for mode in modes for _ in mutants(mode))


def expect_pinned() -> None:
    """The specification as it stands gives the pinned verdicts.

    Raises:
        SpecError: it does not, so no mutant can be told by them.
    """
    for alike, trails in made().items():
        for name, found in trails.items():
            kept = pinned().get(alike, {}).get(name, {})
            wrong = [line for line in {**found, **kept} if found.get(line) != kept.get(line)]
            if wrong:
                raise SpecError(
                    f"{name} no longer judges {wrong[0]!r} as pinned in proofs/mutation",
                    "if the new verdict is right, python -m proofs.mutation.trails pins it",
                )


def tally(fates: Iterable[Fate]) -> Counter[str]:
    """How many were killed by each check, are equivalent, and survived."""
    return Counter(fate.by or fate.result for fate in fates)


def exit_code(done: Campaign) -> int:
    """0 if each mutant was killed or is equivalent, 1 if one survived, 3 if some were left out."""
    if any(fate.result == SURVIVED for fate in done.fates):
        return 1
    return 3 if done.left else 0


def _fate(mutant: Mutant, same: tuple[str, str, str] | None) -> Fate:
    started = time.perf_counter()
    result, by, detail = same or judge(mutant)
    seconds = round(time.perf_counter() - started, 3)
    return Fate(
        spec_digest(),
        mutant.mode,
        mutant.name,
        mutant.operator,
        mutant.says,
        result,
        by,
        detail,
        seconds,
    )


def _read(path: Path | None) -> dict[tuple[str, str], Fate]:
    """The fates of this specification in a file. Survivors are tried again, and so is what a
    stream killed that the corpus no longer has; a last line that was cut short is left out."""
    if path is None or not path.exists():
        return {}
    try:
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            path.write_bytes(whole)
    except OSError as problem:
        raise OutputError(f"cannot read {path}: {problem.strerror}", "name another file") from None
    lines = {told.line for told in corpus()}
    fates = (_fate_in(path, n, line) for n, line in enumerate(whole.splitlines(), start=1))
    return {
        (fate.mode, fate.mutant): fate
        for fate in fates
        if fate.spec == spec_digest()
        and fate.result != SURVIVED
        and (fate.by != "stories" or fate.detail in lines)
    }


def _fate_in(path: Path, number: int, line: bytes) -> Fate:
    try:
        return msgspec.json.decode(line, type=Fate)
    except msgspec.DecodeError as problem:
        raise SpecError(f"{path}, line {number}: {problem}", "name another file") from None


def _append(path: Path | None, fate: Fate) -> None:
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(msgspec.json.encode(fate) + b"\n")
    except OSError as problem:
        raise OutputError(f"cannot write {path}: {problem.strerror}", "name another file") from None
