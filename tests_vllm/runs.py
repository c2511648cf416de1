"""Which traces of the table are runs of the models: `proofs accepts` on each of them.

What the plugin wrote is a run of its own model. Where it enforced nothing, or there was no claim,
it is a run of the model of vLLM's pool, or of its offloading connector, too. A trace in which
reports were kept back or changed is no run of the plugin.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from spec.events.alphabet import Kind

__all__ = ["LEFT_OUT", "not_runs"]

LEFT_OUT: Final = {
    "L6-materialization-failure": "single blocks that a failure takes out of the cache",
    "agent-with-pins": "pins, which end and begin with a request",
    "control:-fallback-recompute": "vLLM's policy recompute, where the plugin refuses nothing",
    "path-A-success-not-enforced": "a store that ends after its blocks were evicted",
    "path-B-policy-recompute-not-enforced": "vLLM's policy recompute, where nothing is refused",
}
"""What the model of the plugin leaves out, by the beginning of the names of the traces with it."""

UNSTORED: Final = "a-store-that-fails"
"""vLLM takes every store to succeed, and so does its model; the plugin sees this one fail.

Its prompts are whole objects: where no instance is named the model rejects nothing.
"""

UNTOLD: Final = "live-pressure-a-refusal-after-a-deferral"
"""A request that waits may end by its client, so that its refusal is missing shows in no run."""

BAD: Final = 2
"""A claim that was registered under a changed name leaves the prompts of its requests open."""

UNDECIDED: Final = 3
"""So may be a trace with what the model of the plugin leaves out, which is none of its runs."""

Command = Callable[..., tuple[int, str]]


def not_runs(folder: Path, accepts: Command) -> tuple[list[str], int]:
    """What is wrong, and how many traces are runs.

    Args:
        accepts: takes a model and a trace, and returns what `proofs accepts` exits with and prints.
    """
    wrong, runs = list[str](), 0
    for expected in sorted(folder.glob("*/expected.json")):
        due, name = json.loads(expected.read_bytes()), expected.parent.name
        if "model" not in due:  # the models have one cache
            continue
        trace = str(expected.with_name("trace.jsonl"))
        plugin = "plugin:enforcing" if due["enforced"] else "plugin:reporting"
        asked = {plugin: due["honest"] or name == UNTOLD}
        left_out = any(name.startswith(each) for each in LEFT_OUT)
        if left_out:
            asked[plugin] = False
        watched = due["enforced"] and Kind.CLAIM_REGISTERED in Path(trace).read_text()
        if due["honest"] and not watched:
            unstored = name.startswith(UNSTORED)
            asked[due["model"] + (":objects-fail" if unstored else "")] = not unstored
        for model, accepted in asked.items():
            code, said = accepts(model, trace)
            runs += code == 0
            undecided = code == UNDECIDED and left_out and model == plugin
            if code != (not accepted) and not undecided and (due["honest"] or code != BAD):
                wrong.append(f"{name}: of {model} it exits {code}\n{said}")
    return wrong, runs
