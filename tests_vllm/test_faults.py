"""Every function of the plugin fails once, under load, in the real engine: the engine goes on.

The functions are found by running the load: whatever of the plugin runs on the engine's thread is
made to fail, but for the shells that call all the rest and catch what it raises.
"""

from __future__ import annotations

import inspect
import itertools
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from types import CodeType, FrameType
from typing import Any

import pytest
from msgspec.structs import replace
from vllm.distributed.kv_transfer import get_kv_transfer_group
from vllm.v1.request import RequestStatus

import runtime_hooks
from monitor.check.files import check
from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.scenes import offloading
from runtime_hooks.engines.shared.hook_points import POINTS
from runtime_hooks.engines.shared.worker import CheckedWorker
from runtime_hooks.settings.config import Drill
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.envelopes import retain, setting, span
from tests_vllm.architectures import ARCHITECTURES
from tests_vllm.conftest import Clock, Make
from tests_vllm.connectors import FailingConnector, saving
from tests_vllm.drafts import drafting
from tests_vllm.engine import Engine
from tests_vllm.own_connector import PLAN, owning
from tests_vllm.stage import end_of, play
from tests_vllm.table import ROWS

OURS = str(Path(runtime_hooks.__file__).parent) + "/"
WORKER = OURS + "engines/shared/worker.py"
APART = (OURS + "demo/", WORKER, OURS + "engines/shared/memcpy.py")
"""The scenes, what a worker runs, and the copies by the CPU, which take the place of vLLM's own."""
HOOKED = {
    "Scheduler.add_request": "StepHooks._add_request.<locals>.add_request",
    "Scheduler.schedule": "StepHooks._schedule.<locals>.schedule",
    "Scheduler._handle_blocked_waiting_request": (
        "StepHooks._handle_blocked.<locals>.handle_blocked_waiting_request"
    ),
    "Scheduler.update_from_output": "StepHooks._update_from_output.<locals>.update_from_output",
    "Scheduler._free_request": "StepHooks._free_request.<locals>.free_request",
    "KVCacheManager.allocate_slots": "BlockHooks._allocate_slots.<locals>.allocate_slots",
    "BlockPool.get_new_blocks": "BlockHooks._get_new_blocks.<locals>.get_new_blocks",
    "BlockHashToBlockMap.pop": "BlockHooks._pop.<locals>.pop",
    "BlockPool.cache_full_blocks": "BlockHooks._cache_full_blocks.<locals>.cache_full_blocks",
    "BlockPool.evict_blocks": "BlockHooks._evict_blocks.<locals>.evict_blocks",
    "BlockPool.reset_prefix_cache": "BlockHooks._reset_prefix_cache.<locals>.reset_prefix_cache",
    "FreeKVCacheBlockQueue.popleft_n": "RankedQueue._popleft_n.<locals>.popleft_n",
    "FreeKVCacheBlockQueue.append_n": "RankedQueue._append_n.<locals>.append_n",
    "FreeKVCacheBlockQueue.remove": "RankedQueue._remove.<locals>.remove",
}
"""The hooks that the load reaches, and the function of the plugin that the engine calls there."""

