"""Tests of plugin.arming that need no engine: how it is armed, its socket, and a lost trace."""

import json
import logging
import os
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from monitor.check.files import check
from runtime_hooks.claims.arrivals import Arrival
from runtime_hooks.control.client import ask as ask_engine
from runtime_hooks.control.folder import routes_of_server, sockets
from runtime_hooks.control.messages import List
from runtime_hooks.controller.controller import Controller
from runtime_hooks.engines.shared.attachment import HookedScheduler
from runtime_hooks.engines.shared.wraps import Wraps
from runtime_hooks.plugin.arming import Armed, described
from runtime_hooks.routing.rank import Rank, rank_in
from runtime_hooks.routing.routes import RouteLog
from runtime_hooks.settings.config import Drill, Routing, Settings
from runtime_hooks.trace.faults import LOG
from runtime_hooks.trace.file import TraceFile
from runtime_hooks.trace.journal import Journal, Line
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.events.canonical import CacheGroup
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import IDENTITY, TinyPool, claim, keys_of, prompt_keys


class TestDescribed:
    def test_default(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Paths are absolute; what is off is named as off."""
        monkeypatch.chdir(tmp_path)
        assert (
            f"events go to {tmp_path}/claims.1.jsonl; monitor off; "
            "control: /c/1.sock; epoch e0; "
            "enforced: hard_protected, demotable, expiring, offloadable, soft_priority; "
            "only reported on: best_effort; scopes: none, a request names its owner; "
            "quotas: an owner has at most 1000 claims"
        ) == described(Settings(), "claims.1.jsonl", "", "/c/1.sock", "e0")

    def test_all(self) -> None:
        """The monitor's files, the owners and a drill are named; API keys are not."""
        settings = Settings(
            monitor="enforce",
            enforce=(Mode.EXPIRING,),
            scopes={"key-a": "tenant-b", "key-b": "tenant-a", "key-c": "tenant-a"},
            claims=7,
            drill=Drill(fail_loads={"": 1}),
        )
        line = described(settings, "/a/claims.jsonl", "/b/claims.sock", "/c/1.sock", "e0")
        assert (
            "events go to /a/claims.jsonl; "
            "monitor enforce, with verdicts in /a/claims.jsonl.verdicts.jsonl; "
            "listeners at /b/claims.sock; control: /c/1.sock; epoch e0; enforced: expiring; "
            "only reported on: hard_protected, demotable, offloadable, soft_priority, "
            "best_effort; scopes: tenant-a, tenant-b; quotas: an owner has at most "
            "half of the pool, 7 claims; "
            "faults are injected (drill)"
        ) == line
        assert "key-" not in line
        assert "\n" not in line


class Full(TraceFile):
    """A trace on a disk that is full after some lines."""

    def take(self, lines: Sequence[Line]) -> None:
        """Write them, or raise."""
        if self._size > 1_000:
            raise OSError(28, "No space left on device")
        super().take(lines)


class FakeAdapter:
    """Hooks a tiny pool as if it were an engine; `alarm` is what the plugin gives it."""

    points = ()

    def unfit(self, scheduler: Any) -> str:
        """It can be hooked."""
        return ""

    def unobserved(self, scheduler: Any) -> tuple[str, ...]:
        """What its connector does not tell."""
        return ("what it saves", "what it loads")

    def rank(self, scheduler: Any) -> Rank | None:
        """The only engine."""
        return None

    def groups(self, scheduler: Any) -> tuple[CacheGroup, ...]:
        """One alone."""
        return ()

    def attach(
        self,
        scheduler: Any,
        settings: Settings,
        journal: Journal,
        alarm: Callable[[], str],
        routes: RouteLog | None,
    ) -> Any:
        """Make a controller on a pool."""
        pool = TinyPool(80)
        self.controller = Controller(
            settings, journal, pool, IDENTITY, None, prompts=prompt_keys, alarm=alarm
        )
        pool.lost = self.controller.tracker.lost
        wraps = Wraps(self.controller)
        return HookedScheduler(scheduler, self.controller, journal, wraps, lambda: None)


def ask(controller: Controller, name: str) -> str:
    """The answer to a claim on 5 blocks."""
    keys = keys_of(name, 5)
    decision = controller.arrive(Arrival(name, keys, 5, 5, claim(f"claim:{name}", 5)))
    controller.finish(name)
    return decision.answers["claim"]


class TestDegraded:
    @pytest.mark.parametrize("monitor", ["off", "observe", "enforce"])
    def test_trace(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        monitor: Any,
    ) -> None:
        """Once the trace cannot be written no claim is accepted, under each setting of the monitor;
        live ones stay, the log repeats it, and the operator sees it."""
        monkeypatch.setattr("runtime_hooks.plugin.arming.TraceFile", Full)
        monkeypatch.setattr("runtime_hooks.trace.journal.REMIND_S", 0.1)
        folder, trace = tmp_path / "control", tmp_path / "trace.jsonl"
        settings = Settings(trace=str(trace), control=str(folder), monitor=monitor)
        adapter, scheduler = FakeAdapter(), object()
        armed = Armed(settings, adapter)
        armed.attach(scheduler)
        assert "" == ask(adapter.controller, "first")
        until, said, number = time.monotonic() + 30, "", 0
        while said != "the trace can no longer be written" and time.monotonic() < until:
            number += 1
            said = ask(adapter.controller, f"more {number}")
            time.sleep(0.02)
        assert "the trace can no longer be written" == said
        assert 0 < adapter.controller.claims
        while caplog.text.count("is written no more") < 3 and time.monotonic() < until:
            time.sleep(0.02)
        assert 3 <= caplog.text.count("is written no more")
        assert "No space left on device" in caplog.text
        alarm = adapter.controller.operator.claims().engine.alarm
        assert "the trace can no longer be written" == alarm
        (attachment,) = armed.attachments
        assert "" == attachment.disarmed  # type: ignore[attr-defined]
        armed.leave(scheduler)
        assert ModeVerdict.INCONCLUSIVE is check([str(trace)], None, Bundle.CONTRACT).verdict

    def test_end(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the operator chose so the plugin is given up instead."""
        monkeypatch.setattr("runtime_hooks.plugin.arming.TraceFile", Full)
        trace, control = str(tmp_path / "trace.jsonl"), str(tmp_path / "control")
        adapter, scheduler = FakeAdapter(), object()
        armed = Armed(Settings(trace=trace, control=control, without_trace="end"), adapter)
        armed.attach(scheduler)
        attachment: Any = armed.attachments[0]
        until, number = time.monotonic() + 30, 0
        while not attachment.disarmed and time.monotonic() < until:
            number += 1
            ask(adapter.controller, f"more {number}")
            time.sleep(0.05)
        assert "the trace can no longer be written" == attachment.disarmed
        armed.leave(scheduler)


class TestSocket:
    """The operator's socket of an engine."""

    def armed(self, folder: Path, **settings: Any) -> tuple[Armed, FakeAdapter]:
        """The plugin, with a trace in this folder."""
        adapter = FakeAdapter()
        trace = str(folder / "{pid}.jsonl")
        return Armed(Settings(trace=trace, **settings), adapter), adapter

    def test_life(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """It is there as long as the engine, which wakes up for it; the log names it."""
        caplog.set_level(logging.INFO, LOG.name)
        folder = tmp_path / "control"
        armed, adapter = self.armed(tmp_path, control=str(folder))
        scheduler = object()
        armed.attach(scheduler)
        (path,) = sockets(folder)
        assert f"control: {path}; epoch {adapter.controller.epoch}; " in caplog.text
        armed.runs(scheduler, lambda act: act())  # here the thread of the socket is the engine's
        assert adapter.controller.epoch == ask_engine(path, List()).engine.epoch
        armed.leave(scheduler)
        assert [] == sockets(folder)

    def test_anew(self, tmp_path: Path) -> None:
        """A scheduler that is hooked anew has one socket, not two."""
        armed, _ = self.armed(tmp_path, control=str(tmp_path / "control"))
        scheduler = object()
        for _ in range(3):
            armed.attach(scheduler)
        assert 1 == len(sockets(tmp_path / "control"))
        armed.leave(scheduler)
        assert [] == sockets(tmp_path / "control")

    @pytest.mark.parametrize("why", ["open", "long", "file"])
    def test_none(self, tmp_path: Path, caplog: pytest.LogCaptureFixture, why: str) -> None:
        """Where it cannot be made the engine is armed without it, and the log says so."""
        caplog.set_level(logging.INFO, LOG.name)
        folder = tmp_path / ("x" * 100 if why == "long" else why)
        if why == "open":
            folder.mkdir()
            folder.chmod(0o755)
        elif why == "file":
            folder.touch()
        armed, adapter = self.armed(tmp_path, control=str(folder))
        scheduler = object()
        armed.attach(scheduler)
        assert "no operator can reach this engine: " in caplog.text
        assert "resident-claims is armed: " in caplog.text
        assert "control: none, see above; " in caplog.text
        assert "; not observed: what it saves, what it loads" in caplog.text
        assert "" == ask(adapter.controller, "first")
        armed.leave(scheduler)

    def test_dead(self, tmp_path: Path) -> None:
        """A socket that a dead process left under the same name is replaced."""
        armed, _ = self.armed(tmp_path, control=str(tmp_path / "control"))
        scheduler = object()
        armed.attach(scheduler)
        (path,) = sockets(tmp_path / "control")
        armed.leave(scheduler)
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(path))
        again, _ = self.armed(tmp_path / "control", control=str(tmp_path / "control"))
        again.attach(scheduler)
        assert 1 == len(sockets(tmp_path / "control"))
        again.runs(scheduler, lambda act: act())
        assert 0 == ask_engine(path, List()).engine.live
        again.leave(scheduler)


class Ranked(FakeAdapter):
    """Hooks the second of two ranks; `routes` is where it notes its claims."""

    def rank(self, scheduler: Any) -> Rank:
        """The second."""
        return Rank(1, 2)

    def attach(self, *args: Any) -> Any:
        """Keep the file of routes."""
        *most, self.routes = args
        return super().attach(*most, None)


class TestStream:
    def test_unique(self, tmp_path: Path) -> None:
        """Two engines with one process id, as in two containers, have streams of two names."""
        streams = set()
        for name in "ab":
            adapter, trace = Ranked(), str(tmp_path / name)
            armed = Armed(Settings(trace=trace, control=str(tmp_path / f"{name}c")), adapter)
            armed.attach(scheduler := SimpleNamespace(block_size=32))
            streams.add(adapter.controller.operator.claims().engine.stream)
            armed.leave(scheduler)
        assert len(streams) == 2


class TestRank:
    def test_life(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """The trace, the stream, the socket and the file of routes name the rank, which has them as
        long as it lives. Claims that are registered ahead would be accepted by each rank, so the
        log says that none is."""
        control, ahead = tmp_path / "control", tmp_path / "ahead.json"
        ahead.write_text(json.dumps([{"claim": claim(), "prompt_token_ids": [1] * 32 * 60}]))
        trace = str(tmp_path / "{pid}.jsonl")
        settings = Settings(trace=trace, control=str(control), ahead=str(ahead))
        adapter, scheduler = Ranked(), SimpleNamespace(block_size=32)
        armed = Armed(settings, adapter)
        armed.attach(scheduler)
        assert "ahead.json is not read by data-parallel ranks" in caplog.text
        assert () == adapter.controller.preregistration.tickets()
        name = f"{os.getpid()}-dp1of2"
        engine = adapter.controller.operator.claims().engine
        assert f"vllm:{engine.epoch}-dp1of2" == engine.stream
        (path,) = sockets(control)
        assert (tmp_path / f"{name}.jsonl").exists()
        files = {path.name, f"{name}{routes_of_server()}"}
        assert (Rank(1, 2), files) == (rank_in(path.name), {*os.listdir(control)})
        assert adapter.routes is not None
        adapter.routes.begin("claim:a", None)
        armed.leave(scheduler)
        assert [] == os.listdir(control)

    def test_off(self, tmp_path: Path) -> None:
        """Where routing is off there is no such file."""
        control = tmp_path / "control"
        settings = Settings(
            trace=str(tmp_path / "{pid}"), control=str(control), routing=Routing(by_claims=False)
        )
        adapter, scheduler = Ranked(), SimpleNamespace(block_size=32)
        armed = Armed(settings, adapter)
        armed.attach(scheduler)
        assert (None, 1) == (adapter.routes, len(os.listdir(control)))
        armed.leave(scheduler)
