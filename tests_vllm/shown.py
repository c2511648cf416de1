"""Writes what traces of the real engine show into the descriptor of the plugin.

For each mode one trace is kept beside the descriptor: the smallest that shows every obligation of
the contract's bundle. The descriptor states those obligations, anchored in that trace.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from models.catalog import FOLDER
from monitor.check.evidence import take_evidence
from spec.claims.states import Mode
from spec.contract.modes import MODES, REPORTED_BY, Bundle
from spec.lowering.descriptor import Descriptor
from spec.lowering.evidence import EvidenceFile
from spec.lowering.vocabulary import Order

__all__ = ["DESCRIPTOR", "TRACES", "parts", "record", "recorded", "rewritten", "smallest", "stated"]

DESCRIPTOR = FOLDER / "vllm_plugin.yaml"
TRACES = FOLDER / "vllm_plugin"
NOTE = "A trace of the real engine, kept by make witness: {} obligations exercised and kept."


def recorded() -> dict[Mode, Path]:
    """The traces beside the descriptor, by mode; those of no mode raise ValueError."""
    return {Mode(trace.stem): trace for trace in sorted(TRACES.iterdir())}


def smallest(mode: Mode, traces: Iterable[Path]) -> Path | None:
    """The smallest trace that shows every obligation of a mode; None where no trace does."""
    due = set(MODES[mode].names(Bundle.CONTRACT))
    for trace in sorted(traces, key=lambda each: (each.stat().st_size, each)):
        if due <= {each.obligation for each in _shown(mode, trace).shown}:
            return trace
    return None


def stated(descriptor: Descriptor) -> dict[Mode, set[str]]:
    """The obligations that the descriptor of the plugin states, by mode."""
    found: dict[Mode, set[str]] = {}
    for adapter in descriptor.adapters:
        for item in adapter.evidence:
            for mode in item.modes:
                found.setdefault(mode, set()).add(item.obligation)
    return found


def parts(traces: Mapping[Mode, Path]) -> dict[str, list[str]]:
    """The lines of the descriptor that these traces make, by the name of their part."""
    evidence = {mode: _shown(mode, traces[mode]) for mode in Mode if mode in traces}
    return {
        "Traces": [line for mode, shown in evidence.items() for line in _anchor(mode, shown)],
        "Obligations": [
            line for mode, shown in evidence.items() for line in _items(mode, shown, traces[mode])
        ],
    }


def rewritten(text: str, made: Mapping[str, list[str]]) -> str:
    """The text of a descriptor with its written parts replaced; raises ValueError without them."""
    for name, lines in made.items():
        part = re.compile(rf"(^ *# {name}, .*\n)[^\0]*?(?=^ *# End of {name.lower()}\.$)", re.M)
        text, found = part.subn(lambda begin, lines=lines: begin[1] + "".join(lines), text)
        if found != 1:
            raise ValueError(f"{found} parts of the descriptor are called {name}")
    return text


def record(traces: Mapping[Mode, Path]) -> None:
    """Keep these traces beside the descriptor, and write what they show into it."""
    for old in TRACES.glob("*"):
        old.unlink()
    for mode, trace in traces.items():
        (TRACES / f"{mode}.jsonl").write_bytes(trace.read_bytes())
    text = DESCRIPTOR.read_text(encoding="utf-8")
    DESCRIPTOR.write_text(rewritten(text, parts(recorded())), encoding="utf-8")


def _shown(mode: Mode, trace: Path) -> EvidenceFile:
    return take_evidence([str(trace)], mode, trace.parent)


def _anchor(mode: Mode, evidence: EvidenceFile) -> Iterator[str]:
    kept = {order for each in evidence.shown for order in each.order}
    yield f"  {mode}:\n"
    yield "    kind: trace\n"
    yield f"    path: {TRACES.name}/{mode}.jsonl\n"
    yield f'    note: "{NOTE.format(len({each.obligation for each in evidence.shown}))}"\n'
    yield f"    order: [{', '.join(order for order in Order if order in kept)}]\n"
    yield "    claim: same_claim\n"
    yield "    basis: claim_events\n"


def _items(mode: Mode, evidence: EvidenceFile, trace: Path) -> Iterator[str]:
    for each in evidence.shown:
        action = ""
        if each.obligation == "explicit_conflict_action":
            kinds = {json.loads(line)["kind"] for line in trace.read_bytes().splitlines()}
            taken = next(a for a, by in REPORTED_BY.items() if kinds.intersection(by))
            action = f", action: {taken}"
        yield (
            f"      - {{obligation: {each.obligation}, modes: [{mode}], status: supported, "
            f"scope: conformance_trace, anchor: {mode}{action}}}\n"
        )
