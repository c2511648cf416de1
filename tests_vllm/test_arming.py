"""The plugin arms where the engine is as it was tried, and otherwise says why and stays away."""

from __future__ import annotations

import ast
import inspect
import json
import logging
import os
import queue
import re
import subprocess
import sys
from collections import Counter, OrderedDict, deque
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from vllm.v1.core.block_pool import BlockPool
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.request import Request

from runtime_hooks.demo.engine import claim
from runtime_hooks.engines import adapter_of, checks, installed, package_of, shared
from runtime_hooks.engines.shared.hook_points import LOADS, TIERS
from runtime_hooks.engines.shared.steps import StepHooks
from runtime_hooks.plugin.arming import ArmingError, arm, disarm
from runtime_hooks.settings.config import Settings
from runtime_hooks.settings.switch import REQUIRE
from runtime_hooks.trace.faults import NotArmed
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import LONG_S, Make
from tests_vllm.engine import Engine

SHARED = Path(shared.__file__).parent
OWN = SHARED.parent / package_of(installed()).rpartition(".")[2]
OURS = SHARED.parents[1]
OTHERS = {
    name
    for kind in (
        dict,
        Counter,
        list,
        set,
        str,
        bytes,
        deque,
        OrderedDict,
        re.Pattern,
        type(blake2b()),
        queue.Queue,
        logging.Logger,
    )
    for name in dir(kind)
}
OTHERS |= {
    "BAD_REQUEST",
    "SERVICE_UNAVAILABLE",
    "__qualname__",
    "__struct_fields__",
    "model_dump",
    "value",
}
OTHERS |= {"contiguous", "cpu", "device", "dtype", "numpy", "shape", "to", "tobytes"}
OTHERS |= {"FULL", "NONE", "routes", "__name__", "nbytes", "__cause__"}
OTHERS |= {"ROUTED_REUSE", "protection_mode", "set", "view"}
OTHERS |= {"model_tag", "parse_args", "from_cli_args", "create_engine_config", "get_class"}
OTHERS |= {"OPENAI_API_SERVER", "getvalue"}
"""Attributes of objects that are no part of the engine: of Python, Pydantic, torch, NumPy,
Starlette and prometheus_client; and what only doctor reads, of vLLM's command line.
"""


def attributes(path: Path) -> set[str]:
    """The attributes that a module of the adapter names, but for those of modules."""
    tree = ast.parse(path.read_text())
    modules = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return {each.attr for each in found if ast.unparse(each.value) not in modules}


