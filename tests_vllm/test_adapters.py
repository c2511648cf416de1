"""What a version adds that was not tried keeps the plugin off, and nothing else of it does."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest
from vllm.config import KVTransferConfig
from vllm.v1.kv_offload.cpu.manager import CPUOffloadingManager

from runtime_hooks.engines import adapter_of, installed, package_of, v0_33
from runtime_hooks.engines.shared.hooking import VllmAdapter
from tests_vllm.conftest import Make
from tests_vllm.test_server import OFFLOADING

IS_0_33 = package_of(installed()) == v0_33.__name__


def config(extra: dict[str, Any] | None = None, *, auxiliary: bool = False) -> Any:
    """The part of a configuration that is new in 0.33; `extra` is that of a connector."""
    transfer = None if extra is None else SimpleNamespace(kv_connector_extra_config=extra)
    return SimpleNamespace(
        kv_transfer_config=transfer,
        aux_output_config=SimpleNamespace(enabled=auxiliary),
        speculative_config=None,
    )


class TestV033:
    """vLLM 0.33."""

    @pytest.mark.parametrize("extra", [None, {}, {"sync_load_budget_bytes": 0}])
    def test_fit(self, extra: dict[str, Any] | None) -> None:
        """Without loads within a step and without auxiliary output it arms."""
        assert "" == v0_33.ADAPTER.unfit_settings(config(extra))

    @pytest.mark.parametrize("budget", [1, "1048576"])
    def test_loads_within_a_step(self, budget: object) -> None:
        """A budget for loads within a step keeps it off."""
        why = v0_33.ADAPTER.unfit_settings(config({"sync_load_budget_bytes": budget}))
        assert f"sync_load_budget_bytes is {budget}, and loads within a step were not tried" == why

    def test_auxiliary_output(self) -> None:
        """So does a model that returns auxiliary output."""
        assert "auxiliary output" in v0_33.ADAPTER.unfit_settings(config(auxiliary=True))

    @pytest.mark.parametrize("manager", ["CPUOffloadingManager", "Another"])
    def test_manager(self, manager: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """So does a manager of the tier other than the one whose lock does nothing."""
        kind = {"Another": type("Another", (CPUOffloadingManager,), {})}
        made = object.__new__(kind.get(manager, CPUOffloadingManager))
        monkeypatch.setattr(VllmAdapter, "unfit", lambda self, scheduler: "")
        monkeypatch.setattr(v0_33, "manager_of", lambda scheduler: made)
        why = "the offload tier has a Another, and CPUOffloadingManager was tried"
        assert {"Another": why}.get(manager, "") == v0_33.ADAPTER.unfit(None)

    @pytest.mark.skipif(not IS_0_33, reason="the setting is new in vLLM 0.33")
    def test_engine(self, make: Make, caplog: pytest.LogCaptureFixture) -> None:
        """An engine with such a budget is not hooked, and serves."""
        transfer = KVTransferConfig(**copy.deepcopy(OFFLOADING))
        transfer.kv_connector_extra_config["sync_load_budget_bytes"] = 1 << 20
        engine = make(engine={"kv_transfer_config": transfer})
        assert "not armed: sync_load_budget_bytes is 1048576" in caplog.text
        (answer,) = engine.serve(("resident", 3))
        assert "length" == answer.finish_reason


def test_others() -> None:
    """The other versions have no settings of their own that keep the plugin off."""
    adapter, _ = adapter_of(installed())
    assert IS_0_33 or "" == adapter.unfit_settings(config({"sync_load_budget_bytes": 1}))
