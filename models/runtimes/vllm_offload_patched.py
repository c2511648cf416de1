"""Models the OffloadingConnector with claims, and an outcome for each load that fails.

Source: "Fail-Closed Lowering of Resident KV Claims", section 7, tables of the paths A, B and C, and
the controls of table 8: patches to a development version of vLLM, in which claims come with
requests, loads of a claim can be made to fail, and the scheduler reports the outcome where it
handles invalid blocks. Not read in its source: what the tables say, on the model of vLLM 0.32.0.

Path A is a run in which the load comes back, B one in which it fails, C has several claims. The
tables have one event for the end of a request with transfer jobs pending (E14), another for one
without (E10). From that it is inferred that its blocks are kept until its store is complete, and so
they are here, except in the variant `lag`, which does as vLLM 0.32.0. The mechanism promises
nothing of eviction: neither pool nor tier excludes what a claim needs, and no loss is reported. By
default the tier has room for all that is stored, as in the runs of the tables; in the variant
`small_tier` it has not.

Left out: what `models.runtimes.vllm_offload.model` leaves out, the connector's own repetition of
what the scheduler reported, and the end of claims.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final

from models.framework.model import Emitted, fact
from models.framework.shims import claim_of
from models.runtimes.vllm_offload.model import State, VllmOffload
from spec.claims.states import Mode
from spec.contract.supply import Depth
from spec.events.alphabet import Kind

__all__ = ["TAKES", "VARIANTS", "Blames", "PatchedVllmOffload"]


class Blames(StrEnum):
    """Which claim an outcome names."""

    TARGET = "target"
    ANOTHER = "another"
    NOBODY = "nobody"


class PatchedVllmOffload(VllmOffload):
    """The connector and the scheduler with claims, of which each outcome names one.

    A client that asks for an object has a claim on it. Losses are not reported.

    Args:
        blames: the claim that is named; all but the target are controls.
    """

    name: ClassVar = "vllm_offload_patched"
    depth: ClassVar = Depth.BACKEND_PATCH
    about: ClassVar = "The OffloadingConnector with claims, and an outcome for each failed load."
    mode: ClassVar = Mode.OFFLOADABLE

    def __init__(self, *args: Any, blames: Blames = Blames.TARGET, **sizes: Any) -> None:
        super().__init__(*args, **sizes)
        self.blames = blames

    def _says(
        self, what: str, state: State, object_id: str, name: str | None = None
    ) -> tuple[Emitted, ...]:
        if what == "asked":
            given = {"claim_id": claim_of(object_id), "mode": str(Mode.OFFLOADABLE)}
            given |= self._wanted(object_id)
            kinds = (Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED)
            return tuple(fact(kind, **given) for kind in kinds)
        if object_id not in state.asked:
            return ()
        of: dict[str, Any] = {"claim_id": claim_of(object_id)}
        match what:
            case "computed":
                return (fact(Kind.CLAIM_MATERIALIZED, **of),)
            case "stored":
                return (fact(Kind.CLAIM_OFFLOADED, **of),)
            case "required":
                return (fact(Kind.CLAIM_RESTORE_REQUIRED, request_id=name, **of),)
            case "loaded":
                return (fact(Kind.CLAIM_RESTORED, request_id=name, from_tier=True, **of),)
            case "failed":
                return self._outcome(state, object_id, name)
        return ()

    def _outcome(self, state: State, object_id: str, name: str | None) -> tuple[Emitted, ...]:
        """The two events at the scheduler's boundary, in the name of one claim."""
        others = [each for each in state.asked if each != object_id]
        named = {Blames.TARGET: [object_id], Blames.ANOTHER: others[:1]}.get(self.blames, [])
        if not named:
            return ()
        claim = claim_of(named[0])
        of = {"request_id": name, "outcome_claim_id": claim}
        return (
            fact(Kind.CLAIM_RESTORATION_FAILED, claim_id=claim, outcome="refusal", **of),
            fact(Kind.REQUEST_REFUSED, blocking_claim_ids=(claim,), restore=True, **of),
        )


TAKES: Final = (Mode.OFFLOADABLE,)

VARIANTS: Final[Mapping[str, Callable[[], PatchedVllmOffload]]] = {
    str(Mode.OFFLOADABLE): lambda: PatchedVllmOffload(lag=False),
    "lag": PatchedVllmOffload,
    "small_tier": lambda: PatchedVllmOffload(chunks=2, lag=False),
    "another": lambda: PatchedVllmOffload(lag=False, blames=Blames.ANOTHER),
    "nobody": lambda: PatchedVllmOffload(lag=False, blames=Blames.NOBODY),
}
