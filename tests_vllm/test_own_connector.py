"""A connector of a module of its own: claims on the pool are kept, whatever it does."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from vllm.config import KVTransferConfig

from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.scenes import offloading
from runtime_hooks.demo.tiny import BLOCK, DEVICE
from runtime_hooks.engines import adapter_of, installed
from runtime_hooks.settings.config import TAKEN
from runtime_hooks.trace.faults import LOG
from runtime_hooks.trace.names import name_of
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.actions import held, look, reset, used
from tests_vllm.conftest import LONG_S, Make
from tests_vllm.engine import Engine
from tests_vllm.own_connector import PLAN, owning
from tests_vllm.test_random import busy, check, play

ADAPTER: Any = adapter_of(installed())[0]
KEPT = ModeVerdict.KEPT
MODES = tuple(mode for mode in TAKEN if mode is not Mode.OFFLOADABLE)
RESIDENT, ACTIVE, FILLER = ("resident", 61), ("active", 70), ("filler", 1)

ROOM = 300
"""Blocks of a pool in which a request is admitted again after its load failed.

vLLM 0.32 counts what such a request needs twice, and leaves it waiting for ever where that does not
fit; so it does without the plugin.
"""

pytestmark = pytest.mark.skipif(not ADAPTER.tried.connectors, reason="not tried with this version")


def kept(engine: Engine) -> None:
    """No hook failed, and the claim is kept."""
    assert {} == engine.armed.attachments[0].faults
    engine.close()
    assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict


def as_part(transfer: KVTransferConfig) -> dict[str, Any]:
    """A connector as a part of a MultiConnector."""
    names = ("kv_connector", "kv_connector_module_path", "kv_role", "kv_connector_extra_config")
    return {name: getattr(transfer, name) for name in names}


def test_unobserved(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log and the trace say what is not observed of the connector."""
    lines: list[str] = []
    monkeypatch.setattr(LOG, "info", lambda text, *parts: lines.append(text % parts))
    engine = make(engine=owning())
    engine.close()
    first = f"which blocks {__package__}.own_connector.OwnConnector saves"
    (line,) = lines
    assert f"; not observed: {first}, how long" in line
    opened = json.loads(engine.trace.read_text().splitlines()[0])
    assert (4, first) == (len(opened["unobserved"]), opened["unobserved"][0])


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_back(make: Make, steps: int) -> None:
    """Blocks that it loads, within a step or before it, count as found, and are held again."""
    engine = make(engine=owning(steps=steps))
    (first,) = engine.serve((*RESIDENT, claim()))
    reset(engine)
    (again,) = engine.serve(RESIDENT)
    (refused,) = engine.serve(ACTIVE)
    assert (first.tokens, 60 * BLOCK) == (again.tokens, again.cached)
    assert "abort" == refused.finish_reason
    assert (60, 60) == look(engine)

    kept(engine)
    mine = [e for e in engine.kinds("block_cached") if e.claim_id]
    assert [(name_of("0"), False), (None, True)] == [
        (e.request_id and e.request_id[0], e.found) for e in mine
    ]
    assert 2 == len(engine.kinds("claim_materialized"))
    of_copies = ("store_finished", "host_copy_found", "host_copy_lost", "load_finished")
    assert [] == engine.kinds(*of_copies)


@pytest.mark.parametrize("policy", ["fail", "recompute"])
@pytest.mark.parametrize(
    ("steps", "names_blocks"),
    [(0, True), (2, True), (2, False)],
    ids=["within", "blocks", "request"],
)
def test_fails(make: Make, policy: str, steps: int, names_blocks: bool) -> None:
    """What a failed load did not bring is not stated as cached, until the blocks are computed."""
    engine = make(ROOM, engine=owning(policy, steps=steps, names_blocks=names_blocks))
    (first,) = engine.serve(RESIDENT)
    reset(engine)
    PLAN.fail_next = 1
    (answer,) = engine.serve((*RESIDENT, claim()))
    assert 1 == PLAN.failed
    failed = policy == "fail"
    assert ("error" if failed else "length") == answer.finish_reason
    assert (look(engine)[0] < 60) is failed
    assert first.tokens == engine.serve(RESIDENT)[0].tokens
    assert (60, 60) == look(engine)

    kept(engine)
    (there,) = engine.kinds("claim_materialized")
    assert failed is ((there.sequence or 0) > (engine.kinds("request_finished")[1].sequence or 0))


