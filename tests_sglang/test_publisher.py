"""What SGLang's own publisher sends is watched live, also by a reader that comes late."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.monitor.watch.watching import write_registry
from tests_sglang.ports import free_port

WHEELS = Path(__file__).parents[1] / "build/sglang"
NAME = "sglang.srt.disaggregation.kv_events"
SIZE = 4
HOT, COLD = [*range(100, 112)], [*range(200, 208)]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """SGLang's module of KV events, alone: what it imports of the rest is put in its place."""
    (wheel,) = WHEELS.glob("sglang-*.whl")
    folder = tmp_path_factory.mktemp("sglang")
    with zipfile.ZipFile(wheel) as archive:
        archive.extract(f"{NAME.replace('.', '/')}.py", folder)
    stubs: dict[str, Any] = {
        "sglang.srt.runtime_context": {"get_parallel": SimpleNamespace},
        "sglang.srt.utils.network": {"NetworkAddress": SimpleNamespace},
    }
    added = []
    for name in ("sglang", "sglang.srt", "sglang.srt.disaggregation", "sglang.srt.utils", *stubs):
        module = ModuleType(name)
        module.__path__ = [str(folder / name.replace(".", "/"))]
        vars(module).update(stubs.get(name, {}))
        sys.modules[name] = module
        added.append(name)
    yield importlib.import_module(NAME)
    for name in (*added, NAME):
        del sys.modules[name]


class Engine:
    """SGLang's publisher, and the events that the cache gives it."""

    def __init__(self, events: Any, address: str, replay: str) -> None:
        self._events = events
        self._publisher = events.ZmqEventPublisher(0, address, replay, bind=True)
        self._time = 1_000.0

    def publish(self, *each: Any) -> None:
        """A batch."""
        self._time += 1
        self._publisher.publish(self._events.KVEventBatch(ts=self._time, events=[*each]))

    def store(self, first: int, tokens: list[int], **fields: Any) -> None:
        """Blocks are stored, with hashes from this number on."""
        hashes = [first + n for n in range(len(tokens) // SIZE)]
        stored = self._events.BlockStored
        self.publish(
            stored(
                block_hashes=hashes,
                parent_block_hash=None,
                token_ids=tokens,
                block_size=SIZE,
                lora_id=None,
                **{"medium": "GPU", **fields},
            )
        )

    def remove(self, *hashes: int) -> None:
        """Blocks are removed."""
        self.publish(self._events.BlockRemoved(block_hashes=[*hashes], medium="GPU"))

    def clear(self) -> None:
        """The cache is flushed."""
        self.publish(self._events.AllBlocksCleared())

    def close(self) -> None:
        """No more is published."""
        self._publisher.shutdown()


@pytest.fixture
def engine(events: Any) -> Iterator[tuple[Engine, str, str]]:
    """A publisher at two ports."""
    address, replay = (f"tcp://127.0.0.1:{free_port()}" for _ in range(2))
    made = Engine(events, address, replay)
    yield made, address, replay
    made.close()


def watched(folder: Path, address: str, replay: str, until: Callable[[Any], bool]) -> list[Any]:
    """What `watch` prints until this is true of a line, and its end."""
    claims = [{"id": "hot", "tokens": HOT}, {"id": "cold", "tokens": COLD}]
    registry = write_registry(folder, claims, block_size=SIZE)
    command = [sys.executable, "-m", "monitor", "watch", str(registry), address]
    command += ["--replay", replay, "--format", "json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = []
    for text in process.stdout:
        lines.append(json.loads(text))
        if until(lines[-1]):
            break
    process.terminate()
    rest, _ = process.communicate(timeout=60)
    return lines + [json.loads(text) for text in rest.splitlines()]


def states(lines: list[Any]) -> list[tuple[str, str]]:
    """The changes of claims."""
    changes = [each for each in lines if each["schema"].endswith("watched-change/1")]
    return [(each["claim"]["claim_id"], each["claim"]["state"]) for each in changes]


class TestPublisher:
    def test_late(self, engine: tuple[Engine, str, str], tmp_path: Path) -> None:
        """A reader that comes late reads all of it from the replay, and names the runtime."""
        publisher, address, replay = engine
        publisher.clear()  # as the cache does when it starts
        publisher.store(1, HOT)
        publisher.store(11, COLD)
        publisher.remove(2)
        lines = watched(
            tmp_path,
            address,
            replay,
            lambda line: line.get("claim", {}).get("losses") == 1,
        )
        assert ("hot", "held") in states(lines)
        assert ("cold", "held") in states(lines)
        assert [state for name, state in states(lines) if name == "hot"][-1] == "absent"
        (form,) = lines[-1]["forms"].values()
        assert form.startswith("KV events of SGLang: 4 batches, none missing")

    def test_flush(self, engine: tuple[Engine, str, str], tmp_path: Path) -> None:
        """A flush empties the GPU and the host, so every claim is known to be absent."""
        publisher, address, replay = engine
        publisher.store(1, HOT)
        publisher.store(1, HOT, medium="CPU_PINNED")
        publisher.clear()
        lines = watched(
            tmp_path, address, replay, lambda line: line.get("claim", {}).get("losses") == 1
        )
        known = {each["claim_id"]: each for each in lines[-1]["engines"][0]["claims"]}
        assert (known["hot"]["state"], known["hot"]["tiers"]) == ("absent", {})

    def test_adapter(self, engine: tuple[Engine, str, str], tmp_path: Path) -> None:
        """Blocks of an adapter, or with a salt, are not those of the claim."""
        publisher, address, replay = engine
        publisher.store(1, HOT, lora_name="adapter")
        publisher.store(11, HOT, cache_salt="salt")
        publisher.store(21, COLD)
        lines = watched(tmp_path, address, replay, lambda line: ("cold", "held") in states([line]))
        assert ("hot", "held") not in states(lines)

    def test_identity(self, engine: tuple[Engine, str, str], tmp_path: Path) -> None:
        """Events do not state `extra_key`: that is not observable, and nothing is kept."""
        publisher, address, replay = engine
        publisher.store(1, HOT)
        lines = watched(tmp_path, address, replay, lambda line: ("hot", "held") in states([line]))
        assert lines[-1]["verdict"] == "inconclusive"
        unmet = [e["evidence"] for e in lines[-1]["preconditions"] if e["met"] != "met"]
        assert unmet == ["SGLang states no extra_key of requests"]
