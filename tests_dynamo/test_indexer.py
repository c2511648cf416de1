"""A KV indexer of NVIDIA Dynamo is compared with the real vLLM whose KV events it reads: one that
reads all of them, one that was cut off, and one that came late.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest
import zmq

from runtime_hooks.demo.tiny import BLOCK, tokens
from tests.monitor.watch.watching import registry
from tests_dynamo.processes import Watcher, indexer, is_empty
from tests_vllm.serve import Server
from tests_vllm.test_kv_events import free_port

OFFLOADING = {
    "kv_connector": "OffloadingConnector",
    "kv_role": "kv_both",
    "kv_connector_extra_config": {
        "cpu_bytes_to_use": 64 << 20,
        "spec_name": "MemcpyOffloadingSpec",
        "spec_module_path": "runtime_hooks.engines.v0_32.memcpy",
    },
}
CLAIMS: list[dict[str, Any]] = [
    {"id": name, "tokens": tokens(name, blocks)}
    for name, blocks in (("a", 10), ("b", 20), ("c", 2))
]
ABOUT = {"block_size": BLOCK, "registered": "1970-01-01T00:00:00Z"}


class Relay:
    """Passes on what an engine publishes, until it is cut off."""

    def __init__(self, address: str) -> None:
        self._address, self.port = address, free_port()
        self._cut, self._end = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def cut(self) -> None:
        """Pass on no more; the connection stays."""
        self._cut.set()

    def close(self) -> None:
        """End."""
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        with (
            zmq.Context() as context,
            context.socket(zmq.SUB) as read,
            context.socket(zmq.PUB) as write,
        ):
            read.setsockopt(zmq.SUBSCRIBE, b"")
            read.connect(self._address)
            write.bind(f"tcp://127.0.0.1:{self.port}")
            while not self._end.is_set():
                if read.poll(100):
                    frames = read.recv_multipart()
                    if not self._cut.is_set():
                        write.send_multipart(frames)


class Story(NamedTuple):
    """What the watcher printed, and the names of the three indexers."""

    lines: list[dict[str, Any]]
    code: int
    whole: str
    cut: str
    late: str

    def disagreements(self, peer: str) -> list[dict[str, Any]]:
        """What was stated of an indexer, in order."""
        return [each for each in self.lines if each.get("peer") == peer]

    def end(self, peer: str) -> dict[str, Any]:
        """What the comparison with it came to."""
        (found,) = (each for each in self.lines[-1]["compared"] if each["peer"] == peer)
        return dict(found)


def warm(server: Server, *indexers: str) -> None:
    """Store blocks until each indexer is connected."""
    while any(map(is_empty, indexers)):
        server.complete([*tokens(f"warm {time.monotonic()}", 1), 1])
        time.sleep(1)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """The whole story: two claims are stored, an indexer is cut off, and one claim is evicted."""
    folder = tmp_path_factory.mktemp("dynamo")
    address, replay = (f"tcp://127.0.0.1:{free_port()}" for _ in range(2))
    events = {"enable_kv_cache_events": True, "publisher": "zmq"}
    events |= {"endpoint": address.replace("127.0.0.1", "*")}
    events |= {"replay_endpoint": replay.replace("127.0.0.1", "*")}
    options = ["--kv-events-config", json.dumps(events)]
    options += ["--kv-transfer-config", json.dumps(OFFLOADING)]
    path = folder / "registry.json"
    path.write_text(json.dumps(registry(CLAIMS, **ABOUT)))
    with ExitStack() as running:
        server = Server(folder, *options, armed=False)
        running.callback(server.kill)
        relay = Relay(address)
        running.callback(relay.close)
        whole = indexer(folder, "whole", address, running, size=BLOCK)
        cut = indexer(folder, "cut", f"tcp://127.0.0.1:{relay.port}", running, size=BLOCK)
        server.wait()
        warm(server, whole, cut)
        *before, last = CLAIMS
        for claim in before:
            server.complete([*claim["tokens"], 1])
        late = indexer(folder, "late", address, running, size=BLOCK)
        warm(server, late)
        server.complete([*last["tokens"], 1])
        compared = [word for name in (whole, cut, late) for word in ("--compare", name)]
        watcher = Watcher(str(path), address, "--replay", replay, *compared)
        running.callback(watcher.process.kill)
        watcher.until(2, peer=late, kind="first_only")
        relay.cut()
        server.complete([*CLAIMS[0]["tokens"], 1])  # which makes the other one the oldest
        server.complete([*tokens("active", 60), 1])
        watcher.until(claim_id="b", state="absent")
        watcher.until(peer=cut, claim_id="b", kind="peer_only")
        code = watcher.end()
        yield Story(watcher.lines, code, whole, cut, late)


class TestIndexer:
    def test_reads_all(self, story: Story) -> None:
        """An indexer that reads all events agrees, also after the eviction."""
        assert story.disagreements(story.whole) == []
        end = story.end(story.whole)
        assert (end["outcome"], end["compared"]) == ("agree", {"gpu": 32})

    def test_cut_off(self, story: Story) -> None:
        """An indexer that was cut off believes in blocks that the engine dropped, since that batch,
        and in no others.
        """
        found = [each["disagreement"] for each in story.disagreements(story.cut)]
        assert {(each["claim_id"], each["tier"], each["kind"]) for each in found} == {
            ("b", "gpu", "peer_only")
        }
        lost = [
            each["claim"]["last_loss"]
            for each in story.lines
            if each.get("claim", {}).get("claim_id") == "b" and each["claim"]["state"] == "absent"
        ]
        assert found[-1]["since_ns"] == lost[-1]["time_ns"]
        assert (
            f"blocks {found[-1]['positions']} removed in batch {found[-1]['batch']}"
            in (lost[-1]["why"])
        )
        end = story.end(story.cut)
        assert (end["outcome"], end["is_first_engine"]) == ("disagree", True)
        assert end["compared"] == {"gpu": 32}

    def test_late(self, story: Story) -> None:
        """An indexer that came late and knows one claim does not know what was stored before; once
        the engine dropped it, both agree on that.
        """
        first = [each["disagreement"] for each in story.disagreements(story.late)[:2]]
        assert sorted((each["claim_id"], each["positions"]) for each in first) == [
            ("a", "0-9"),
            ("b", "0-19"),
        ]
        assert {each["kind"] for each in first} == {"first_only"}
        assert story.end(story.late)["outcome"] == "disagree"

    def test_tiers(self, story: Story) -> None:
        """vLLM announces copies in host memory, of which no indexer states any: that is said, and
        is no disagreement.
        """
        tiers = {
            each["claim_id"]: each["tiers"] for each in story.lines[-1]["engines"][0]["claims"]
        }
        assert tiers["b"]["cpu"] > 0
        for peer in (story.whole, story.cut, story.late):
            assert story.end(peer)["not_compared"] == {"cpu": "the peer states no blocks in it"}

    def test_exit(self, story: Story) -> None:
        """A disagreement violates no claim, and changes no exit code."""
        assert (story.code, story.lines[-1]["verdict"]) == (0, "kept")
