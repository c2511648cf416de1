"""The experiment of soft_priority in the real engine: with the plugin's order of victims priorities
have influence; where the plugin only observes they have none.
"""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import msgspec
from vllm.config import KVEventsConfig

from monitor.pressure.judge import Experiment, Influence, decide
from monitor.pressure.run import Arm, read_run
from runtime_hooks.demo.engine import sampling, serve, tiny_llm
from runtime_hooks.demo.tiny import tokens
from tests_vllm.conftest import Make
from tests_vllm.test_watched import soft

ARMS = {Arm.ORIGINAL: (9, 1), Arm.SWAPPED: (1, 9), Arm.EQUAL: (5, 5)}


def experiment(make: Make, folder: Path, repeats: int, **settings: Any) -> Experiment:
    """So many runs of each arm, each in an engine of its own: two claims of 20 blocks, and
    a request for which 20 of the 80 blocks are missing.
    """
    runs = []
    for arm, (a, b) in ARMS.items():
        for number in range(repeats):
            engine = make(**settings)
            engine.serve(("a", 20, soft("a", a)), ("b", 20, soft("b", b)))
            engine.serve(("active", 59))
            engine.close()
            runs.append(engine.trace.rename(folder / f"{arm}-{number}.jsonl"))
    return decide([read_run(str(run)) for run in runs])


class TestPressure:
    def test_enforced(self, make: Make, tmp_path: Path) -> None:
        """The lower claim loses first, whichever that is."""
        found = experiment(make, tmp_path, 3)
        assert found.influence is Influence.SHOWN, found
        counts = {arm: (each.runs, each.lower) for arm, each in found.arms.items()}
        assert counts == {Arm.ORIGINAL: (3, 3), Arm.SWAPPED: (3, 3), Arm.EQUAL: (3, 0)}

    def test_observed(self, make: Make, tmp_path: Path) -> None:
        """The claim that was used longer ago loses first, at any priority."""
        found = experiment(make, tmp_path, 1, enforce=["hard_protected"])
        assert found.influence is Influence.ABSENT, found
        assert (found.arms[Arm.ORIGINAL].higher, found.arms[Arm.SWAPPED].lower) == (1, 1)


def stock(folder: Path, name: str, priorities: tuple[int, int]) -> str:
    """A run of vLLM without the plugin: its KV events, and a registry of both prefixes.

    The requests have the priorities of the claims, by vLLM's own scheduling, where a lower number
    is served first.
    """
    capture, registry = folder / f"{name}.jsonl", folder / f"{name}.json"
    claims = [
        {
            "id": f"claim:{prompt}",
            "owner": "tenant",
            "mode": "soft_priority",
            "priority": priority,
            "tokens": tokens(prompt, 20),
        }
        for prompt, priority in zip("ab", priorities, strict=True)
    ]
    about = {"schema": "resident-claims/registry/1", "model": "tiny", "block_size": 32}
    registry.write_text(json.dumps({**about, "claims": claims}))
    events = KVEventsConfig(enable_kv_cache_events=True, publisher="null")
    llm = tiny_llm(folder, 80, kv_events_config=events, scheduling_policy="priority")
    core = llm.llm_engine.engine_core.engine_core
    batches: list[Any] = []
    core.scheduler.kv_event_publisher.publish = batches.append
    for prompt, blocks, priority in (("a", 20, priorities[0]), ("b", 20, priorities[1])):
        asked = [{"prompt_token_ids": tokens(prompt, blocks)}]
        llm.generate(asked, sampling(), use_tqdm=False, priority=[10 - priority])
    serve(llm, ("active", 59))
    core.shutdown()
    encode = msgspec.msgpack.Encoder().encode
    frames = [[b"", n.to_bytes(8, "big"), encode(each)] for n, each in enumerate(batches)]
    lines = [{"frames": [b64encode(frame).decode() for frame in each]} for each in frames]
    capture.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"{registry}={capture}"


class TestStock:
    def test_absent(self, tmp_path: Path) -> None:
        """In vLLM without the plugin the prefix that was used longer ago is lost first, whatever
        the priorities of the requests were; its KV events show it."""
        runs = [stock(tmp_path, arm, priorities) for arm, priorities in ARMS.items()]
        found = decide([read_run(run) for run in runs])
        assert found.influence is Influence.ABSENT, found
        assert (found.arms[Arm.ORIGINAL].higher, found.arms[Arm.SWAPPED].lower) == (1, 1)
