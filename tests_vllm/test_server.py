"""The same through the OpenAI-compatible server: three processes, two of which are hooked."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openai
import pytest

from monitor.check.files import check
from runtime_hooks.demo.engine import claim, without_epoch
from runtime_hooks.demo.tiny import tokens
from runtime_hooks.engines import installed, package_of
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.stream.outcome import ModeVerdict
from tests_vllm.serve import Server, words

CLAIM = "claim:resident"
OFFLOADING = {
    "kv_connector": "OffloadingConnector",
    "kv_role": "kv_both",
    "kv_connector_extra_config": {
        "cpu_bytes_to_use": 16 << 20,
        "spec_name": "MemcpyOffloadingSpec",
        "spec_module_path": f"{package_of(installed())}.memcpy",
    },
}
REASON = "protected_resident_capacity_refused"
REFUSAL = {
    "reason": REASON,
    "blocking_claim_ids": [CLAIM],
    "proof": {"resident": 60, "active": 70, "total": 130, "usable": 80, "shortfall": 50},
}
RESIDENT, ACTIVE, SMALL = tokens("resident", 60), tokens("active", 70), tokens("small", 2)


@dataclass
class Story:
    """What came of everything that a server was asked, and of its end."""

    served: list[Any] = field(default_factory=list)
    unlimited: Any = None
    refused: dict[str, Any] = field(default_factory=dict)
    told: str = ""
    code: int = -1
    trace: Path = Path()


def ask(server: Server, story: Story) -> None:
    """One claim, and whatever does not fit beside it."""
    story.served.append(server.complete(RESIDENT, extra_body={"kv_transfer_params": claim()}))
    attempts = {
        "completion": lambda: server.complete(ACTIVE),
        "retried": lambda: server.complete(ACTIVE, retries=1),
        "streamed": lambda: list(server.complete(ACTIVE, stream=True)),
        "several prompts": lambda: server.complete(SMALL, ACTIVE),
        "several prompts, streamed": lambda: list(server.complete(SMALL, ACTIVE, stream=True)),
        "several answers": lambda: server.complete(ACTIVE, n=3),
        "chat": lambda: server.chat(words("active", 70)),
        "chat, streamed": lambda: list(server.chat(words("active", 70), stream=True)),
    }
    for name, attempt in attempts.items():
        try:
            attempt()
        except openai.APIError as error:
            story.refused[name] = error
    story.served += [server.complete(RESIDENT), server.chat(words("small", 2))]
    story.unlimited = server.chat(words("unlimited", 2), max_tokens=None)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """A server is asked and stopped, while somebody follows."""
    story, server = Story(), Server(tmp_path_factory.mktemp("server"))
    try:
        server.wait()
        story.trace = server.trace
        with server.follow() as reader:
            ask(server, story)
            assert reader.stdout is not None
            first = reader.stdout.readline()
            server.stop()
            story.told = first + reader.stdout.read()
        story.code = reader.returncode
        yield story
    finally:
        server.kill()


def test_claimed(story: Story) -> None:
    """The client is told that its claim was accepted; what fits is served, before and after."""
    first, again, chat = story.served
    said = first.kv_transfer_params["resident_claims"]
    assert {"claim": {"decision": "accepted"}} == without_epoch(said)
    assert re.fullmatch("[0-9a-f]{16}", said["epoch"])
    assert ["length"] * 3 == [each.choices[0].finish_reason for each in (first, again, chat)]


def test_bounded(story: Story) -> None:
    """A chat that states no limit is bounded to the blocks that are not claimed, and is told so."""
    limit = 18 * 32 + 1  # the last token is not stored
    said = without_epoch(story.unlimited.kv_transfer_params["resident_claims"])
    assert {"bounded": {"max_tokens": limit}} == said
    (choice,) = story.unlimited.choices
    assert choice.finish_reason == (
        "length" if story.unlimited.usage.completion_tokens == limit else "stop"
    )


@pytest.mark.parametrize(
    "name", ["completion", "retried", "several prompts", "several answers", "chat"]
)
def test_refused(story: Story, name: str) -> None:
    """A status and a body that name the refusal, the claim and the sum; nothing else is answered,
    also where one of several prompts is refused."""
    error = story.refused[name]
    assert 503 == error.status_code
    assert {"error"} == error.response.json().keys()
    assert (REASON, "503", None) == (error.type, error.code, error.param)
    said = error.body["resident_claims"]
    assert {"refusal": REFUSAL} == without_epoch(said)
    assert story.served[0].kv_transfer_params["resident_claims"]["epoch"] == said["epoch"]
    assert (
        f"{REASON}, because of {CLAIM}: 60 blocks are claimed and 70 needed, of 80"
        == error.body["message"]
    )


@pytest.mark.parametrize("name", ["streamed", "several prompts, streamed", "chat, streamed"])
def test_stream(story: Story, name: str) -> None:
    """A stream ends with an event that names them."""
    error = story.refused[name]
    assert (REASON, "503") == (error.type, error.code)
    assert {"refusal": REFUSAL} == without_epoch(error.body["resident_claims"])


def test_trace(story: Story) -> None:
    """The trace of all processes is one stream, and is kept; the client that tries again is refused
    again, and each answer that was wanted is refused."""
    report = check([str(story.trace)], Mode.HARD_PROTECTED, Bundle.CONTRACT)
    assert ModeVerdict.KEPT is report.verdict
    lines = [json.loads(line) for line in story.trace.open()]
    assert 1 == len({line["stream"] for line in lines})
    refused = [line for line in lines if line["kind"] == "request_refused"]
    assert len(story.refused) + 1 + 2 == len(refused)


def test_followed(story: Story) -> None:
    """Who follows is told the last verdicts when the server is stopped."""
    assert (0, CLAIM) == (story.code, story.told.split()[0]), story.told
    assert story.told.endswith("(final)\n")


@pytest.mark.deep
def test_killed(tmp_path: Path) -> None:
    """A restore that fails is answered with a status and the claim; and where the engine is killed
    its trace is cut, which the check and whoever follows are told."""
    drill = {"fail_loads": {CLAIM: 1}}
    server = Server(tmp_path, "--kv-transfer-config", json.dumps(OFFLOADING), drill=drill)
    metadata = {"kv_transfer_params": claim(mode="offloadable")}
    resident = tokens("resident", 61)
    try:
        server.wait()
        server.complete(resident, extra_body=metadata)
        server.complete(SMALL)  # the copies are made with the next step
        server.complete(ACTIVE)
        with pytest.raises(openai.InternalServerError) as caught:
            server.complete(resident)
        assert (503, "claim_restoration_failed") == (caught.value.status_code, caught.value.type)
        refusal = {"reason": "claim_restoration_failed", "blocking_claim_ids": [CLAIM]}
        assert isinstance(caught.value.body, dict)
        assert {"refusal": refusal} == without_epoch(caught.value.body["resident_claims"])

        with server.follow() as reader:
            assert reader.stdout is not None
            assert CLAIM in reader.stdout.readline()
            os.kill(int(server.trace.stem), signal.SIGKILL)
            told, said = reader.communicate()
        assert (3, False) == (reader.returncode, "(final)" in told)
        assert said.startswith("interrupted: ")
        report = check([str(server.trace)], Mode.OFFLOADABLE, Bundle.CONTRACT)
        assert ModeVerdict.INCONCLUSIVE is report.verdict
        assert "the stream was cut" in str(report.claims[0].obligations["offload_restorability"])
    finally:
        server.kill()
