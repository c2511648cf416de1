"""Owners by their API keys, through the OpenAI-compatible server and its engine's process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import pytest

from runtime_hooks.demo.engine import claim, without_epoch
from runtime_hooks.demo.tiny import tokens
from tests_vllm.serve import Server

SCOPES = {"key-a": "tenant-a", "key-b": "tenant-b"}
OPTIONS = "--middleware runtime_hooks.scopes.OwnerScopes --api-key key-a key-b key-c"


def ask(server: Server, prompt: list[int], metadata: Any, key: str, answers: int = 1) -> Any:
    """What the response to a request of that caller says of claims."""
    asked = {"kv_transfer_params": metadata}
    answer = server.complete(prompt, key=key, n=answers, extra_body=asked)
    return without_epoch(answer.kv_transfer_params["resident_claims"])


@pytest.mark.deep
def test_scopes(tmp_path: Path) -> None:
    """A claim is the caller's: nobody else gives it up, and whoever has no scope claims nothing. A
    refusal names to each caller its own claims, also for a request without parameters. Two owners
    use the same id. An owner has half of the pool."""
    server = Server(tmp_path, *OPTIONS.split(), scopes=SCOPES)
    resident, other, other_ten = tokens("resident", 20), tokens("other", 1), tokens("ten", 10)
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
        assert "there is no live claim of that id" == said["release"]["reason"]
        large = claim("claim:large", 21)
        del large["resident_claim"]["owner_scope"]
        said = ask(server, tokens("large", 21), large, "key-a")
        assert (
            "tenant-a would hold 20 + 21 = 41 blocks, and 40 of 80 are the most"
            == (said["claim"]["reason"])
        )
        active, hers = tokens("active", 79), claim("claim:resident", 10)
        del hers["resident_claim"]["owner_scope"]
        assert {"claim": {"decision": "accepted"}} == ask(server, other_ten, hers, "key-b")
        for key, own, others in (
            ("key-a", ["claim:resident"], {"claims": 1, "blocks": 10}),
            ("key-b", ["claim:resident"], {"claims": 1, "blocks": 20}),
            ("key-c", [], {"claims": 2, "blocks": 30}),
        ):
            for streamed in (False, True):
                with pytest.raises(openai.APIError) as caught:
                    list(server.complete(active, key=key, stream=streamed))
                assert isinstance(caught.value.body, dict)
                refusal = caught.value.body["resident_claims"]["refusal"]
                assert (own, others) == (refusal["blocking_claim_ids"], refusal["others"])
                assert "owners" not in refusal
        assert {"release": {"decision": "accepted"}} == ask(server, other, release, "key-a")
        pin = {"pin": {"job_id": "agent"}}
        assert {"pin": {"decision": "accepted"}} == ask(server, other, pin, "key-a", answers=3)
    finally:
        server.kill()
