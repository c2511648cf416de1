"""Writes what traces of the real engine show into the descriptor of the plugin.

For each mode one trace is kept beside the descriptor: the smallest that shows every obligation of
the contract's bundle. Where one shows none of them, such as priority_influence, three are kept, one
for each arm of its experiment. The descriptor states those obligations, anchored in what is kept.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

from models.catalog import FOLDER
from monitor.evidence.take import take_evidence
from monitor.pressure.run import Arm, read_run
from spec.claims.states import Mode
from spec.contract.modes import MODES, REPORTED_BY, Bundle
from spec.contract.supply import Order
from spec.lowering.descriptor import Descriptor
from spec.lowering.evidence import EvidenceFile
from spec.lowering.vocabulary import ATOMS_FOR

__all__ = ["DESCRIPTOR", "TRACES", "parts", "record", "recorded", "rewritten", "smallest", "stated"]

DESCRIPTOR = FOLDER / "vllm_plugin.yaml"
TRACES = FOLDER / "vllm_plugin"
NOTE = "{} of the real engine, kept by make witness: {} obligations exercised and kept."


def recorded() -> dict[Mode, list[Path]]:
    """The traces beside the descriptor, by mode; those of no mode raise ValueError."""
    kept = sorted(TRACES.iterdir())
    return {Mode(at.stem): sorted(at.iterdir()) if at.is_dir() else [at] for at in kept}


def smallest(mode: Mode, traces: Iterable[Path]) -> list[Path]:
    """The smallest traces that show every obligation of a mode; empty where none do."""
    due = set(MODES[mode].names(Bundle.CONTRACT))
    by_size = sorted(traces, key=lambda each: (each.stat().st_size, each))
    for chosen in combinations(by_size, len(Arm) if due & ATOMS_FOR.keys() else 1):
        if due <= {each.obligation for each in _shown(mode, chosen).shown}:
            return [*chosen]
    return []


def stated(descriptor: Descriptor) -> dict[Mode, set[str]]:
    """The obligations that the descriptor of the plugin states, by mode."""
    found: dict[Mode, set[str]] = {}
    for adapter in descriptor.adapters:
        for item in adapter.evidence:
            for mode in item.modes:
                found.setdefault(mode, set()).add(item.obligation)
    return found


def parts(traces: Mapping[Mode, Sequence[Path]]) -> dict[str, list[str]]:
    """The lines of the descriptor that these traces make, by the name of their part."""
    evidence = {mode: _shown(mode, traces[mode]) for mode in Mode if mode in traces}
    return {
        "Traces": [
            line for mode, shown in evidence.items() for line in _anchor(mode, shown, traces[mode])
        ],
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


def record(traces: Mapping[Mode, Sequence[Path]]) -> None:
    """Keep these traces beside the descriptor, and write what they show into it."""
    shutil.rmtree(TRACES)
    for mode, chosen in traces.items():
        for trace in chosen:
            arm = read_run(str(trace)).arm if len(chosen) > 1 else None
            at = TRACES / (f"{mode}.jsonl" if arm is None else f"{mode}/{arm}.jsonl")
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_bytes(trace.read_bytes())
    text = DESCRIPTOR.read_text(encoding="utf-8")
    DESCRIPTOR.write_text(rewritten(text, parts(recorded())), encoding="utf-8")


def _shown(mode: Mode, traces: Sequence[Path]) -> EvidenceFile:
    return take_evidence([*map(str, traces)], mode, traces[0].parent)


def _anchor(mode: Mode, evidence: EvidenceFile, traces: Sequence[Path]) -> Iterator[str]:
    kept = {order for each in evidence.shown for order in each.order}
    one = len(traces) == 1
    note = NOTE.format(
        "A trace" if one else f"{len(traces)} traces",
        len({each.obligation for each in evidence.shown}),
    )
    yield f"  {mode}:\n"
    yield "    kind: trace\n"
    yield f"    path: {TRACES.name}/{mode}{'.jsonl' if one else ''}\n"
    yield f'    note: "{note}"\n'
    yield f"    order: [{', '.join(order for order in Order if order in kept)}]\n"
    yield "    claim: same_claim\n"
    yield "    basis: claim_events\n"


def _items(mode: Mode, evidence: EvidenceFile, traces: Sequence[Path]) -> Iterator[str]:
    shown = {each.obligation for each in evidence.shown}
    for obligation in (name for name in MODES[mode].names(Bundle.CONTRACT) if name in shown):
        action = ""
        if obligation == "explicit_conflict_action":
            lines = [line for trace in traces for line in trace.read_bytes().splitlines()]
            kinds = {json.loads(line)["kind"] for line in lines}
            taken = next(a for a, by in REPORTED_BY.items() if kinds.intersection(by))
            action = f", action: {taken}"
        yield (
            f"      - {{obligation: {obligation}, modes: [{mode}], status: supported, "
            f"scope: conformance_trace, anchor: {mode}{action}}}\n"
        )
