"""vLLM's ExampleConnector: prompts come back from disk, and claims on the pool are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory

from runtime_hooks.demo.engine import claim
from runtime_hooks.engines import adapter_of, installed
from runtime_hooks.trace.names import name_of
from spec.claims.claim import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.actions import look, reset
from tests_vllm.connectors import FailingConnector, saving
from tests_vllm.conftest import Make
from tests_vllm.engine import Engine

ADAPTER: Any = adapter_of(installed())[0]
KEPT = ModeVerdict.KEPT
RESIDENT, ACTIVE = ("resident", 61), ("active", 70)

pytestmark = pytest.mark.skipif(
    "ExampleConnector" not in ADAPTER.connectors, reason="not tried with this version"
)

Failing = Callable[..., Engine]


@pytest.fixture
def failing(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Failing:
    """Make an engine whose connector fails, armed as if that connector had been tried."""
    name = FailingConnector.__name__
    monkeypatch.setattr(ADAPTER, "connectors", (*ADAPTER.connectors, name))
    loader: Any = lambda: FailingConnector  # noqa: E731
    monkeypatch.setitem(KVConnectorFactory._registry, name, loader)
    monkeypatch.setattr(FailingConnector, "fails", [])

    def engine(policy: str) -> Engine:
        return make(engine=saving(tmp_path / "saved", policy, name))

    return engine


def test_back(make: Make, tmp_path: Path) -> None:
    """Blocks of a claim that a reset took come back by a load: they count as found, not as computed
    or looked up, and are held again."""
    engine = make(engine=saving(tmp_path / "saved"))
    (first,) = engine.serve((*RESIDENT, claim()))
    reset(engine)
    (again,) = engine.serve(RESIDENT)
    (refused,) = engine.serve(ACTIVE)
    (third,) = engine.serve(RESIDENT)
    assert first.tokens == again.tokens == third.tokens
    assert [1920, 1920] == [again.cached, third.cached]
    assert "abort" == refused.finish_reason
    assert (60, 60) == look(engine)
    assert {} == engine.armed.attachments[0].faults

    engine.close()
    held = [event.held for event in engine.kinds("prefix_lookup")]
    assert [0, 0, 60] == held
    mine = [e for e in engine.kinds("block_cached") if e.claim_id]
    assert [(name_of("0"), False), (None, True)] == [
        (e.request_id and e.request_id[0], e.found) for e in mine
    ]
    assert 2 == len(engine.kinds("claim_materialized"))
    assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict


@pytest.mark.parametrize("policy", ["fail", "recompute"])
def test_fails(failing: Failing, policy: str) -> None:
    engine = failing(policy)
    (first,) = engine.serve(RESIDENT)
    reset(engine)
    FailingConnector.fails.append(40)
    a, b = engine.serve((*RESIDENT, claim()), RESIDENT)
    print(first, a, b, look(engine), FailingConnector.fails)
    print(engine.serve(RESIDENT))
    print(look(engine), engine.armed.attachments[0].faults)
    engine.close()
    for e in engine.events():
        print(e.kind, e.claim_id, e.request_id, e.found, e.held, e.asked, len(e.block_ids or ()))
    print(engine.judge(Mode.HARD_PROTECTED).verdict)
    assert 0