@pytest.mark.parametrize("steps", [0, 2])
def test_unused(make: Make, steps: int) -> None:
    """A block that it reports as not loaded leaves the cache, also where no request uses it; a
    claim on it is harmed. A number that no block has is left to vLLM."""
    engine = make(engine=owning(steps=steps))
    engine.serve((*RESIDENT, claim()))
    PLAN.invalid = {held(engine)[0], 1000}
    engine.serve(FILLER)
    assert (59, 0) == look(engine)
    engine.serve(RESIDENT)
    assert (60, 60) == look(engine)

    kept(engine)
    assert ["claim:resident"] == [event.claim_id for event in engine.kinds("claim_harmed")]
    assert 2 == len(engine.kinds("claim_materialized"))


def test_offloadable(make: Make) -> None:
    """It is no offload tier for claims, which the answer says."""
    engine = make(engine=owning())
    (answer,) = engine.serve((*RESIDENT, claim(mode="offloadable")))
    assert (
        "this engine keeps no offloadable claims: it has no offload tier: "
        "tests_vllm.own_connector.OwnConnector does not report which blocks it has"
    ) == answer.metadata["claim"]["reason"]


def test_with_tier(make: Make) -> None:
    """Beside OffloadingConnector in a MultiConnector it is a connector as any other: blocks come
    back from either, and claims have no offload tier."""
    parts = [owning(), offloading()]
    several = {"connectors": [as_part(each["kv_transfer_config"]) for each in parts]}
    transfer = KVTransferConfig(
        kv_connector="MultiConnector", kv_role="kv_both", kv_connector_extra_config=several
    )
    engine = make(engine={"kv_transfer_config": transfer, "disable_hybrid_kv_cache_manager": True})
    (first,) = engine.serve((*RESIDENT, claim()))
    engine.serve(FILLER)
    for keys in (PLAN.saved.keys(), set[bytes]()):  # it has them, and then it has none
        engine.core.scheduler.connector.sub_connectors[0]._known &= keys
        reset(engine)
        (again,) = engine.serve(RESIDENT)
        assert (first.tokens, True) == (again.tokens, again.cached >= 60 * BLOCK)
        assert (60, 60) == look(engine)
    (answer,) = engine.serve((*RESIDENT, claim("claim:other", mode="offloadable")))
    reason = answer.metadata["claim"]["reason"]
    assert reason.endswith("MultiConnector does not report which blocks it has")
    kept(engine)
    assert 3 == len(engine.kinds("claim_materialized"))


@pytest.mark.deep
@pytest.mark.skipif(DEVICE != "cpu", reason="two ranks need two devices")
def test_two_ranks(tmp_path: Path) -> None:
    """So is the claim where the model is split over two processes, each with its own blocks."""
    command = [sys.executable, "-m", "tests_vllm.two_ranks_own", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG_S, check=False)
    assert 0 == done.returncode, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert {"same": True, "cached": 60 * BLOCK, "pressing": "abort", "verdict": "kept"} == said