SPARSE = {
    "KVCacheManager.get_computed_blocks": (
        "BlockHooks._get_computed_blocks.<locals>.get_computed_blocks"
    ),
}
TIER = {
    "CPUOffloadingManager.prepare_load": "OffloadHooks._loading.<locals>.prepare_load",
    "CPUOffloadingManager.complete_store": "OffloadHooks._stored.<locals>.complete_store",
    "CPUOffloadingManager.prepare_store": "OffloadHooks._storing.<locals>.prepare_store",
    "CPUOffloadingManager.reset_cache": "OffloadHooks._reset.<locals>.reset_cache",
    "Scheduler._free_blocks": "OffloadHooks._free_blocks.<locals>.free_blocks",
    "Scheduler._update_waiting_for_remote_kv": (
        "OffloadHooks._loaded.<locals>.update_waiting_for_remote_kv"
    ),
    "OffloadingConnectorScheduler.get_num_new_matched_tokens": (
        "OffloadHooks._matched.<locals>.get_num_new_matched_tokens"
    ),
    "OffloadingConnectorScheduler.update_connector_output": (
        "OffloadHooks._output.<locals>.update_connector_output"
    ),
}
LATE = "a connector that loads ahead and keeps blocks"
CONNECTOR = {
    "Scheduler._free_blocks": "LoadHooks._free_blocks.<locals>.free_blocks",
    "Scheduler._handle_invalid_blocks": "LoadHooks._invalid.<locals>.handle_invalid_blocks",
    "Scheduler._connector_finished": "LoadHooks._finished.<locals>.connector_finished",
    "Scheduler._update_from_kv_xfer_finished": (
        "LoadHooks._transferred.<locals>.update_from_kv_xfer_finished"
    ),
}
OTHER = {
    "two caches": SPARSE,
    "a drafting model": {},
    "a connector": CONNECTOR,
    LATE: {
        **CONNECTOR,
        "Scheduler._update_waiting_for_remote_kv": (
            "LoadHooks._loaded.<locals>.update_waiting_for_remote_kv"
        ),
    },
    "a tier": {
        **TIER,
        "Scheduler._handle_invalid_blocks": "OffloadHooks._invalid.<locals>.handle_invalid_blocks",
    },
    "two caches and a tier": {**SPARSE, **TIER},
    "several tiers": {
        **TIER,
        "CPUPrimaryTierOffloadingManager.complete_write": (
            "OffloadHooks._promoted.<locals>.complete_write"
        ),
    },
}
"""The hooks that the same load reaches in other engines."""

PARTS = 4
"""An engine of another kind takes minutes: each function is in one of these parts."""

CATCHERS = {"StepHooks._end_refused", "Wraps.attempt", "Wraps.instead"}
"""What these functions call directly, and what catches exceptions for them."""

SHELLS = CATCHERS | set(HOOKED.values()) | {f for each in OTHER.values() for f in each.values()}
"""The functions that are not made to fail; they call the others."""

WORKER_SHELLS = {
    "check_workers",
    *(f"check_workers.<locals>.{name}" for name in ("init_worker", "build_meta", "load_errors")),
    *(f"check_workers.<locals>.{name}" for name in ("aggregate", "end")),
    *(f"CheckedWorker.{name}" for name in ("__init__", "submit_store", "submit_load")),
    *(f"CheckedWorker.{name}" for name in ("get_finished", "wait", "shutdown", "_compare")),
}
"""What vLLM calls directly in a worker, and what catches exceptions there."""

ELSEWHERE = {
    "Scheduler.finish_requests": "called by the plugin, and not wrapped",
    "BlockPool.touch": "called by the plugin, and not wrapped",
    "BlockPool.free_blocks": "called by the plugin, and not wrapped",
    "EngineCore.shutdown": "the engine ends",
    "KVCacheManager.get_computed_blocks": "several caches",
    "BlockPool.cache_partial_block": "several caches",
    "EngineCoreProc.run_busy_loop": "the loop of an engine in a process of its own",
    "CPUOffloadingManager.complete_store": "the offload tier",
    "CPUOffloadingManager.prepare_store": "the offload tier",
    "CPUOffloadingManager.prepare_load": "the offload tier",
    "CPUOffloadingManager.complete_load": "the offload tier",
    "CPUOffloadingManager.reset_cache": "the offload tier",
    "Scheduler._update_waiting_for_remote_kv": "a connector",
    "Scheduler._free_blocks": "a connector",
    "Scheduler._handle_invalid_blocks": "a connector",
    "Scheduler._handle_failed_recving": "called by the plugin, and not wrapped",
    "OffloadingConnectorScheduler.get_num_new_matched_tokens": "the offload tier",
    "OffloadingConnectorScheduler.update_connector_output": "the offload tier",
    "OffloadingConnectorWorker._init_worker": "the worker",
    "OffloadingWorker.submit_store": "the worker",
    "OffloadingWorker.submit_load": "the worker",
    "OffloadingConnectorWorker.build_connector_worker_meta": "the worker",
    "OffloadingConnector.get_block_ids_with_load_errors": "the worker",
    "GenerateBaseServing.__init__": "the server",
    "GenerateBaseServing.create_error_response": "the server",
    "generation_error_handler": "the server",
    "register_api_routers": "the server",
    "DPLBAsyncMPClient.get_core_engine_for_request": "a server with data-parallel ranks",
    "AsyncLLM._add_request": "a server with data-parallel ranks",
    "get_prometheus_registry": "the server",
}
"""The hooks that this load does not reach, and what reaches them."""

