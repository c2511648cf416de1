"""What `check` answers, as it is published."""

from __future__ import annotations

from typing import Any

import msgspec

from proofs.checks.coverage import Reached
from proofs.checks.receptiveness import Receptive
from proofs.checks.redundancy import Redundancy
from proofs.checks.results import Lacking, Leaned, Paper, Sound
from proofs.traces.narrative import Line
from proofs.traces.scenario_search import Tale
from spec.events.canonical import Event

__all__ = ["SCHEMA", "Added", "Check", "Checks", "Consistent", "exit_code", "proof_schema"]

SCHEMA = "resident-claims/proof/1"


class Consistent(msgspec.Struct, frozen=True):
    """`witnessed` with a shortest run in which every obligation is exercised and satisfied.

    `vacuous`: there is none of up to `depth` events. `unknown`: the work limit was reached.
    `tales` are the runs that tell the mode's whole story, `reached` says which states and rules
    some run of the contract exercises; both are about the contract, whichever bundle is checked.
    """

    result: str
    depth: int
    witness: list[Event]
    story: list[Line]
    seconds: float
    tales: list[Tale]
    reached: Reached


class Added(msgspec.Struct, frozen=True):
    """An obligation that the contract adds to the paper's bundle."""

    obligation: str
    why: str


class Check(msgspec.Struct, frozen=True):
    """One mode, by one bundle; `readings` names the choices under which the result holds, and
    `world` the kinds of events that there are in it.

    `paper`, `added`, `necessary` and `guards` compare the two bundles and take the contract apart,
    whichever bundle is checked.

    `core` gives for each clause obligations from which alone it is proved, and `in_every_core`
    those of them that no such set can do without; `unused` are the rules of which these proofs make
    no use. All three speak of the contract, and are empty unless an invariant proves it.
    `certificate` is the folder of the certificate, where one was written.
    """

    mode: str
    bundle: str
    readings: list[str]
    world: list[str]
    obligations: list[str]
    consistent: Consistent
    sound: Sound
    receptive: Receptive
    lemmas: list[Leaned]
    paper: Paper
    added: list[Added]
    necessary: dict[str, Lacking]
    redundancy: Redundancy
    guards: dict[str, Lacking]
    core: dict[str, list[str]]
    in_every_core: dict[str, list[str]]
    unused: list[str]
    certificate: str | None = None


class Checks(msgspec.Struct, frozen=True):
    """The published form of a run of `python -m proofs check`."""

    schema: str
    tool: str
    spec: str
    checks: list[Check]


def proof_schema() -> dict[str, Any]:
    """The JSON Schema of `Checks`."""
    return msgspec.json.schema(Checks)


def exit_code(checks: list[Check]) -> int:
    """0 if each mode is witnessed, told, proved and receptive, 1 if one is refuted, 3 otherwise.

    A mode is refuted, too, where a lemma fails, where no run compares a clause, and where an
    obligation has become redundant of which that is not known, or is needed again. A gap in the
    paper's bundle is no failure unless that is the bundle which was asked about.
    """
    if any(map(_refuted, checks)):
        return 1
    return 0 if checks and all(map(_holds, checks)) else 3


def _refuted(check: Check) -> bool:
    reached, redundancy = check.consistent.reached, check.redundancy
    return (
        "refuted" in (check.sound.result, check.receptive.result)
        or any(lemma.result == "failed" for lemma in check.lemmas)
        or bool(reached.uncompared and reached.complete)
        or bool(redundancy.unasked or redundancy.needed)
    )


def _holds(check: Check) -> bool:
    found = check.consistent
    return (
        check.sound.result == check.receptive.result == "proved"
        and all(lemma.result == "proved" for lemma in check.lemmas)
        and found.result == "witnessed"
        and all(tale.result == "told" for tale in found.tales)
        and found.reached.explained
        and not check.redundancy.undecided
    )
