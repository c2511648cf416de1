"""Makes descriptors of what an inference starts from: runtimes of which nothing else is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spec.claims.states import Mode
from spec.contract.supply import Depth
from spec.lowering.depths import PRECONDITIONS
from spec.lowering.descriptor import SCHEMA, Descriptor
from spec.lowering.obligations import RELEVANT_ORDER
from spec.lowering.vocabulary import Basis, ClaimScope

__all__ = ["forbids", "only_ranks", "patched", "shows"]

_ARTIFACT: Final = "https://github.com/gustavgauge/resident-kv-lowering-artifact/tree/b9f82f4"
_TABLE: Final = {
    "kind": "artifact",
    "source": _ARTIFACT,
    "path": "bad_lowering/",
    "note": "Table 9.",
}
_C1: Final = {
    "kind": "artifact",
    "source": _ARTIFACT,
    "path": "artifacts/kv-residency-vllm-arbiter/artifacts/conformance/results.json",
    "note": "Check C1: soft priority is no sound lowering of hard_protected claims.",
}


def _premise(**parts: Any) -> Descriptor:
    """A runtime of which nothing but `parts` is known."""
    return Descriptor.model_validate(
        {
            "schema": SCHEMA,
            "name": "premise",
            "runtime": "a feature table",
            "version": "none",
            "about": "The starting point of an inference.",
            "anchors": {"shown": _TABLE, **parts.pop("anchors", {})},
            **parts,
        }
    )


def shows(*signals: str, **parts: Any) -> Descriptor:
    """A runtime that shows these approximation signals."""
    listed = [{"signal": name, "status": "supported", "anchor": "shown"} for name in signals]
    return _premise(signals=listed, **parts)


def forbids(
    signal: str, mode: Mode, because: str, anchor: Mapping[str, Any] = _TABLE
) -> Descriptor:
    """A runtime that shows a signal, and is known not to lower to the mode by it.

    Args:
        anchor: where that is known from.
    """
    said = {
        "signal": signal,
        "mode": mode,
        "up_to": Depth.TELEMETRY_JOIN,
        "because": because,
        "anchor": "forbidden",
    }
    return shows(signal, forbidden=[said], anchors={"forbidden": anchor})


def only_ranks(signal: str) -> Descriptor:
    """A runtime that shows a priority: by C1 of "Resident KV Claims" it protects no claim."""
    because = "A priority orders victims and excludes none."
    return forbids(signal, Mode.HARD_PROTECTED, because, _C1)


def patched(obligation: str, claim: ClaimScope, basis: Basis) -> Descriptor:
    """A patched runtime with a run in order, of this claim and on this basis."""
    run = {
        "kind": "trace",
        "source": _ARTIFACT,
        "path": "results/vllm_scheduler_boundary/",
        "note": "A control of table 8.",
        "order": [RELEVANT_ORDER[obligation]],
        "claim": claim,
        "basis": basis,
    }
    item = {
        "obligation": obligation,
        "modes": [Mode.OFFLOADABLE],
        "status": "supported",
        "scope": "conformance_trace",
        "anchor": "run",
    }
    patch = Depth.BACKEND_PATCH
    hold = [{"precondition": each, "anchor": "shown"} for each in PRECONDITIONS[patch]]
    return _premise(
        anchors={"run": run},
        adapters=[{"depth": patch, "preconditions": hold, "evidence": [item]}],
    )
