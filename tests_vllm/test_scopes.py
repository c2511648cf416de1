"""Owners by their API keys, through the OpenAI-compatible server and its engine's process."""

from __future__ import annotations

import urllib.error
from pathlib import Path
from typing import Any

import pytest

from runtime_hooks.demo.engine import claim
from tests_vllm.test_server import Server

SCOPES = {"key-a": "tenant-a", "key-b": "tenant-b"}
OPTIONS = "--middleware runtime_hooks.scopes.OwnerScopes --api-key key-a key-b key-c"


def said(body: Any) -> Any:
    """What a response says of claims."""
    return body["kv_transfer_params"]["resident_claims"]


def test_scopes(tmp_path: Path) -> None:
    """A claim is the caller's: nobody else gives it up, and whoever has no scope claims nothing."""
    server = Server(tmp_path, OPTIONS, scopes=SCOPES)
    mine = claim(blocks=20)
    del mine["resident_claim"]["owner_scope"]
    release = {"release_claim": {"claim_id": "claim:resident"}}
    try:
        server.wait()
        with pytest.raises(urllib.error.HTTPError, match="401"):
            server.ask("resident", 20, mine, key="key-d")
        _, body = server.ask("resident", 20, mine, key="key-c")
        assert "the caller is not known" in said(body)["claim"]["reason"]
        _, body = server.ask("resident", 20, mine, key="key-a")
        assert {"claim": {"decision": "accepted"}} == said(body)
        _, body = server.ask("other", 1, release, key="key-b")
        assert "not owned by who gives it up" in said(body)["release"]["reason"]
        _, body = server.ask("other", 1, release, key="key-a")
        assert {"release": {"decision": "accepted"}} == said(body)
    finally:
        server.stop()
