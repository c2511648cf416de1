"""A client that goes before its answer, in a real engine: what becomes of its claim."""

from __future__ import annotations

from typing import Any

import pytest
from vllm.v1.request import Request

from runtime_hooks.demo.engine import claim, sampling
from runtime_hooks.demo.tiny import tokens
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Clock, Make
from tests_vllm.engine import Engine


def add(engine: Engine, name: str, most: int, **more: Any) -> None:
    """A request that claims 20 blocks arrives."""
    params = sampling(claim(blocks=20, **more))
    params.max_tokens = most
    hasher = engine.core.request_block_hasher
    request = Request(name, tokens("gone", 20), params, None, block_hasher=hasher)
    engine.core.scheduler.add_request(request)


@pytest.mark.parametrize(("more", "lives"), [({}, 0), ({"on_abort": "keep"}, 1)])
@pytest.mark.parametrize("steps", [0, 1])
def test_aborted(make: Make, steps: int, more: dict[str, Any], lives: int) -> None:
    """Before or after its prompt is computed: the claim ends with the request, or is kept if it
    says so; its blocks go free, and nobody is wronged."""
    engine = make()
    add(engine, "gone", 8, **more)
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


SHORT, LONG = 1, 40
"""Tokens of an answer."""


@pytest.mark.parametrize(
    ("first", "second", "aborted", "lives"),
    [
        pytest.param(LONG, SHORT, ["0_gone"], 0, id="the-first-after-the-second-ended"),
        pytest.param(SHORT, LONG, ["1_gone"], 0, id="the-second-after-the-first-ended"),
        pytest.param(LONG, LONG, ["0_gone", "1_gone"], 0, id="both"),
        pytest.param(LONG, LONG, ["0_gone"], 1, id="the-first-alone"),
        pytest.param(LONG, LONG, ["1_gone"], 1, id="the-second-alone"),
        pytest.param(SHORT, SHORT, [], 1, id="none"),
    ],
)
def test_several_answers(
    make: Make, first: int, second: int, aborted: list[str], lives: int
) -> None:
    """vLLM makes a request of each answer. The client is answered when the last of them has ended,
    so the claim ends if that one was aborted, whichever brought it."""
    engine = make()
    add(engine, "0_gone", first)
    add(engine, "1_gone", second)
    for _ in range(3):
        engine.core.step()
    engine.core.abort_requests(aborted)
    for _ in range(LONG + 1):
        engine.core.step()
    assert [] == list(engine.core.scheduler.requests)
    assert lives == engine.armed.attachments[0].controller.claims
    assert {} == engine.armed.attachments[0].faults

    engine.close()
    assert lives == 1 - len(engine.kinds("claim_released"))
    assert ModeVerdict.VIOLATED is not engine.judge(Mode.HARD_PROTECTED).verdict


@pytest.mark.parametrize(("mode", "lives"), [("demotable", 0), ("hard_protected", 1)])
def test_never_there(make: Make, mode: str, lives: int) -> None:
    """A claim that is kept though its prompt was never computed: a demotable one ends when its time
    to be there is over, with its report; another one stays, and its metric says how long.
    """
    engine = make(materialize_within_s=60)
    clock = Clock(engine)
    add(engine, "gone", 8, mode=mode, on_abort="keep")
    engine.core.abort_requests(["gone"])
    engine.core.step()
    (attachment,) = engine.armed.attachments
    assert 1 == attachment.controller.claims
    clock.wait(61)
    engine.serve(("other", 3))
    assert lives == attachment.controller.claims
    figures = attachment.controller.operator.figures()
    assert (lives, 1 - lives) == (figures.modes[mode].never_there, figures.overdue)
    assert lives == (figures.modes[mode].longest_s > 60)
    (active,) = engine.serve(("active", 70))
    assert ("abort" if lives else "length") == active.finish_reason
    assert {} == attachment.faults

    engine.close()
    assert 1 - lives == len(engine.kinds("claim_demoted"))
    assert ModeVerdict.VIOLATED is not engine.judge(Mode(mode)).verdict
