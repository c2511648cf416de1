"""Callers of a server: told to the engine by their API key, and by nothing else."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from monitor.engine import ModeVerdict
from runtime_hooks.ahead import Prompt
from runtime_hooks.config import Settings
from runtime_hooks.scopes import CALLER, OwnerScopes, prepare, scope_of
from spec.claims import Mode
from tests.runtime_hooks.engine import TinyEngine, claim

SCOPES = {"key-a": "tenant-a", "key-b": "tenant-b"}
PARAMETERS = {"resident_claim": {"claim_id": "claim:a"}}


@pytest.fixture(autouse=True)
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that tells its callers."""
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"scopes": SCOPES}))
    monkeypatch.setenv("RESIDENT_CLAIMS", str(file))
    monkeypatch.setenv("RESIDENT_CLAIMS_SECRET", "a secret of this server")


def passed(
    *parts: bytes, key: str | None = "key-a", method: str = "POST", gone: bool = False
) -> tuple[bytes, dict[bytes, bytes], list[str]]:
    """What the server gets of a body that comes in these parts: it, its headers, and the kinds of
    further messages.
    """
    headers = [] if key is None else [(b"authorization", f"Bearer {key}".encode())]
    headers.append((b"Content-Length", str(sum(map(len, parts))).encode()))
    messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": part, "more_body": gone or part is not parts[-1]}
        for part in parts
    ]
    messages.append({"type": "http.disconnect"})
    got: dict[str, Any] = {}

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def server(scope: dict[str, Any], receive: Any, send: Any) -> None:
        body, more, kinds = b"", True, []
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
            kinds.append(message["type"])
        if "http.disconnect" not in kinds:
            kinds.append((await receive())["type"])
        got.update(body=body, headers=dict(scope["headers"]), kinds=kinds)

    async def send(message: dict[str, Any]) -> None:
        raise AssertionError

    scope = {"type": "http", "method": method, "headers": headers}
    asyncio.run(OwnerScopes(server)(scope, receive, send))
    return got["body"], got["headers"], got["kinds"]


def caller(body: bytes) -> str:
    """Who calls, as the engine reads it."""
    return scope_of(json.loads(body)["kv_transfer_params"].get(CALLER))


def body(**more: Any) -> bytes:
    """A body with a claim."""
    return json.dumps({"prompt": "x", "kv_transfer_params": {**PARAMETERS, **more}}).encode()


class TestMiddleware:
    @pytest.mark.parametrize(("key", "scope"), [*SCOPES.items(), ("key-c", ""), (None, "")])
    def test_key(self, key: str | None, scope: str) -> None:
        """The scope of the key is told, and all else is as it was; who has none is nobody."""
        told, headers, kinds = passed(body(), key=key)
        assert scope == caller(told)
        said = json.loads(told)
        said["kv_transfer_params"].pop(CALLER, None)
        assert json.loads(body()) == said
        assert str(len(told)).encode() == headers[b"content-length"]
        assert ["http.request", "http.disconnect"] == kinds

    def test_parts(self) -> None:
        """A body may come in parts."""
        whole = body()
        assert "tenant-a" == caller(passed(whole[:20], whole[20:21], whole[21:])[0])

    @pytest.mark.parametrize(
        "forged",
        [
            {"scope": "tenant-b", "proof": "0" * 64},
            {"scope": "tenant-b"},
            {"scope": "tenant-b", "proof": "\ud800"},
            {"scope": "\ud800", "proof": ""},
            "tenant-b",
        ],
    )
    def test_forged(self, forged: Any) -> None:
        """What a client writes there is not believed, also where it gets past the middleware."""
        assert "tenant-a" == caller(passed(body(**{CALLER: forged}))[0])
        assert "" == caller(passed(body(**{CALLER: forged}), key="key-c")[0])
        hidden = body(**{CALLER: forged}).replace(b"kv_transfer", b"kv_tr\\u0061nsfer")
        assert "tenant-a" == caller(passed(hidden)[0])
        assert "" == caller(hidden)

    @pytest.mark.parametrize(
        "odd",
        [
            b"",
            b"kv_transfer_params",
            b'{"kv_transfer_params": 1}',
            b'["kv_transfer_params"]',
            b'{"kv_transfer_params": ' + b"[" * 100_000,
            b"\xff kv_transfer_params",
            b'{"prompt": "x"}',
        ],
    )
    def test_odd(self, odd: bytes) -> None:
        """What is no such body is passed on as it is."""
        assert odd == passed(odd)[0]

    def test_gone(self) -> None:
        """A client that goes away before its body is whole: so the server hears it."""
        assert (body(), ["http.request", "http.disconnect"]) == passed(body(), gone=True)[::2]

    def test_other_methods(self) -> None:
        """What is no post is let through."""
        assert body() == passed(body(), method="GET")[0]

    def test_bad_settings(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the settings cannot be read nobody has a scope, and the server runs."""
        monkeypatch.setenv("RESIDENT_CLAIMS", "/nowhere")
        assert "" == caller(passed(body())[0])


class TestSecret:
    def test_shared(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is made once, where callers are told, and without one nobody is known."""
        monkeypatch.delenv("RESIDENT_CLAIMS_SECRET")
        assert "" == scope_of({"scope": "tenant-a", "proof": ""})
        prepare(Settings())
        assert "RESIDENT_CLAIMS_SECRET" not in os.environ
        prepare(Settings(scopes=SCOPES))
        assert "tenant-a" == caller(passed(body())[0])


class TestEngine:
    def test_scopes(self) -> None:
        """With scopes a claim is the caller's; without a caller it is nobody's."""
        engine = TinyEngine(scopes=SCOPES)
        known = json.loads(passed(body())[0])["kv_transfer_params"][CALLER]
        mine = {k: v for k, v in claim(blocks=20).items() if k != "owner_scope"}
        assert engine.serve("nobody", 20, mine)
        assert "the caller is not known" in engine.answers[-1]["claim"]
        assert engine.serve("other", 20, claim("claim:b", 20), caller=known)
        assert "tenant-a cannot claim for tenant" in engine.answers[-1]["claim"]
        assert engine.serve("mine", 20, {**mine, "claim_id": "claim:c"}, caller=known)
        assert {"claim": ""} == engine.answers[-1]
        assert ["tenant-a"] == [e.owner_scope for e in engine.kinds("claim_accepted")]

    def test_release_and_pin(self) -> None:
        """Nobody known gives a claim up, or pins."""
        engine = TinyEngine(scopes=SCOPES)
        assert engine.serve("a", 20, release={"claim_id": "claim:a"}, pin={"job_id": "job"})
        said = engine.answers[0]
        assert ["the caller is not known"] * 2 == [said[k].partition(";")[0] for k in sorted(said)]

    def test_ahead(self) -> None:
        """What was registered ahead has its owner from there."""
        engine = TinyEngine(scopes=SCOPES)
        ticket = engine.keeper.ahead.register(claim(blocks=20), Prompt((ord("p"),) * 640))
        assert engine.serve("request", 20, prompt="p")
        assert "accepted" == ticket.state
        assert ModeVerdict.KEPT is engine.judge(Mode.HARD_PROTECTED).verdict
