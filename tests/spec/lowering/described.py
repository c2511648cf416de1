"""Descriptors for tests: a runtime of which exactly so much is shown."""

from collections.abc import Iterable
from typing import Any

from spec.claims.states import Mode
from spec.contract.supply import Atom, Depth, Order
from spec.lowering.depths import PRECONDITIONS
from spec.lowering.descriptor import SCHEMA, Descriptor
from spec.lowering.evidence import SCHEMA as EVIDENCE
from spec.lowering.evidence import EvidenceFile
from spec.lowering.obligations import RELEVANT_ORDER

Data = dict[str, Any]


def run(**fields: Any) -> Data:
    """An anchor that preserves every order of one claim."""
    return {
        "kind": "trace",
        "path": "trace.jsonl",
        "note": "A run.",
        "order": list(Order),
        "claim": "same_claim",
        "basis": "claim_events",
        **fields,
    }


def item(obligation: str, mode: Mode, **fields: Any) -> Data:
    """A statement that counts."""
    action = {"action": "refuse"} if obligation == "explicit_conflict_action" else {}
    return {
        "obligation": obligation,
        "modes": [mode],
        "status": "supported",
        "scope": "litmus_trace",
        "anchor": "run",
        **action,
        **fields,
    }


def items(obligations: Iterable[str], mode: Mode, **fields: Any) -> list[Data]:
    return [item(o, mode, **fields) for o in obligations]


def adapter(depth: Depth, evidence: list[Data], *, hold: bool = True) -> Data:
    """An adapter whose preconditions all hold, or none."""
    named = PRECONDITIONS[depth] if hold else ()
    shown = [{"precondition": each, "anchor": "run"} for each in named]
    return {"depth": depth, "preconditions": shown, "evidence": evidence}


def atoms(anchor: str | None = "run") -> list[Data]:
    return [{"atom": atom, "anchor": anchor} for atom in Atom]


def signal(name: str, **fields: Any) -> Data:
    return {"signal": name, "status": "supported", "anchor": "docs", **fields}


def document(**parts: Any) -> Data:
    """A descriptor as it is written."""
    docs = {"kind": "docs", "source": "https://example.org/docs", "note": "Documentation."}
    return {
        "schema": SCHEMA,
        "name": "made_up",
        "runtime": "Made up",
        "version": "1",
        "about": "A runtime of which exactly so much is shown.",
        "anchors": {"run": run(), "docs": docs, **parts.pop("anchors", {})},
        **parts,
    }


def descriptor(**parts: Any) -> Descriptor:
    return Descriptor.model_validate(document(**parts))


def evidence(mode: Mode, obligations: Iterable[str], **fields: Any) -> EvidenceFile:
    """Evidence from one trace for some obligations of a mode."""
    return EvidenceFile.model_validate(
        {
            "schema": EVIDENCE,
            "mode": mode,
            "bundle": "contract",
            "spec": "0" * 64,
            "files": [{"path": "trace.jsonl", "sha256": "0" * 64}],
            "shown": [
                {
                    "obligation": o,
                    "file": 0,
                    "sequences": [1, 2],
                    "claims": ["c"],
                    "verdict": "satisfied",
                    "order": [RELEVANT_ORDER[o]],
                }
                for o in obligations
            ],
            **fields,
        }
    )
