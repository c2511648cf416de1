"""Claims on a real vLLM without the plugin are watched by its KV events: some stay, one is evicted,
all are lost to a reset, and to a restart.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runtime_hooks.demo.tiny import BLOCK, tokens
from tests_vllm.conftest import LONG_S
from tests_vllm.serve import Server, words
from tests_vllm.test_kv_events import free_port

CLAIMS: list[dict[str, Any]] = [
    {"id": "stays", "owner": "team", "tokens": tokens("stays", 10)},
    {"id": "chat", "owner": "team", "messages": [{"role": "user", "content": words("chat", 8)}]},
    {"id": "text", "owner": "team", "text": words("text", 20)},
]


@dataclass
class Watcher:
    """A process that watches, and what it prints."""

    process: subprocess.Popen[str]
    lines: list[dict[str, Any]] = field(default_factory=list)

    def until(self, claim_id: str, state: str) -> dict[str, Any]:
        """The next change of a claim to a state."""
        assert self.process.stdout is not None
        for text in self.process.stdout:
            self.lines.append(json.loads(text))
            last = self.lines[-1]
            if (last.get("claim_id"), last.get("state")) == (claim_id, state):
                return last
        pytest.fail(f"{claim_id} was never {state}: {self.lines[-3:]}")

    def end(self) -> tuple[int, dict[str, Any]]:
        """Stop it; the exit code, and the last line."""
        self.process.terminate()
        out, _ = self.process.communicate(timeout=60)
        self.lines += map(json.loads, out.splitlines())
        return self.process.returncode, self.lines[-1]


@dataclass
class Story:
    """What was seen of two runs of an engine."""

    evicted: dict[str, Any]
    held: list[str]
    late: dict[str, Any]
    cleared: dict[str, Any]
    metrics: str
    ended: tuple[int, dict[str, Any]]
    verdicts: list[dict[str, Any]]
    restarted: dict[str, Any]
    again: dict[str, Any]
    ended_after_restart: tuple[int, dict[str, Any]]


def watcher(registry: Path, address: str, replay: str, *more: str) -> Watcher:
    command = [sys.executable, "-m", "monitor", "watch", str(registry), address]
    command += ["--replay", replay, "--format", "json", *more]
    return Watcher(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """The whole story, which takes two starts of an engine."""
    patch = pytest.MonkeyPatch()
    patch.setenv("VLLM_SERVER_DEV_MODE", "1")  # for the reset
    folder, ports = tmp_path_factory.mktemp("watch"), (free_port(), free_port(), free_port())
    config = {"enable_kv_cache_events": True, "publisher": "zmq"}
    config |= {"endpoint": f"tcp://*:{ports[0]}", "replay_endpoint": f"tcp://*:{ports[1]}"}
    address, replay = (f"tcp://127.0.0.1:{port}" for port in ports[:2])
    option = ("--kv-events-config", json.dumps(config))
    registry = folder / "registry.json"
    about = {"schema": "resident-claims/registry/1", "model": "tiny", "block_size": BLOCK}
    about |= {"tokenizer": "first/model"}
    registry.write_text(json.dumps({**about, "claims": CLAIMS}))
    verdicts = folder / "verdicts.jsonl"
    running = list[Any]()

    def ask(server: Server, name: str) -> None:
        # A prompt that ended with its last block would have that computed, and stored, again.
        server.complete([*tokens(name, 10), 1])

    def served(name: str) -> Server:
        (folder / name).mkdir()
        server = Server(folder / name, *option, armed=False)
        running.append(server)
        server.wait()
        return server

    try:
        server = served("first")
        url = f"http://127.0.0.1:{server.port}/reset_prefix_cache"
        ask(server, "stays")  # before anybody watches
        more = ("--metrics", str(ports[2]), "--verdicts", str(verdicts))
        first = watcher(registry, address, replay, *more)
        second = watcher(registry, address, replay)
        running += [first.process, second.process]
        late = first.until("stays", "held")
        server.complete(tokens("text", 20))
        server.chat(words("chat", 8))
        first.until("chat", "held")
        ask(server, "stays")
        server.complete(tokens("active", 55))  # no room is left but that of `text`
        evicted = first.until("text", "absent")
        held = [each["claim_id"] for each in first.lines if each.get("state") == "held"]
        urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=LONG_S)
        ask(server, "stays")  # events of a reset come with the next step
        cleared = first.until("chat", "absent")
        first.until("stays", "held")
        metrics = scraped(ports[2])
        ended = first.end()
        server.kill()
        after = served("second")
        ask(after, "stays")
        second.until("chat", "absent")
        restarted = second.until("stays", "absent")
        while "again" not in restarted["why"]:
            restarted = second.until("stays", "absent")
        again = second.until("stays", "held")
        last = second.end()
        lines = [json.loads(text) for text in verdicts.read_text().splitlines()]
        yield Story(evicted, held, late, cleared, metrics, ended, lines, restarted, again, last)
    finally:
        for each in running:
            each.kill()
        patch.undo()


def scraped(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=LONG_S) as answer:
        text: str = answer.read().decode()
        return text


class TestWatch:
    def test_late(self, story: Story) -> None:
        """What was stored before anybody watched is known from the replay."""
        assert (story.late["held"], story.late["unknown"], story.late["periods"]) == (10, 0, 1)

    def test_evicted(self, story: Story) -> None:
        """The claim that nobody used is evicted for a request, and the others stay."""
        assert story.evicted["why"].startswith("block 19 removed in batch ")
        assert {"stays", "chat", "text"} == {*story.held}
        names = [each["claim_id"] for each in story.ended[1]["streams"].popitem()[1]]
        assert names == ["stays", "chat", "text"]

    def test_cleared(self, story: Story) -> None:
        """A reset loses all claims."""
        assert story.cleared["why"].startswith("all blocks were cleared in batch ")

    def test_verdicts(self, story: Story) -> None:
        """Each change was observed, so the claims are kept: best_effort promises no more."""
        code, end = story.ended
        assert (code, end["verdict"]) == (0, "kept"), end
        assert {(each["claim_id"], each["verdict"]) for each in story.verdicts} == {
            (claim["id"], "kept") for claim in CLAIMS
        }

    def test_preconditions(self, story: Story) -> None:
        """All nine preconditions of a join are met."""
        met = {each["name"]: each["met"] for each in story.ended[1]["preconditions"]}
        assert (len(met), {*met.values()}) == (9, {"met"})

    def test_metrics(self, story: Story) -> None:
        """Metrics say how many claims are held, and how many were lost."""
        watched = re.findall(r'_watched_(\w+)\{mode="best_effort",(.*)\} (\S+)', story.metrics)
        states = {
            labels.split('"')[1]: float(number)
            for name, labels, number in watched
            if name == "claims"
        }
        assert states == {"held": 1, "absent": 2, "unknown": 0}
        assert [float(n) for name, _, n in watched if name == "losses_total"] == [3]

    def test_restarted(self, story: Story) -> None:
        """An engine that is started again has lost the claim, and stores it anew."""
        assert story.restarted["why"] == "the engine was started again"
        assert story.again["time_ns"] > story.restarted["time_ns"] - 1
        code, end = story.ended_after_restart
        assert (code, end["verdict"]) == (3, "inconclusive")
