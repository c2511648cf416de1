"""No trace states the size of the tier: what a smaller one does, or none, is not rejected."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from models.framework.hooked import Hooked, Watch
from models.framework.model import Action
from models.framework.shims import PLAIN, events_of
from models.runtimes.vllm_offload.model import VllmOffload
from proofs.__main__ import main
from spec.events.alphabet import Kind
from spec.events.canonical import Event, as_jsonl
from tests.recordings import OBSERVED

WITHOUT: Final = [each for each in OBSERVED if each.model == "vllm_pool"]
"""Recordings of an engine without a tier."""

ASKED: Final = {"predicate": "leading_prefix_at_least(2)", "mode": "offloadable"}
STATED: Final[dict[Kind, dict[str, Any]]] = {
    Kind.REQUEST_ARRIVED: {"needed": 1},  # the others are the claim's
    Kind.CLAIM_REGISTERED: {**ASKED, "owner_scope": "somebody"},
}
"""What the plugin states that the model of vLLM does not."""


def trace(chunks: int) -> list[Event]:
    """What a connector does that stores three objects, and is asked for the first one again."""
    prompts = {"r1": "a", "r2": "b", "r3": "c", "r4": "a"}
    sizes = dict.fromkeys("abc", 3)
    connector = VllmOffload(3, chunks, sizes, prompts, exact=True, lag=False)
    hooked = Hooked(connector, [Watch(f"claim {name}", name, 2) for name in "abc"])
    (state,), stated = hooked.initial(), list[Event]()
    for name, of in prompts.items():
        steps = [Action("claim", (f"claim {of}",))] if name != "r4" else []
        steps += [Action(s, (name,)) for s in ("arrive", "schedule", "load", "output", "finish")]
        for action in steps:
            if action in hooked.actions(state):
                state, emits = hooked.apply(state, action)
                stated += events_of(PLAIN, emits)
    return [_written(event, number) for number, event in enumerate(stated)]


def _written(event: Event, number: int) -> Event:
    """An event as the plugin writes it: what a load brought for no claim was found."""
    given = {"stream": "s", "sequence": number, **STATED.get(event.kind, {})}
    if event.kind is Kind.LOAD_FINISHED:
        given |= {"kind": Kind.BLOCK_CACHED, "found": True}
    return msgspec.structs.replace(event, **given)


@pytest.mark.parametrize(("chunks", "code"), [(9, 0), (8, 3), (6, 3), (3, 3)])
def test_a_smaller_tier(chunks: int, code: int, tmp_path: Path) -> None:
    """Where copies were evicted for others the trace is no run of a tier with room for all.

    That is decided where such an instance is named, and nothing is without.
    """
    events = trace(chunks)
    loaded = any(event.found for event in events)
    evicted = any(event.kind is Kind.HOST_COPY_LOST for event in events)
    assert (code == 0, code != 0) == (loaded, evicted)
    file = tmp_path / "trace.jsonl"
    file.write_bytes(as_jsonl(events))
    assert code == main(["accepts", "vllm_offload", str(file)])
    assert int(bool(code)) == main(["accepts", "vllm_offload:objects-fail", str(file)])


@pytest.mark.parametrize("observed", WITHOUT, ids=lambda each: each.path.stem)
def test_no_tier(observed: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """What a real engine without a tier did is not rejected: a tier may have had no room."""
    code = main(["accepts", "vllm_offload", str(observed.path)])
    assert code in (0, 3)
    assert (code == 3) == capsys.readouterr().out.startswith("undecided")


@pytest.mark.parametrize("name", ["objects", "objects-fial", "objects-fail-77", "traced", "native"])
def test_a_mistyped_instance(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An instance that there is not exits with 2 and one line, whatever the trace leaves open."""
    assert 2 == main(["accepts", f"vllm_offload:{name}", str(WITHOUT[0].path)])
    error = capsys.readouterr().err
    assert f"there is no variant '{name}'" in error
    assert 1 == error.count("\n")
