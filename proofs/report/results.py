"""The published result of `check`."""

from __future__ import annotations

from typing import Any

import msgspec

from proofs.checks.coverage import Reached
from proofs.checks.redundancy import Redundancy
from proofs.checks.results import Lacking, Leaned, Paper, Sound
from proofs.receptiveness.check import Receptive
from proofs.traces.narrative import Line
from proofs.traces.scenario_search import FoundScenario
from spec.events.canonical import Event

__all__ = ["NOT_FOUND", "SCHEMA", "Added", "Check", "Checks", "Consistent", "proof_schema"]

SCHEMA = "resident-claims/proof/2"
NOT_FOUND = "not found"
"""The result where no witness is as short as was asked; a longer one may exist."""


class Consistent(msgspec.Struct, frozen=True):
    """`witnessed` with a shortest run in which every obligation is exercised and satisfied.

    `not found`: there is none of up to `depth` events. `unknown`: the work limit was reached.
    `tales` are the runs of the mode's scenarios, `reached` lists the states and rules that some
    run of the contract exercises. Both are about the contract, whichever bundle is checked, and
    null if not requested.
    """

    result: str
    depth: int
    witness: list[Event]
    story: list[Line]
    seconds: float
    scenarios: list[FoundScenario] | None = msgspec.field(name="tales")
    reached: Reached | None


class Added(msgspec.Struct, frozen=True):
    """An obligation that the contract adds to the paper's bundle."""

    obligation: str
    why: str


class Check(msgspec.Struct, frozen=True):
    """The result for one mode and bundle; `readings` names the interpretations that it assumes,
    and `world` the kinds of events that can occur.

    `statement` are the checks that the system is the statement of the page, before any proof.

    Null means not requested: `--full` requests everything, and a certificate requests `receptive`.

    `paper`, `added`, `necessary` and `guards` compare the two bundles and ablate the contract,
    whichever bundle is checked.

    `core` gives for each clause obligations from which alone it is proved, and `in_every_core`
    those of them that no such set can do without; `unused` are the rules of which these proofs make
    no use. All three speak of the contract, and are empty unless an invariant proves it.
    `certificate` is the folder of the certificate, where one was written. `seconds` is how long the
    whole check took.
    """

    mode: str
    bundle: str
    interpretations: list[str] = msgspec.field(name="readings")
    environment: list[str] = msgspec.field(name="world")
    obligations: list[str]
    consistent: Consistent
    sound: Sound
    receptive: Receptive | None
    statement: list[Leaned]
    lemmas: list[Leaned]
    paper: Paper | None
    added: list[Added]
    necessary: dict[str, Lacking]
    redundancy: Redundancy
    guards: dict[str, Lacking] | None
    core: dict[str, list[str]] | None
    in_every_core: dict[str, list[str]] | None
    unused: list[str] | None
    certificate: str | None = None
    seconds: float = 0.0


class Checks(msgspec.Struct, frozen=True):
    """The published form of a run of `python -m proofs check`."""

    schema: str
    tool: str
    spec: str
    checks: list[Check]


def proof_schema() -> dict[str, Any]:
    """The JSON Schema of `Checks`."""
    return msgspec.json.schema(Checks)
