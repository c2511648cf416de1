"""Claims on a real vLLM without the plugin are watched by its KV events: some stay, one is evicted,
all are lost to a reset, and to a restart.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import textwrap
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.watch.registry import load_registry
from runtime_hooks.demo.tiny import BLOCK, tokens
from spec.language.errors import SpecError
from tests_vllm.conftest import LONG_S
from tests_vllm.serve import Server, words
from tests_vllm.test_kv_events import free_port

OBSERVE, METRICS = (
    (Path(__file__).parents[1] / "docs" / f"{name}.md").read_text()
    for name in ("observe", "watching")
)
COMMANDS = [shlex.split(line) for line in re.findall(r"\n +\$ (.*)", OBSERVE + METRICS)]
(SERVE,) = (words[3:] for words in COMMANDS if words[:2] == ["vllm", "serve"])
BARE, WATCH = (words[1:] for words in COMMANDS if words[0] == "resident-claims")
(REGISTRY,) = re.findall(r"( +schema: .*?)\n +```", OBSERVE, re.S)
"""What the page says, with the tokenizer of the model and other claims."""

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
        limit = threading.Timer(LONG_S, self.process.kill)
        limit.start()
        for text in self.process.stdout:
            self.lines.append(json.loads(text))
            last = self.lines[-1]
            claim = last.get("claim", {})
            if (claim.get("claim_id"), claim.get("state")) == (claim_id, state):
                limit.cancel()
                return last
        pytest.fail(f"{claim_id} was never {state}: {self.lines[-3:]}")

    def end(self) -> tuple[int, dict[str, Any]]:
        """Stop it; the exit code, and the last line."""
        self.process.terminate()
        assert self.process.stdout is not None
        # `communicate` would leave out what `until` has read ahead.
        self.lines += map(json.loads, self.process.stdout)
        return self.process.wait(timeout=60), self.lines[-1]


@dataclass
class Story:
    """What was observed of two runs of an engine."""

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


def watcher(registry: Path, ports: tuple[int, int, int], *more: str) -> Watcher:
    """The command of the pages, with other ports, which prints JSON."""
    words = [str(registry) if word == "registry.yaml" else word for word in WATCH]
    for usual, port in zip(("5557", "5558", "9464"), ports, strict=True):
        words = [word.replace(usual, str(port)) for word in words]
    command = [sys.executable, "-m", "monitor", *words, "--format", "json", *more]
    return Watcher(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """The whole story, which takes two starts of an engine."""
    patch = pytest.MonkeyPatch()
    patch.setenv("VLLM_SERVER_DEV_MODE", "1")  # for the reset
    folder, ports = tmp_path_factory.mktemp("watch"), (free_port(), free_port(), free_port())
    options = [each.replace("5557", str(ports[0])).replace("5558", str(ports[1])) for each in SERVE]
    registry = folder / "registry.json"
    about = {**yaml.safe_load(REGISTRY), "block_size": BLOCK, "tokenizer": "first/model"}
    registry.write_text(json.dumps({**about, "claims": CLAIMS}))
    verdicts = folder / "verdicts.jsonl"
    running = list[Any]()

    def ask(server: Server, name: str) -> None:
        # A prompt that ended with its last block would have that computed, and stored, again.
        server.complete([*tokens(name, 10), 1])

    def served(name: str) -> Server:
        (folder / name).mkdir()
        server = Server(folder / name, *options, armed=False)
        running.append(server)
        server.wait()
        return server

    try:
        server = served("first")
        url = f"http://127.0.0.1:{server.port}/reset_prefix_cache"
        ask(server, "stays")  # before anybody watches
        first = watcher(registry, ports, "--verdicts", str(verdicts))
        second = watcher(registry, (*ports[:2], 0))
        running += [first.process, second.process]
        late = first.until("stays", "held")
        server.complete(tokens("text", 20))
        server.chat(words("chat", 8))
        first.until("chat", "held")
        ask(server, "stays")
        server.complete(tokens("active", 55))  # only the blocks of `text` are left
        evicted = first.until("text", "absent")
        held = [e["claim"]["claim_id"] for e in first.lines if e["claim"]["state"] == "held"]
        urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=LONG_S)
        ask(server, "stays")  # events of a reset come with the next step
        cleared = first.until("chat", "absent")  # in one batch with the next request
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


class TestPage:
    def test_commands(self) -> None:
        """A reader needs at most eight commands; the two that watch differ by the metrics."""
        assert len(COMMANDS) <= 8
        assert [*BARE, "--metrics", "9464"] == WATCH

    def test_registry(self, tmp_path: Path) -> None:
        """The registry of the page is one, but for the tokenizer that it names."""
        path = tmp_path / "registry.yaml"
        path.write_text(textwrap.dedent(REGISTRY))
        with pytest.raises(SpecError, match="cannot read /models/my-model"):
            load_registry(path)


class TestWatch:
    def test_late(self, story: Story) -> None:
        """What was stored before anybody watched is known from the replay."""
        late = story.late["claim"]
        assert (late["held"], late["unknown"], late["periods"]) == (10, 0, 1)

    def test_evicted(self, story: Story) -> None:
        """The claim that no request used is evicted for a request, and the others stay."""
        assert re.match(r"blocks \d+-19 removed in batch \d+, which", story.evicted["why"])
        assert {"stays", "chat", "text"} == {*story.held}
        names = [each["claim_id"] for each in story.ended[1]["engines"][0]["claims"]]
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
        met = {each["precondition"]: each["met"] for each in story.ended[1]["preconditions"]}
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