def defined(path: Path) -> set[str]:
    """What a module of ours defines: functions, classes, fields and attributes."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


class TestArm:
    def test_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A hook point that is gone is named, with the version; nothing is wrapped."""
        made = Scheduler.__init__
        monkeypatch.delattr(Scheduler, "_handle_blocked_waiting_request")
        with pytest.raises(ArmingError) as caught:
            arm(Settings())
        assert f"vLLM {installed()} is not as it was tried" in str(caught.value)
        assert "Scheduler._handle_blocked_waiting_request: there is no" in str(caught.value)
        assert made is Scheduler.__init__

    def test_different(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One that takes something else is named with both signatures."""
        monkeypatch.setattr(BlockPool, "get_new_blocks", lambda self, count, rank: [])
        with pytest.raises(ArmingError) as caught:
            arm(Settings())
        assert "BlockPool.get_new_blocks: it takes (self, count, rank)" in str(caught.value)

    @pytest.mark.parametrize("name", ["is_finished", "num_prompt_tokens"])
    def test_unread(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        """An attribute that is read and is not there is named, whoever sets it."""
        real = checks._set
        without = {kind: names - {name} for kind, names in real(Request.__module__).items()}
        monkeypatch.setattr(
            checks, "_set", lambda module: without if module == Request.__module__ else real(module)
        )
        monkeypatch.delattr(Request, name, raising=False)
        with pytest.raises(ArmingError, match=f"Request: its objects have no {name};"):
            arm(Settings())

    def test_all_read(self) -> None:
        """Every attribute of the engine that the adapter names is checked when it arms, but for
        those that are read with other connectors or tiers alone, where these were not tried."""
        adapter: Any = adapter_of(installed())[0]
        points = {*adapter.points, *LOADS, *TIERS}
        parts = [*SHARED.glob("*.py"), *OWN.glob("*.py")]
        named = {name for path in parts for name in attributes(path)}
        ours = {name for path in OURS.rglob("*.py") for name in defined(path)}
        hooks = [point for point in points if isinstance(point, checks.Hook)]
        checked = {point.path.rpartition(".")[2].rpartition(":")[2] for point in hooks}
        reads = [point for point in points if isinstance(point, checks.Reads)]
        checked |= {name for each in reads for name in each.names}
        assert set() == named - ours - checked - OTHERS

    def test_twice(self, tmp_path: Path) -> None:
        """Armed once with some settings, it is not armed with others."""
        first = arm(Settings(trace=str(tmp_path / "a")))
        assert first is arm(Settings(trace=str(tmp_path / "a")))
        with pytest.raises(ArmingError, match="armed already"):
            arm(Settings(trace=str(tmp_path / "b")))
        disarm()

    def test_failed_engine(self, tmp_path: Path) -> None:
        """An engine that cannot be made leaves this process as it was."""
        made = Scheduler.__init__
        with pytest.raises(ValueError, match="larger than the available KV cache memory"):
            Engine(tmp_path, usable=10)
        assert made is Scheduler.__init__
        arm(Settings(trace=str(tmp_path / "another")))
        disarm()

    def test_disarm(self, make: Make) -> None:
        """Disarmed at run time, the engine is its own again and goes on; no block is held."""
        engine = make()
        engine.serve(("resident", 60, claim()))
        assert 20 == engine.pool.get_num_free_blocks()
        disarm()
        assert 80 == engine.pool.get_num_free_blocks()
        assert inspect.ismethod(engine.pool.get_new_blocks)
        assert inspect.ismethod(engine.core.scheduler.schedule)
        (answer,) = engine.serve(("active", 70))
        assert "length" == answer.finish_reason
        assert 10 == sum(engine.cached("resident", 60))
        assert ModeVerdict.INCONCLUSIVE is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_half(
        self, make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Where a hook cannot be put none is: the engine is its own, and serves."""
        monkeypatch.delattr(StepHooks, "_free_request")
        engine = make()
        assert "not armed: it failed while it hooked the engine" in caplog.text
        assert [] == engine.armed.attachments
        assert "schedule" not in vars(engine.core.scheduler)
        assert "get_new_blocks" not in vars(engine.pool)
        (answer,) = engine.serve(("resident", 3, claim(blocks=2)))
        assert ("length", {}) == (answer.finish_reason, answer.metadata)

    def test_unfit(self, make: Make, caplog: pytest.LogCaptureFixture) -> None:
        """An engine without a prefix cache is not hooked, and serves."""
        engine = make(engine={"enable_prefix_caching": False})
        assert "not armed: prefix caching is off" in caplog.text
        assert not engine.trace.exists()
        (answer,) = engine.serve(("resident", 3, claim(blocks=2)))
        assert ("length", {}) == (answer.finish_reason, answer.metadata)

    @pytest.mark.parametrize("half", [False, True])
    def test_required(
        self, make: Make, monkeypatch: pytest.MonkeyPatch, caplog: Any, half: bool
    ) -> None:
        """Where the plugin is required, an engine that it cannot hook does not start."""
        monkeypatch.setenv(REQUIRE, "1")
        if half:
            monkeypatch.delattr(StepHooks, "_free_request")
        with pytest.raises(NotArmed, match="RESIDENT_CLAIMS_REQUIRE is set, so vLLM ends"):
            make(engine={"enable_prefix_caching": half})
        assert "resident-claims is not armed" in caplog.text

    def test_no_trace(self, tmp_path: Path, make: Make, caplog: pytest.LogCaptureFixture) -> None:
        """A trace that is there is not overwritten: the engine is not hooked, and serves."""
        (tmp_path / "trace.jsonl").write_text("mine\n")
        engine = make()
        assert "trace.jsonl cannot be made: File exists" in caplog.text
        (answer,) = engine.serve(("resident", 3))
        assert "length" == answer.finish_reason
        assert "mine\n" == engine.trace.read_text()


class TestFaults:
    def test_contained(self, make: Make, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
        """Hooks that fail are counted and said once; the engine serves, the verdict is open."""
        engine = make()
        engine.serve(("resident", 60, claim()))
        (attachment,) = engine.armed.attachments

        def fail(*_: object) -> None:
            raise RuntimeError("a fault of ours")

        monkeypatch.setattr(attachment.controller, "arrive", fail)
        for name in ("one", "two", "three"):
            (answer,) = engine.serve((name, 2))
            assert "length" == answer.finish_reason
        assert {("add_request", "RuntimeError"): 3} == attachment.faults
        assert 1 == caplog.text.count("a hook failed at add_request")

        engine.close()
        report = engine.judge(Mode.HARD_PROTECTED)
        assert ModeVerdict.INCONCLUSIVE is report.verdict

    def test_unanswered(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        """A claim that was taken, and of which the client could not be told, holds nothing."""
        engine = make()
        with monkeypatch.context() as patch:
            patch.setattr(StepHooks, "_note", lambda *_: 1 / 0)
            (answer,) = engine.serve(("resident", 60, claim()))
        assert ("length", {}) == (answer.finish_reason, answer.metadata)
        assert 80 == engine.pool.get_num_free_blocks()
        (answer,) = engine.serve(("resident", 60, claim("claim:again")))
        assert {"claim": {"decision": "accepted"}} == answer.metadata

        engine.close()
        judged = {c.claim_id: c.verdict for c in engine.judge(Mode.HARD_PROTECTED).claims}
        assert ModeVerdict.INCONCLUSIVE is judged["claim:resident"]
        assert ModeVerdict.VIOLATED not in judged.values()


SERVE = """
from pathlib import Path
import sys
from runtime_hooks.demo.tiny import DTYPE, MEMORY, model_folder, tokens
from vllm import LLM, SamplingParams
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.request import Request
llm = LLM(model=str(model_folder(Path(sys.argv[1]))), load_format="dummy", skip_tokenizer_init=True,
          enforce_eager=True, num_gpu_blocks_override=11, block_size=32, max_model_len=320,
          max_num_seqs=1, dtype=DTYPE, **MEMORY)
llm.generate([{"prompt_token_ids": tokens("a", 2)}], SamplingParams(max_tokens=1, detokenize=False))
print("hooked", "schedule" in vars(llm.llm_engine.engine_core.engine_core.scheduler))
inside = ("runtime_hooks.plugin.arming", "runtime_hooks.controller.controller")
print("loaded", any(name in sys.modules for name in inside))
"""


class TestEntryPoint:
    """As a user has it: the environment alone, in a process of its own."""

    def run(self, tmp_path: Path, switch: str, **more: str) -> str:
        environment = {**os.environ, "RESIDENT_CLAIMS": switch, **more}
        done = subprocess.run(
            [sys.executable, "-c", SERVE, str(tmp_path / "model")],
            capture_output=True,
            text=True,
            env=environment,
            timeout=LONG_S,
            check=True,
        )
        return done.stdout

    def test_off(self, tmp_path: Path) -> None:
        """Off, nothing is hooked, and nothing of the plugin but its entry is loaded."""
        out = self.run(tmp_path, "")
        assert "hooked False" in out
        assert "loaded False" in out

    @pytest.mark.parametrize("switch", ["", "none.json"])
    def test_required(self, tmp_path: Path, switch: str) -> None:
        """Off, or with settings that cannot be read, vLLM does not start where it is required."""
        with pytest.raises(subprocess.CalledProcessError) as failed:
            self.run(tmp_path, switch, RESIDENT_CLAIMS_REQUIRE="1")
        assert "hooked" not in failed.value.stdout
        assert "NotArmed: resident-claims is not armed: " in failed.value.stderr

    def test_on(self, tmp_path: Path) -> None:
        """On, the scheduler is hooked, and the trace is where the settings say."""
        settings = tmp_path / "settings.json"
        trace = tmp_path / "trace.jsonl"
        settings.write_text(json.dumps({"trace": str(trace)}))
        assert "hooked True" in self.run(tmp_path, str(settings))
        kinds = [json.loads(line)["kind"] for line in trace.read_text().splitlines()]
        told = ["request_arrived", "block_cached", "request_finished", "block_lost"]
        assert ["stream_opened", *told, "stream_closed"] == kinds
