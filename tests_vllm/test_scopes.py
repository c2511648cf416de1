"""Owners by their API keys, through the OpenAI-compatible server and its engine's process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import pytest

from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.tiny import tokens
from tests_vllm.serve import Server

SCOPES = {"key-a": "tenant-a", "key-b": "tenant-b"}
OPTIONS = "--middleware runtime_hooks.scopes.OwnerScopes --api-key key-a key-b key-c"


def ask(server: Server, prompt: list[int], metadata: Any, key: str, answers: int = 1) -> Any:
    """What the response to a request of that caller says of claims."""
    asked = {"kv_transfer_params": metadata}
    answer = server.complete(prompt, key=key, n=answers, extra_body=asked)
    return answer.kv_transfer_params["resident_claims"]


def test_scopes(tmp_path: Path) -> None:
    """A claim is the caller's: nobody else gives it up, and whoever has no scope claims nothing."""
    server = Server(tmp_path, *OPTIONS.split(), scopes=SCOPES)
    resident, other = tokens("resident", 20), tokens("other", 1)
    mine = claim(blocks=20)
    del mine["resident_claim"]["owner_scope"]
    release = {"release_claim": {"claim_id": "claim:resident"}}
    try:
        server.wait()
        with pytest.raises(openai.AuthenticationError):
            ask(server, resident, mine, "key-d")
        said = ask(server, resident, mine, "key-c")
        assert "the caller is not known" in said["claim"]["reason"]
        assert {"claim": {"decision": "accepted"}} == ask(server, resident, mine, "key-a")
        said = ask(server, other, release, "key-b")
        assert "not owned by who gives it up" in said["release"]["reason"]
        assert {"release": {"decision": "accepted"}} == ask(server, other, release, "key-a")
        pin = {"pin": {"job_id": "agent"}}
        assert {"pin": {"decision": "accepted"}} == ask(server, other, pin, "key-a", answers=3)
    finally:
        server.kill()
