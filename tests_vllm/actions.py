"""What is done to a tiny real engine between two requests, and seen of its own pool."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import takewhile
from typing import Any, TypeAlias

from runtime_hooks.controller.operator import Operator
from runtime_hooks.demo.tiny import BLOCK
from tests_vllm.engine import Engine

__all__ = [
    "RESIDENT",
    "Act",
    "after_a_minute",
    "counters",
    "demote",
    "drain",
    "drain_no_more",
    "held",
    "left",
    "look",
    "lose_first",
    "outcome",
    "reset",
    "used",
]

Act: TypeAlias = Callable[[Engine], object]
"""Something that is done to an engine; what it returns, but None, is kept."""

RESIDENT = ("resident", 60)


def outcome(output: Any) -> object:
    """How a request ended: why it was not served, or how many of its blocks were cached."""
    return output.outputs[0].stop_reason or output.num_cached_tokens // BLOCK


def look(engine: Engine) -> tuple[int, int]:
    """How many blocks of the resident prefix are cached, and how many leading ones."""
    there = held(engine)
    return len(there), len(list(takewhile(there.__contains__, range(len(there)))))


def left(*names: str) -> Act:
    """How many of 20 blocks of each of these prompts are cached."""
    return lambda engine: tuple(sum(engine.cached(name, 20)) for name in names)


def used(engine: Engine) -> int:
    """Blocks in use."""
    return int(engine.pool.num_gpu_blocks - 1 - engine.pool.get_num_free_blocks())


def reset(engine: Engine) -> None:
    """The whole cache is cleared."""
    assert engine.core.scheduler.reset_prefix_cache()


def lose_first(engine: Engine) -> None:
    """A failure takes the first block of the resident prefix."""
    engine.core.scheduler.kv_cache_manager.evict_blocks({held(engine)[0]})


def after_a_minute(engine: Engine) -> None:
    """The plugin's clock goes ahead."""
    (attachment,) = engine.armed.attachments
    attachment.controller._clock = lambda: time.monotonic_ns() + 60_000_000_000


def _operate(engine: Engine, call: Callable[[Operator], object]) -> None:
    """The operator asks, and the idle engine carries it out."""
    (attachment,) = engine.armed.attachments
    done = attachment.controller.ask(call)
    attachment.controller.operate()
    done.result(0)


def demote(engine: Engine) -> None:
    """The operator has the claim on the resident prefix demoted."""
    _operate(engine, lambda operator: operator.release("claim:resident"))


def drain(engine: Engine) -> None:
    """The operator drains the engine."""
    _operate(engine, lambda operator: operator.drain())


def drain_no_more(engine: Engine) -> None:
    """The operator has claims accepted again."""
    _operate(engine, lambda operator: operator.drain(undo=True))


def counters(engine: Engine) -> int:
    """Leave nothing of the trace but the engine's own counters; how many requests went wrong."""
    said = [(m.name, m.labels, m.value) for m in engine.llm.get_metrics() if hasattr(m, "value")]
    lines = [
        json.dumps({"event": name, "event_sequence": number, "labels": labels, "value": value})
        for number, (name, labels, value) in enumerate(said, 1)
    ]
    engine.trace = engine.trace.with_name("counters.jsonl")
    engine.trace.write_text("\n".join(lines) + "\n")
    return int(sum(value for _, labels, value in said if labels.get("finished_reason") == "error"))


def held(engine: Engine) -> dict[int, int]:
    """The block of each position of the resident prefix that is cached in the engine's own pool."""
    keys = engine.request(RESIDENT).block_hashes
    found = {at: engine.pool.get_cached_block(key, [0]) for at, key in enumerate(keys)}
    return {at: blocks[0].block_id for at, blocks in found.items() if blocks}
