"""Requests and ids leave nothing behind in a real engine: no container of the plugin grows."""

from __future__ import annotations

from tests.runtime_hooks.elements import elements
from tests_vllm.conftest import Clock, Make
from tests_vllm.memory import ask

REMEMBERED = {"UsedIds._buckets"}
"""What is remembered of every accepted claim, up to the setting `lives`: five bytes."""
LIVE = 32
"""By so much a container may differ with the claims that happen to live."""


def test_flat(make: Make) -> None:
    """After three times as many requests only the ids of accepted claims are more.

    The longer measure, of 20,000 requests, is `python -m tests_vllm.memory`.
    """
    engine = make(monitor="observe")
    Clock(engine)  # so that as many pins live on a fast machine as on a slow one
    for n in range(150):
        ask(engine, n + 1)
    (attachment,) = engine.armed.attachments
    first = elements(attachment.controller)
    for n in range(150, 600):
        ask(engine, n + 1)
    second = elements(attachment.controller)
    assert {} == attachment.faults
    grown = {name for name in second if second[name] > first[name] + LIVE}
    assert REMEMBERED == grown
    assert second["UsedIds._buckets"] - first["UsedIds._buckets"] > 5 * 300
