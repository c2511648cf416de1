"""Writes checks as JUnit XML, one case for each mode and part of its theorem."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from proofs.report.results import NOT_FOUND
from spec.cli.junit import JunitCase, junit_suite
from spec.language.prose import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proofs.checks.coverage import Reached
    from proofs.report.results import Check
    from proofs.traces.narrative import Line

__all__ = ["to_junit"]

_LIMIT = "the work limit was reached"


class _Case(NamedTuple):
    name: str
    seconds: float = 0.0
    failure: str = ""
    story: tuple[Line, ...] = ()
    error: str = ""
    said: str = ""


def to_junit(checks: list[Check]) -> bytes:
    """One test suite; a refuted part is a failure, an undecided one an error.

    The result for the paper's bundle never fails, nor does an obligation known to be redundant.
    """
    cases = [_written(check, case) for check in checks for case in _cases(check)]
    return junit_suite("resident-claims proofs", cases)


def _written(check: Check, case: _Case) -> JunitCase:
    return JunitCase(
        f"{check.mode}.{check.bundle}",
        case.name,
        case.seconds,
        failure=case.failure,
        details="\n".join(f"{line.number} {line.kind}" for line in case.story),
        error=case.error,
        output=case.said,
    )


def _cases(check: Check) -> Iterator[_Case]:
    sound = check.sound
    yield _Case(
        "consistent",
        check.consistent.seconds,
        error={
            "unknown": _LIMIT,
            NOT_FOUND: f"no witness of up to {counted(check.consistent.depth, 'event')}",
        }.get(check.consistent.result, ""),
    )
    yield _Case(
        "sound",
        sound.seconds,
        failure=f"refuted: {', '.join(sound.failed)}" if sound.result == "refuted" else "",
        story=tuple(sound.story),
        error={"unknown": _LIMIT, "bounded": "shown only within a bound"}.get(sound.result, ""),
    )
    for each in check.consistent.scenarios or ():
        yield _Case(
            f"scenario.{each.story}",
            each.seconds,
            failure=f"no run of up to {each.depth} events" if each.result == NOT_FOUND else "",
            error=_LIMIT if each.result == "unknown" else "",
            said=_said(each.result, each.depth),
        )
    if check.consistent.reached is not None:
        yield from _covered(check.consistent.reached)
    if (receptive := check.receptive) is not None:
        yield _Case(
            "receptive",
            receptive.seconds,
            failure=", ".join(receptive.failed) if receptive.result == "refuted" else "",
            error=_LIMIT if receptive.result == "unknown" else "",
        )
    shown = [(f"statement.{each.name}", each.result) for each in check.statement]
    shown += [(f"lemma.{each.name}", each.result) for each in check.lemmas]
    for name, result in shown:
        yield _Case(
            name,
            failure="it fails" if result == "failed" else "",
            error=_LIMIT if result == "unknown" else "",
        )
    for name, clause in (check.paper.clauses if check.paper else {}).items():
        yield _Case(f"paper.{name}", said=_said(clause.result, clause.length))
    changed = [*check.redundancy.unasked, *check.redundancy.needed]
    yield _Case(
        "redundancy",
        failure=f"not as known: {', '.join(changed)}" if changed else "",
        said=f"known to be redundant: {', '.join(check.redundancy.known) or 'none'}",
    )
    for part, found in (("necessary", check.necessary), ("guard", check.guards or {})):
        for name, without in found.items():
            yield _Case(
                f"{part}.{name}",
                error=_LIMIT if without.result == "unknown" else "",
                said=_said(without.result, without.length),
            )


def _covered(reached: Reached) -> Iterator[_Case]:
    unexplained = [*reached.missing, *(name for name, why in reached.dead.items() if not why)]
    yield _Case(
        "reached",
        reached.seconds,
        failure=f"unexplained: {', '.join(unexplained)}" if unexplained else "",
        error="" if reached.complete else _LIMIT,
        said=f"{len(reached.fewest)} reached, {len(reached.dead)} out of reach",
    )
    yield _Case(
        "compared",
        failure=f"never compared: {', '.join(reached.uncompared)}" if reached.uncompared else "",
        said=f"{len(reached.compared)} ways in which a clause could fail",
    )


def _said(result: str, length: int | None) -> str:
    return result if length is None else f"{result}: {length} events"
