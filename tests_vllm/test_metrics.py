"""A real server shows the figures of claims among its own metrics, also with two API processes."""

from __future__ import annotations

import json
import time
import urllib.request
from pathlib import Path

import openai
import pytest
from prometheus_client.parser import text_string_to_metric_families

from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.tiny import tokens
from runtime_hooks.front.ready import PATH as READY
from tests_vllm.serve import Server
from tests_vllm.test_owners import http

OURS = "resident_claims_engine_"


def scrape(server: Server, path: str = "/metrics") -> dict[tuple[str, ...], float]:
    """Every series by its name and labels; without what says when a counter was made."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=60) as answer:
        text = answer.read().decode()
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                labels = sorted(f"{k}={v}" for k, v in sample.labels.items() if k != "pid")
                found[(sample.name, *labels)] = sample.value
    return found


def used(server: Server) -> None:
    """A claim, one that is rejected, a refusal, and a pin."""
    server.complete(tokens("a", 20), extra_body={"kv_transfer_params": claim("claim:a", 20)})
    server.complete(tokens("b", 2), extra_body={"kv_transfer_params": claim("claim:b", 9)})
    with pytest.raises(openai.InternalServerError):
        server.complete(tokens("large", 70))
    pin = {"pin": {"job_id": "agent", "ttl": "600 s"}}
    server.complete(tokens("job", 4), extra_body={"kv_transfer_params": pin})
    server.complete(tokens("plain", 2))


EXPECTED = {
    ("up",): 1,
    ("live_claims", "mode=hard_protected"): 1,
    ("live_claims", "mode=expiring"): 1,
    ("held_blocks", "mode=hard_protected"): 20,
    ("held_blocks", "mode=expiring"): 4,
    ("excluded_blocks",): 24,
    ("usable_blocks",): 80,
    ("decisions_total", "decision=accepted", "mode=hard_protected"): 1,
    ("decisions_total", "decision=rejected", "mode=hard_protected"): 1,
    ("refusals_total", "reason=capacity"): 1,
    ("pins_total", "decision=accepted"): 1,
    ("accepting",): 1,
    ("trace_up",): 1,
    ("monitor_up",): 1,
    ("kv_cache_usage_without_held",): 0,
}


def shown(server: Server) -> dict[tuple[str, ...], float]:
    """Our series, once the last answer of the engine is no older than the last request."""
    time.sleep(1.1)
    found = {}
    for (name, *labels), value in scrape(server).items():
        if name.startswith(OURS):
            found[(name.removeprefix(OURS), *labels)] = value
    return found


def test_one(tmp_path: Path) -> None:
    """The figures are right, and the server is ready. Without scopes owners have no path of their
    own."""
    server = Server(tmp_path)
    try:
        server.wait()
        assert 1 == scrape(server)[OURS + "up",]
        assert 1 == scrape(server, "/metrics/")[OURS + "up",]  # on the event loop's own thread
        used(server)
        found = shown(server)
        assert EXPECTED == {key: found.get(key) for key in EXPECTED}
        assert len(found) < 100
        assert found["verdicts_total", "mode=hard_protected", "verdict=satisfied"] > 0
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{READY}", timeout=60) as answer:
            assert {"ready": True, "why": []} == {
                name: value for name, value in json.load(answer).items() if name != "schema"
            }
        assert {404} == {http(server, "/v1/resident_claims", key)[0] for key in ("key-a", "")}
        assert not any("claim:" in label or "tenant" in label for key in found for label in key)
        usage = [v for (name, *_), v in scrape(server).items() if "kv_cache_usage_perc" in name]
        assert usage[0] >= 24 / 80
    finally:
        server.kill()


@pytest.mark.deep
def test_own_series(tmp_path: Path) -> None:
    """The series of vLLM itself are those of a bare server."""
    (tmp_path / "armed").mkdir()
    (tmp_path / "bare").mkdir()
    server = Server(tmp_path / "armed")
    try:
        server.wait()
        used(server)
        own = {key for key in scrape(server) if not key[0].startswith(OURS)}
    finally:
        server.kill()
    bare = Server(tmp_path / "bare", armed=False)
    try:
        bare.wait()
        for name, blocks in (("a", 20), ("b", 2), ("job", 4), ("plain", 2)):
            bare.complete(tokens(name, blocks))
        with pytest.raises(openai.APIError):
            bare.complete(tokens("large", 90))
        plain = set(scrape(bare))
    finally:
        bare.kill()
    volatile = ("http_", "python_", "process_", "vllm:cache_config_info")
    assert {k for k in plain if not k[0].startswith(volatile)} == {
        k for k in own if not k[0].startswith(volatile)
    }


@pytest.mark.deep
def test_two(tmp_path: Path) -> None:
    """With two API processes each shows the figures of the one engine."""
    server = Server(tmp_path, "--api-server-count", "2")
    try:
        server.wait()
        used(server)
        time.sleep(1.1)
        for _ in range(12):  # whichever process answers
            found = shown(server)
            assert EXPECTED == {key: found.get(key) for key in EXPECTED}
    finally:
        server.kill()