USABLE = 24
LIMIT_S = 10.0
NUMBERS = itertools.count()


class Injected(Exception):
    """The fault."""


def in_core(path: str) -> bool:
    """Whether a file has functions of the plugin that run in the engine core."""
    return path.startswith(OURS) and not path.startswith(APART)


def in_worker(path: str) -> bool:
    """Whether a file has functions of the plugin that run in a worker."""
    return path == WORKER


@contextmanager
def watching(called: Callable[[CodeType], None], where: Callable[[str], bool]) -> Iterator[None]:
    """Call this at every call of a function of such files on this thread; it may raise."""

    def trace(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        ours = event == "call" and where(code.co_filename)
        if ours and code.co_name != "<genexpr>":  # closing one resumes it
            called(code)

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def answer(engine: Engine, *requests: Any) -> list[str]:
    """How these requests ended, as the core says; they must."""
    ids = {request.request_id: "" for request in requests}
    for request in requests:
        engine.core.scheduler.add_request(request)
    until = time.monotonic() + LIMIT_S
    while not all(ids.values()) and time.monotonic() < until:
        outputs, _ = engine.core.step()
        if not outputs:
            time.sleep(0.001)  # a load takes fewer steps
        for out in (out for outs in outputs.values() for out in outs.outputs):
            if out.finish_reason is not None:
                ids[out.request_id] = str(out.finish_reason)
    return list(ids.values())


class Load:
    """Requests of every sort, each under a new id."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.ends = engine, list[str]()

    def ask(self, *asked: Any) -> None:
        """Requests that arrive together."""
        self.ends += answer(self.engine, *[self.request(*each) for each in asked])

    def request(self, name: str, blocks: int, metadata: Any = None) -> Any:
        """A request under a new id."""
        request = self.engine.request((name, blocks, *([metadata] if metadata else [])))
        request.request_id = f"r{next(NUMBERS)}"
        return request

    def begin(self) -> None:
        """A claim that lives until the end."""
        self.ask(("resident", 4, claim("resident", 4)))

    def run(self) -> None:
        """Everything else that the hooks see."""
        scheduler = self.engine.core.scheduler
        soft = {"mode": "soft_priority"}
        self.ask(("low", 5, claim("low", 5, priority=1, **soft)))
        self.ask(("high", 5, claim("high", 5, priority=2, **soft)), ("resident", 6))
        self.ask(("low", 5), ("plain", 3), ("kept out", 3, {"no_admit": True}))
        self.ask(("large", 18))  # evicts by rank
        self.ask(("too large", 23))  # is refused
        self.ask(("wrong", 2, {"resident_claim": {"claim_id": 7}, "release_claim": None}))
        self.ask(("job", 3, {"pin": {"job_id": "j", "last_step": False, "ttl": "9 s"}}))
        self.ask(("job", 3, {"pin": {"job_id": "j", "last_step": True}}))
        self.ask(("brief", 3, claim("brief", 3, "expiring", duration="2 steps")), ("plain", 4))
        timed, tried = claim("timed", 3, "expiring", duration="99 steps"), claim("tried", 2)
        self.ask(("timed", 3, timed), ("plain", 2, {"try_claim": tried["resident_claim"]}))
        again = {"claim_id": "timed", "successor": "timed again", "owner_scope": "tenant"}
        self.ask(("plain", 2, {"renew_claim": again}))
        other = {**again, "claim_id": "timed again", "successor": "timed otherwise"}
        self.ask(("plain", 2, {"change_mode": {**other, "protection_mode": "demotable"}}))
        done = {"claim_id": "timed otherwise", "owner_scope": "tenant"}
        self.ask(("plain", 2, {"release_claim": done}))
        self.ask(
            ("hinted", 3, {"kv_hints": retain(span(0, 64, 9, duration=60), span(64, None, 1))})
        )
        self.ask(("hinted", 3, {"kv_hints": setting(1)}), ("plain", 1, {"kv_hints": [7]}))
        self.ask(("away", 4, claim("away", 3, "offloadable")), ("plain", 4))
        self.ask(("weak", 3, claim("weak", 3, "demotable")), ("plain", 5))
        self.ask(("demotes", 19))
        self.ask(("best", 3, claim("best", 3, "best_effort")))
        gone, unlimited = self.request("gone", 3, claim("gone", 3)), self.request("unlimited", 2)
        unlimited.max_tokens = (USABLE - 2) * 32
        for each in (gone, unlimited):
            scheduler.add_request(each)
            scheduler.finish_requests([each.request_id], RequestStatus.FINISHED_ABORTED)
        self.evict_first()
        scheduler.reset_prefix_cache()
        self.ask(("resident", 6), ("resident", 7), ("high", 5), ("away", 4))
        self.ask(("away", 4))  # its first load fails
        scheduler.reset_prefix_cache(reset_connector=True)
        self.stop_and_start()
        owner = {"claim_id": "resident", "owner_scope": "tenant"}
        self.ask(("plain", 2, {"release_claim": owner}), ("plain", 20))

    def evict_first(self) -> None:
        """The first blocks of the claim that lives until the end leave the cache."""
        pool, probe = self.engine.pool, self.engine.request(("resident", 2))
        found = [pool.get_cached_block(each, [0]) for each in probe.block_hashes]
        pool.evict_blocks({blocks[0].block_id for blocks in found if blocks is not None})

    def stop_and_start(self) -> None:
        """Claims are written as on a stop, and resumed as on a start, by the same engine."""
        (attachment,) = self.engine.armed.attachments
        lasting = claim("lasting", 1, "expiring", duration="99 s", resume="recompute")
        self.ask(("lasting", 2, lasting))
        attachment._wraps.attempt("shutdown", attachment.controller.save)
        attachment.controller._to_take = attachment.controller._resume
        self.ask(("lasting", 2))


class Stage:
    """One engine, hooked anew for each run."""

    def __init__(self, engine: Engine, kind: str) -> None:
        self.engine, self.kind, self.number = engine, kind, 0

    def run(
        self, called: Callable[[CodeType], None], where: Callable[[str], bool]
    ) -> tuple[Any, list[str], Path]:
        """Run the load; returns the attachment, how requests ended, and the trace."""
        armed, engine = self.engine.armed, self.engine
        for attachment in armed.attachments:
            attachment.detach()
        armed.attachments.clear()
        scheduler = engine.core.scheduler
        scheduler.finish_requests(list(scheduler.requests), RequestStatus.FINISHED_ABORTED)
        scheduler.reset_prefix_cache(reset_connector=True)
        self.number += 1
        trace = engine.trace.with_name(f"run{self.number}.jsonl")
        armed.settings = replace(armed.settings, trace=str(trace), defer_s=0.01)
        armed.attach(engine.core.scheduler)
        (attachment,) = armed.attachments
        # A clock of its own: it steps as often while a request waits, however fast it is. Seconds
        # go by, so that claims would be restated, if that was allowed after a fault.
        Clock(engine).STEP_NS = 20_000_000
        for name in ("saved", "disk"):
            rmtree(trace.with_name(name), ignore_errors=True)
        FailingConnector.fails[:] = [0.5] * 9
        if self.kind == LATE:
            owning(steps=2, fail_next=1, keeps=0.5)
            scheduler.connector._known.clear()
        if self.kind.endswith("a tier"):
            get_kv_transfer_group().connector_worker.worker._compares = True
        load = Load(engine)
        load.begin()
        with watching(called, where):
            load.run()
        PLAN.keeps = 0.0
        load.ask(("after", 1))  # what an earlier request copies is done then
        while PLAN.kept:
            load.ask(("after", 1))
        attachment.detach()
        return attachment, load.ends, trace


def unused(engine: Engine) -> list[int]:
    """The blocks in the engine's own free queue, as it is linked."""
    queue, found = engine.pool.free_block_queue, []
    block = queue.fake_free_list_head.next_free_block
    while block is not queue.fake_free_list_tail:
        found.append(block.block_id)
        block = block.next_free_block
    assert queue.num_free_blocks == len(found)
    return sorted(found)


def configured(kind: str, folder: Path) -> tuple[int, dict[str, Any]]:
    """The usable blocks and the configuration of an engine of a kind."""
    length = {"max_model_len": USABLE * 32}
    tier = offloading("recompute") if kind.endswith("a tier") else {}
    if kind.startswith("two caches"):
        return 2 * USABLE + 2, {"config": ARCHITECTURES["gpt-oss"], **length, **tier}
    if kind == "a drafting model":
        return USABLE + 2, {**drafting("eagle", folder), **length}
    if kind == LATE:
        return USABLE, {**owning("recompute"), **length}
    if kind == "several tiers":
        disk = {"type": "fs", "root_dir": str(folder / "disk")}
        return USABLE, {
            **offloading(spec_name="MemcpyTieringSpec", secondary_tiers=[disk]),
            **length,
        }
    if kind == "a connector":
        name = FailingConnector.__name__
        return USABLE, {**saving(folder / "saved", "recompute", name), **length}
    return USABLE, {**length, **tier}


@pytest.fixture(
    params=["one cache", *(pytest.param(kind, marks=pytest.mark.deep) for kind in OTHER)]
)
def stage(make: Make, failing_loads: None, tmp_path: Path, request: pytest.FixtureRequest) -> Stage:
    usable, engine = configured(request.param, tmp_path)
    resume = str(tmp_path / "outliving.json")
    # vLLM itself fails where a load into several caches does.
    drill = Drill(fail_loads={"away": 1} if request.param == "a tier" else {})
    return Stage(make(usable, engine=engine, resume=resume, drill=drill), request.param)


def reached(stage: Stage, where: Callable[[str], bool] = in_core) -> Counter[CodeType]:
    """The functions of the plugin that run under the load, with how often."""
    calls: Counter[CodeType] = Counter()
    attachment, ends, trace = stage.run(lambda code: calls.update((code,)), where)
    assert attachment.faults == {}
    assert "abort" in ends
    assert set(ends) <= {"length", "abort"}
    assert ModeVerdict.VIOLATED is not judge(trace)
    return calls


def judge(trace: Path) -> ModeVerdict:
    return check([str(trace)], Mode.HARD_PROTECTED, Bundle.CONTRACT).verdict


def faulty(
    stage: Stage, calls: Counter[CodeType], failing: list[CodeType], where: Callable[[str], bool]
) -> list[str]:
    """What is wrong after each function fails at its first call, and at a later one."""
    wrong: list[str] = []
    for code in failing:
        times = calls[code]
        for at in sorted({1, (times + 3) // 4}):
            if fault := fail(stage, code, at, where):
                wrong.append(f"{code.co_qualname}:{code.co_firstlineno} at {at}: {fault}")
    return wrong


def fail(stage: Stage, code: CodeType, at: int, where: Callable[[str], bool]) -> dict[str, Any]:
    """What is wrong after one function failed at one of its calls."""
    left = at

    def called(now: CodeType) -> None:
        nonlocal left
        left -= now is code
        if now is code and not left:
            raise Injected

    try:
        attachment, ends, trace = stage.run(called, where)
    except Exception as raised:
        return {"raised": repr(raised)}
    found = {
        "fired": left <= 0,
        "noted": bool(attachment.faults),
        "ends": set(ends) <= {"length", "abort"} and all(ends),
        "free": unused(stage.engine) == list(range(1, stage.engine.pool.num_gpu_blocks)),
        "used": not any(block.ref_cnt for block in stage.engine.pool.blocks[1:]),
        "verdict": judge(trace) is ModeVerdict.INCONCLUSIVE,
    }
    return {what: right for what, right in found.items() if not right}


def functions(code: CodeType) -> Iterator[CodeType]:
    """The functions whose code this has in it, but for generator expressions."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if each.co_flags & inspect.CO_OPTIMIZED and each.co_name != "<genexpr>":
                yield each  # the body of a class is none
            yield from functions(each)


class TestHooks:
    def test_reached(self, stage: Stage) -> None:
        """The load reaches every hook, or it is said what else does."""
        assert {point.name for point in POINTS} == HOOKED.keys() | ELSEWHERE.keys()
        shells = CATCHERS | {*HOOKED.values(), *OTHER.get(stage.kind, {}).values()}
        assert {code.co_qualname for code in reached(stage)} >= shells


class TestFault:
    @pytest.mark.parametrize("part", range(PARTS))
    def test_each(self, stage: Stage, part: int) -> None:
        """Each function fails at its first call, and at a later one.

        Every request is answered, the blocks are the engine's own again, the claim that lived then
        is inconclusive, and nothing is violated.
        """
        calls = reached(stage)
        failing = sorted(
            (code for code in calls if code.co_qualname not in SHELLS),
            key=lambda code: (code.co_qualname, code.co_filename, code.co_firstlineno),
        )
        assert faulty(stage, calls, failing[part::PARTS], in_core) == []


class TestWorker:
    """The plugin fails in an offloading worker."""

    @pytest.mark.parametrize(
        "stage",
        ["a tier", pytest.param("two caches and a tier", marks=pytest.mark.deep)],
        indirect=True,
    )
    def test_each(self, stage: Stage) -> None:
        """Each of its functions there fails at its first call, and at a later one: the engine does
        as if it had not, and the verdict is inconclusive."""
        calls = reached(stage, in_worker)
        source = compile(Path(WORKER).read_text(), WORKER, "exec")
        failing = [code for code in calls if code.co_qualname not in WORKER_SHELLS]
        every = {code.co_qualname for code in functions(source)}
        assert every == WORKER_SHELLS | {code.co_qualname for code in failing}
        assert faulty(stage, calls, failing, in_worker) == []

    @pytest.mark.parametrize(
        ("name", "failing", "ends"),
        [
            ("path B, other bytes", "_same", "0 0 0 61"),
            ("path B, a load that fails", "_remember", "0 0 0 not_restored"),
            ("a store that fails", "_remember", "0 0 refused 60 0 0 61"),
        ],
    )
    def test_transfers(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, failing: str, ends: str
    ) -> None:
        """Where loads are not compared after a fault, a load of other bytes is served, as by vLLM,
        and its claim is not kept. A transfer that says itself that it failed is still reported."""

        def fault(*_: Any) -> None:
            raise Injected

        monkeypatch.setattr(CheckedWorker, failing, fault)
        played = play(ROWS[name], tmp_path)
        assert ends == " ".join(map(end_of, played.answers))
        assert ModeVerdict.INCONCLUSIVE is played.report.verdict
