"""A client that goes before its answer, in a real engine: what becomes of its claim."""

from __future__ import annotations

from typing import Any

import pytest
from vllm.v1.request import Request

from monitor.engine import ModeVerdict
from runtime_hooks.demo.engine import claim, sampling
from runtime_hooks.demo.tiny import tokens
from spec.claims.claim import Mode
from tests_vllm.conftest import Make


@pytest.mark.parametrize(("more", "lives"), [({}, 0), ({"on_abort": "keep"}, 1)])
@pytest.mark.parametrize("steps", [0, 1])
def test_aborted(make: Make, steps: int, more: dict[str, Any], lives: int) -> None:
    """Before or after its prompt is computed: the claim ends with the request, or is kept if it
    says so; its blocks go free, and nobody is wronged."""
    engine = make()
    params = sampling(claim(blocks=20, **more))
    params.max_tokens = 8
    request = Request(
        "gone", tokens("gone", 20), params, None, block_hasher=engine.core.request_block_hasher
    )
    engine.core.scheduler.add_request(request)
    for _ in range(steps):
        engine.core.step()
    engine.core.abort_requests(["gone"])
    engine.core.step()
    assert lives == engine.armed.attachments[0].controller.claims
    (active,) = engine.serve(("active", 70))
    assert ("abort" if lives else "length") == active.finish_reason
    assert {} == engine.armed.attachments[0].faults

    engine.close()
    assert ModeVerdict.VIOLATED is not engine.judge(Mode.HARD_PROTECTED).verdict