class TestKeeps:
    """A connector that keeps the blocks of a request that ended."""

    def test_in_hand(self, make: Make) -> None:
        """Such a request counts as in hand until its blocks are free: no claim takes them."""
        engine = make(engine=owning(keeps=1.0))
        engine.serve(("kept", 60))
        PLAN.keeps = 0.0
        assert 60 == used(engine)
        (early,) = engine.serve((*RESIDENT, claim("claim:early", blocks=40)))
        assert 0 == PLAN.changed
        (late,) = engine.serve((*RESIDENT, claim(blocks=40)))
        assert "an unfinished request needs 60 more blocks" in early.metadata["claim"]["reason"]
        assert {"claim": {"decision": "accepted"}} == late.metadata

        kept(engine)
        ends = [(e.request_id or "")[0] for e in engine.kinds("request_finished")]
        assert ["0", "1", "2"] == sorted(ends)
        (rejected,) = engine.kinds("claim_rejected")
        assert (rejected.sequence or 0) < (engine.kinds("request_finished")[0].sequence or 0)

    def test_pin(self, make: Make) -> None:
        """A pin is on the blocks that its request has, and is answered with the request."""
        engine = make(engine=owning(keeps=1.0))
        pin = {"job_id": "agent", "ttl": "60 s", "owner_scope": "tenant"}
        (answer,) = engine.serve(("kept", 60, {"pin": pin}))
        assert {"pin": {"decision": "accepted"}} == answer.metadata
        engine.serve(FILLER)
        (refused,) = engine.serve(ACTIVE)
        assert "abort" == refused.finish_reason
        assert {} == engine.armed.attachments[0].faults
        engine.close()
        assert KEPT is engine.judge(Mode.EXPIRING).verdict


PLANS = {
    "within": {},
    "within, some fail": {"fails": 0.3},
    "before": {"steps": 2, "asks_again": 0.3},
    "before, some blocks fail": {"steps": 1, "fails": 0.3},
    "before, some requests fail": {"steps": 3, "fails": 0.3, "names_blocks": False},
}


@pytest.mark.parametrize(
    ("plan", "policy"),
    [
        pytest.param("within", "fail", marks=pytest.mark.deep),
        ("within, some fail", "fail"),
        pytest.param("within, some fail", "recompute", marks=pytest.mark.deep),
        pytest.param("before", "fail", marks=pytest.mark.deep),
        ("before, some blocks fail", "recompute"),
        pytest.param("before, some blocks fail", "fail", marks=pytest.mark.deep),
        ("before, some requests fail", "fail"),
        pytest.param("before, some requests fail", "recompute", marks=pytest.mark.deep),
    ],
)
def test_random(make: Make, plan: str, policy: str) -> None:
    """Whatever comes, every claim is kept, and blocks that the connector keeps do not change."""
    source = random.Random(plan + policy)
    more = {"keeps": 0.2, "source": random.Random(plan)}
    usable = ROOM if "before" in plan and policy == "recompute" else 80
    engine = make(usable, engine=owning(policy, **{**more, **PLANS[plan]}), defer_s=0.01)
    play(engine, source, MODES, {"length", "abort", *["error"] * (policy == "fail")})
    assert ("fails" in PLANS[plan]) is bool(PLAN.failed)
    assert 0 == PLAN.changed
    check(engine, MODES)


@pytest.mark.parametrize(
    ("plan", "overlap"),
    [
        pytest.param("within", False, marks=pytest.mark.deep),
        pytest.param("within", True, marks=pytest.mark.deep),
        pytest.param("before", False, marks=pytest.mark.deep),
        pytest.param("before", True, marks=pytest.mark.deep),
        pytest.param("before, some blocks fail", False, marks=pytest.mark.deep),
        ("before, some blocks fail", True),
    ],
)
def test_busy(make: Make, request: pytest.FixtureRequest, plan: str, overlap: bool) -> None:
    """So is every claim where requests are preempted, with steps that overlap or not."""
    if overlap:
        request.getfixturevalue("overlapping")
    sizes = {"max_num_batched_tokens": 8192, "max_model_len": 40 * BLOCK}
    sizes["disable_log_stats"] = False
    engine = make(usable=40, engine={**sizes, **owning(keeps=0.1, **PLANS[plan])}, defer_s=0.01)
    busy(engine, random.Random(plan), MODES, tier=False, ends={"length", "abort", "error"})
    counted = {m.name: m.value for m in engine.llm.get_metrics() if hasattr(m, "value")}
    assert counted["vllm:num_preemptions"] > 0
    check(engine, MODES)
