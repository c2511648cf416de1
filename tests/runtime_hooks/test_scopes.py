"""Tests of scopes and claims.ownership: callers are authenticated by their API key alone."""

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime_hooks.claims import ownership
from runtime_hooks.claims.arrivals import Prompt
from runtime_hooks.claims.metadata import CLAIM, NULL
from runtime_hooks.claims.ownership import (
    CALLER,
    CALLING,
    WINDOW_S,
    Callers,
    prepare,
    signed,
)
from runtime_hooks.scopes import OwnerScopes
from runtime_hooks.settings.config import Settings
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import NS, TinyEngine, claim

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


def caller(body: bytes, engine: Callers | None = None) -> str:
    """Who calls, as an engine reads it behind the server."""
    metadata = json.loads(body)["kv_transfer_params"]
    return (engine or Callers()).scope_of(metadata.get(CALLER), metadata)


def of(text: str) -> str:
    """The parameters of a body."""
    return json.dumps(json.loads(text)["kv_transfer_params"])


def body(**more: Any) -> bytes:
    """A body with a claim."""
    return json.dumps({"prompt": "x", "kv_transfer_params": {**PARAMETERS, **more}}).encode()


class TestMiddleware:
    @pytest.mark.parametrize(("key", "scope"), [*SCOPES.items(), ("key-c", ""), (None, "")])
    def test_key(self, key: str | None, scope: str) -> None:
        """The scope of the key is reported, and all else is as it was; who has none is nobody."""
        got, headers, kinds = passed(body(), key=key)
        assert scope == caller(got)
        said = json.loads(got)
        said["kv_transfer_params"].pop(CALLER, None)
        assert json.loads(body()) == said
        length = {name.lower(): value for name, value in headers.items()}[b"content-length"]
        assert str(len(got)).encode() == length
        assert ["http.request", "http.disconnect"] == kinds

    def test_calling(self) -> None:
        """What answers a request knows whose it is, in tasks of its own too; no request inherits
        the caller of the one before."""
        found: list[str] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"{}", "more_body": False}

        async def server(scope: dict[str, Any], receive: Any, send: Any) -> None:
            async def look() -> None:
                found.append(CALLING.get())

            await asyncio.create_task(look())

        async def send(message: dict[str, Any]) -> None:
            raise AssertionError

        async def several() -> None:
            for key in ("key-a", "key-c", "key-b", ""):
                headers = [(b"authorization", f"Bearer {key}".encode())]
                http = {"type": "http", "method": "POST", "headers": headers}
                await OwnerScopes(server)(http, receive, send)
            CALLING.set("tenant-a")
            await OwnerScopes(server)({"type": "websocket"}, receive, send)

        asyncio.run(several())
        assert ["tenant-a", "", "tenant-b", "", ""] == found

    @pytest.mark.parametrize("key", ["key-c", None])
    def test_unread(self, key: str | None) -> None:
        """Of who has no scope nothing is read before the server asks for it."""
        asked: list[str] = []

        async def receive() -> dict[str, Any]:
            asked.append("receive")
            return {"type": "http.request", "body": body(), "more_body": True}

        async def server(scope: dict[str, Any], receive: Any, send: Any) -> None:
            asked.append("server")
            await receive()

        async def send(message: dict[str, Any]) -> None:
            raise AssertionError

        headers = [] if key is None else [(b"authorization", f"Bearer {key}".encode())]
        scope = {"type": "http", "method": "POST", "headers": headers}
        asyncio.run(OwnerScopes(server)(scope, receive, send))
        assert ["server", "receive"] == asked

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

    @pytest.mark.parametrize("key", ["key-a", "key-c"])
    @pytest.mark.parametrize(
        "write",
        [
            lambda text: b"\xef\xbb\xbf" + text.encode(),
            lambda text: text.encode("utf-16"),
            lambda text: text.encode("utf-32-be"),
            lambda text: text.replace("kv_transfer", "kv_tr\\u0061nsfer").encode(),
            lambda text: text.replace(
                "resident_claims_caller", "resident_claims_c\\u0061ller"
            ).encode(),
            lambda text: text.replace("{", '{"kv_transfer_params": {}, ', 1).encode(),
            lambda text: text.replace("{", '{"kv_transfer_params": null, ', 1).encode(),
            lambda text: (text[:-1] + ', "kv_transfer_params": ' + of(text) + "}").encode(),
            lambda text: (text[:-1] + ', "n": NaN, "m": -Infinity, "k": 1e999}').encode(),
            lambda text: (text[:-1] + ', "user": "\\ud800"}').encode(),
            lambda text: (text + " " * (9 << 20)).encode(),
            lambda text: (text[:-1] + ', "n": ' + "9" * 5_000 + "}").encode(),
            lambda text: (text[:-1] + ', "n": ' + "[" * 5_000 + "]" * 5_000 + "}").encode(),
        ],
    )
    def test_replayed(self, write: Callable[[str], bytes], key: str) -> None:
        """A proof that was read in a log gives nobody else's scope, however the body is written:
        where the server can read it, it is the key's scope or none.
        """
        engine, known = Callers(), passed(body(), key="key-b")[0]
        assert "tenant-b" == caller(known, engine)
        got = passed(write(known.decode()), key=key)[0]
        try:
            scope = caller(got, engine)
        except (ValueError, RecursionError):  # the server refuses the body
            return
        assert scope in ({"key-a": "tenant-a"}.get(key, ""), "")

    def test_bad_settings(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the settings cannot be read nobody has a scope, and the server runs."""
        monkeypatch.setenv("RESIDENT_CLAIMS", "/nowhere")
        assert "" == caller(passed(body())[0])


class TestProof:
    def test_shared(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The secret is made once, where callers are told, and without one nobody is known."""
        monkeypatch.delenv("RESIDENT_CLAIMS_SECRET")
        said = signed("tenant-a", PARAMETERS)
        assert "" == Callers().scope_of(said, PARAMETERS)
        prepare(Settings())
        assert "RESIDENT_CLAIMS_SECRET" not in os.environ
        prepare(Settings(scopes=SCOPES))
        assert "tenant-a" == caller(passed(body())[0])

    def test_once(self) -> None:
        """A proof is believed once."""
        engine, said = Callers(), signed("tenant-a", PARAMETERS)
        assert ["tenant-a", ""] == [engine.scope_of(said, PARAMETERS) for _ in range(2)]

    @pytest.mark.parametrize("key", ["resident_claim", "release_claim", "pin"])
    def test_bound(self, key: str) -> None:
        """It is of all that is asked for in the scope, and a try with anything else spends it not;
        what is added to it or is too deep to be compared is something else.
        """
        engine, said = Callers(), signed("tenant-a", PARAMETERS)
        deep: Any = []
        for _ in range(10_000):
            deep = [deep]
        for other in ({"claim_id": "claim:b"}, deep, {1: 2, "a": 3}, {4}):
            assert "" == engine.scope_of(said, {**PARAMETERS, key: other})
        assert "tenant-a" == engine.scope_of(said, {**PARAMETERS, "no_admit": True})

    def test_changed(self) -> None:
        """Nothing of it can be changed."""
        said = signed("tenant-a", PARAMETERS)
        for name, value in said.items():
            for other in (1, 10**5_000, "tenant-b", None, True, value * 2, said["asks"]):
                assert value == other or not Callers().scope_of({**said, name: other}, PARAMETERS)

    @pytest.mark.parametrize(("age_s", "good"), [(-1, False), (0, True), (WINDOW_S, True)])
    def test_window(self, age_s: int, good: bool) -> None:
        """It is good for a time, and not before it was made; nothing is remembered beyond that."""
        said = signed("tenant-a", PARAMETERS)
        now = [said["made_ns"] + age_s * NS]
        engine = Callers(lambda: now[0])
        assert good is bool(engine.scope_of(said, PARAMETERS))
        now[0] += 2 * WINDOW_S * NS
        assert "" == engine.scope_of(said, PARAMETERS)
        assert {} == engine._used

    def test_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Only so many are believed in that time, and then others again."""
        monkeypatch.setattr(ownership, "MOST", 2)
        proofs = [signed(scope, PARAMETERS) for scope in "abc"]
        now = [proofs[0]["made_ns"] + WINDOW_S * NS]
        engine = Callers(lambda: now[0])
        assert ["a", "b", ""] == [engine.scope_of(said, PARAMETERS) for said in proofs]
        monkeypatch.setattr(time, "monotonic_ns", lambda: now[0])
        late = signed("d", PARAMETERS)
        now[0] += WINDOW_S * NS
        assert "" == engine.scope_of(late, PARAMETERS)
        now[0] += 1
        assert "" == engine.scope_of(late, PARAMETERS)
        assert "e" == engine.scope_of(signed("e", PARAMETERS), PARAMETERS)


class TestEngine:
    def test_scopes(self) -> None:
        """With scopes a claim is the caller's; without a caller it is nobody's."""
        engine = TinyEngine(scopes=SCOPES)
        mine = {k: v for k, v in claim(blocks=20).items() if k != "owner_scope"}
        assert engine.serve("nobody", 20, mine)
        assert "the caller is not known" in engine.answers[-1]["claim"]
        other, third = claim("claim:b", 20), {**mine, "claim_id": "claim:c"}
        assert engine.serve("other", 20, other, caller=signed("tenant-a", {CLAIM: other}))
        assert "tenant-a cannot claim for tenant" in engine.answers[-1]["claim"]
        assert engine.serve("mine", 20, third, caller=signed("tenant-a", {CLAIM: third}))
        assert {"claim": ""} == engine.answers[-1]
        assert ["tenant-a"] == [e.owner_scope for e in engine.kinds("claim_accepted")]

    def test_asks_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A request that asks for nothing uses up none of the proofs that are believed."""
        monkeypatch.setattr(ownership, "MOST", 2)
        engine = TinyEngine(scopes=SCOPES)
        for name in ("a", "b"):
            asked = {**claim(f"claim:{name}", 20), "owner_scope": "tenant-a"}
            assert engine.serve(name, 20, asked, caller=signed("tenant-a", {CLAIM: asked}))
            assert {"claim": ""} == engine.answers[-1]
            assert engine.serve(f"{name} again", 20, caller=signed("tenant-a", {}))

    def test_null(self) -> None:
        """A claim beside nothing that is stated as null is the caller's."""
        engine, mine = TinyEngine(scopes=SCOPES), {**claim(blocks=20), "owner_scope": "tenant-a"}
        said = signed("tenant-a", {CLAIM: mine, "pin": None})
        assert engine.serve("mine", 20, mine, pin=NULL, caller=said)
        assert "" == engine.answers[0]["claim"]
        assert "pin is no object with a job_id" in engine.answers[0]["pin"]

    @pytest.mark.parametrize(
        "asked", [{"release": {"claim_id": "claim:a"}}, {"pin": {"job_id": "job"}}], ids=str
    )
    @pytest.mark.parametrize("before", [0, 1])
    def test_alone(self, asked: dict[str, Any], before: int) -> None:
        """Without a caller each is turned away by itself, too, beside a claim or not."""
        engine = TinyEngine(scopes=SCOPES)
        for number in range(before):
            mine = {**claim(f"claim:{number}", 20), "owner_scope": "tenant-a"}
            assert engine.serve(f"{number}", 20, mine, caller=signed("tenant-a", {CLAIM: mine}))
        assert engine.serve("a", 20, **asked)
        said = {what: answer for each in engine.answers[before:] for what, answer in each.items()}
        assert asked.keys() == said.keys()
        assert all("the caller is not known" in answer for answer in said.values())

    def test_release_and_pin(self) -> None:
        """Nobody known gives a claim up, or pins."""
        engine = TinyEngine(scopes=SCOPES)
        assert engine.serve("a", 20, release={"claim_id": "claim:a"}, pin={"job_id": "job"})
        said = engine.answers[0]
        assert ["the caller is not known"] * 2 == [said[k].partition(";")[0] for k in sorted(said)]

    def test_ahead(self) -> None:
        """What was registered ahead has its owner from there."""
        engine = TinyEngine(scopes=SCOPES)
        ticket = engine.controller.preregistration.register(
            claim(blocks=20), Prompt((ord("p"),) * 640)
        )
        assert engine.serve("request", 20, prompt="p")
        assert "accepted" == ticket.state
        assert ModeVerdict.KEPT is engine.judge(Mode.HARD_PROTECTED).verdict
