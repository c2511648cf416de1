"""Engines for tests, each closed at the end of its test."""

from __future__ import annotations

import gc
import itertools
import json
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory
from vllm.platforms.cpu import CpuPlatform

from runtime_hooks.trace.faults import LOG
from spec.claims.states import Mode
from tests_vllm.connectors import FailingConnector
from tests_vllm.engine import Engine, freeze

Make = Callable[..., Engine]
Keep = Callable[..., None]
LONG_S = 600
"""More than anything here takes on a slow machine; what never comes is waited for no longer."""


class Clock:
    """The time of an engine's claims: it goes on by 5 ms with each look at it, and by `wait`."""

    STEP_NS = 5_000_000

    def __init__(self, engine: Engine) -> None:
        self._now = time.monotonic_ns()
        engine.armed.attachments[0].controller._clock = self

    def __call__(self) -> int:
        self._now += self.STEP_NS
        return self._now

    def wait(self, seconds: float) -> None:
        """Let time go by."""
        self._now += int(seconds * 1e9)


_TESTS = itertools.count()


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there before an engine stays out of the collector's sight."""
    freeze(next(_TESTS))
    monkeypatch.setattr(gc, "unfreeze", lambda: None)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Make an engine; one at a time."""
    made: list[Engine] = []

    def engine(
        usable: int = 80, *, engine: dict[str, Any] | None = None, **settings: Any
    ) -> Engine:
        made.append(Engine(tmp_path, usable, settings, **(engine or {})))
        return made[-1]

    yield engine
    for each in made:
        each.close()


@pytest.fixture
def failing_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have vLLM know the connector that fails."""
    name = FailingConnector.__name__
    loader: Any = lambda: FailingConnector  # noqa: E731
    monkeypatch.setitem(KVConnectorFactory._registry, name, loader)
    monkeypatch.setattr(FailingConnector, "fails", [])


@pytest.fixture
def overlapping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asynchronous scheduling: on a CPU vLLM turns it off; here it stays on."""
    decided = CpuPlatform.check_and_update_config

    def decide(config: Any) -> None:
        decided(config)
        config.scheduler_config.async_scheduling = True

    monkeypatch.setattr(CpuPlatform, "check_and_update_config", staticmethod(decide))


@pytest.fixture
def caplog(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What the plugin logs, though vLLM takes the handlers off loggers when it is first used."""

    def take(record: logging.LogRecord) -> bool:
        caplog.handler.handle(record)
        return False

    LOG.addFilter(take)
    yield caplog
    LOG.removeFilter(take)


@pytest.fixture
def keep(pytestconfig: pytest.Config) -> Keep:
    """Leaves the trace of an honest engine that enforces where `tests_vllm.witness` takes it, with
    the mode in which it is kept; only with `--keep`. `model` is empty where no model has it."""
    kept = pytestconfig.getoption("keep")

    def leave(name: str, trace: Path, mode: Mode, model: str = "vllm_pool") -> None:
        if kept is None:
            return
        folder = Path(kept, name)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "trace.jsonl").write_bytes(trace.read_bytes())
        due = {"trace": "trace.jsonl", "mode": mode, "code": 0, "enforced": True, "honest": True}
        expected = json.dumps({**due, **({"model": model} if model else {})})
        (folder / "expected.json").write_text(expected)

    return leave


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where traces are kept."""
    parser.addoption("--keep", metavar="FOLDER", help="keep traces for tests_vllm.witness here")
