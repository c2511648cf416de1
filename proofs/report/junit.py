"""Writes checks as JUnit XML, one case for each mode and part of its theorem."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from proofs.report.results import NOT_FOUND
from spec.cli.junit import JunitCase, junit_suite
from spec.language.prose import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from proofs.checks.coverage import Reached
    from proofs.report.results import Check

__all__ = ["to_junit"]

_LIMIT = "the work limit was reached"


def to_junit(checks: list[Check]) -> bytes:
    """One test suite; a refuted part is a failure, an undecided one an error.

    The result for the paper's bundle never fails, nor does an obligation known to be redundant.
    """
    return junit_suite("resident-claims proofs", chain.from_iterable(map(_cases, checks)))


def _cases(check: Check) -> Iterator[JunitCase]:
    case, sound = partial(JunitCase, f"{check.mode}.{check.bundle}"), check.sound
    yield case(
        "consistent",
        check.consistent.seconds,
        error={
            "unknown": _LIMIT,
            NOT_FOUND: f"no witness of up to {counted(check.consistent.depth, 'event')}",
        }.get(check.consistent.result, ""),
    )
    yield case(
        "sound",
        sound.seconds,
        failure=f"refuted: {', '.join(sound.failed)}" if sound.result == "refuted" else "",
        details="\n".join(f"{line.number} {line.kind}" for line in sound.story),
        error={"unknown": _LIMIT, "bounded": "shown only within a bound"}.get(sound.result, ""),
    )
    for each in check.consistent.scenarios or ():
        yield case(
            f"scenario.{each.story}",
            each.seconds,
            failure=f"no run of up to {each.depth} events" if each.result == NOT_FOUND else "",
            error=_LIMIT if each.result == "unknown" else "",
            output=_said(each.result, each.depth),
        )
    if check.consistent.reached is not None:
        yield from _covered(case, check.consistent.reached)
    if (receptive := check.receptive) is not None:
        yield case(
            "receptive",
            receptive.seconds,
            failure=", ".join(receptive.failed) if receptive.result == "refuted" else "",
            error=_LIMIT if receptive.result == "unknown" else "",
        )
    shown = [(f"statement.{each.name}", each.result) for each in check.statement]
    shown += [(f"lemma.{each.name}", each.result) for each in check.lemmas]
    for name, result in shown:
        yield case(
            name,
            failure="it fails" if result == "failed" else "",
            error=_LIMIT if result == "unknown" else "",
        )
    for name, clause in (check.paper.clauses if check.paper else {}).items():
        yield case(f"paper.{name}", output=_said(clause.result, clause.length))
    changed = [*check.redundancy.unasked, *check.redundancy.needed]
    yield case(
        "redundancy",
        failure=f"not as known: {', '.join(changed)}" if changed else "",
        output=f"known to be redundant: {', '.join(check.redundancy.known) or 'none'}",
    )
    for part, found in (("necessary", check.necessary), ("guard", check.guards or {})):
        for name, without in found.items():
            yield case(
                f"{part}.{name}",
                error=_LIMIT if without.result == "unknown" else "",
                output=_said(without.result, without.length),
            )


def _covered(case: Callable[..., JunitCase], reached: Reached) -> Iterator[JunitCase]:
    unexplained = [*reached.missing, *(name for name, why in reached.dead.items() if not why)]
    yield case(
        "reached",
        reached.seconds,
        failure=f"unexplained: {', '.join(unexplained)}" if unexplained else "",
        error="" if reached.complete else _LIMIT,
        output=f"{len(reached.fewest)} reached, {len(reached.dead)} out of reach",
    )
    yield case(
        "compared",
        failure=f"never compared: {', '.join(reached.uncompared)}" if reached.uncompared else "",
        output=f"{len(reached.compared)} ways in which a clause could fail",
    )


def _said(result: str, length: int | None) -> str:
    return result if length is None else f"{result}: {length} events"
