"""Tests of front.owners: an owner sees and ends its own claims, and learns nothing of others."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime_hooks.claims.arrivals import Prompt
from runtime_hooks.claims.metadata import CHANGE, CLAIM, RELEASE
from runtime_hooks.claims.ownership import CALLING, prepare, signed
from runtime_hooks.control.client import Refused, Unknown, ask
from runtime_hooks.control.messages import ChangeOwn, Release, ReleaseOwn, Request, Show
from runtime_hooks.control.ranks import Reply, answered, ask_each
from runtime_hooks.front.owners import PATH, OwnClaims
from runtime_hooks.settings.config import Settings
from spec.claims.states import Mode
from spec.language.errors import SpecError
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.control.conftest import Operated, operate
from tests.runtime_hooks.tiny import claim

__all__ = ["operate"]

SCOPES = {"key-a": "tenant-a", "key-b": "tenant-b"}
Make = Callable[..., Operated]


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key that the server's processes share."""
    monkeypatch.setenv("RESIDENT_CLAIMS_SECRET", "")
    del os.environ["RESIDENT_CLAIMS_SECRET"]
    prepare(Settings(scopes=SCOPES))


@pytest.fixture
def engine(operate: Make) -> Operated:
    """An engine with a claim of each of two owners."""
    engine = operate(scopes=SCOPES)
    for owner, name, blocks in (("tenant-a", "a/1", 20), ("tenant-b", "b", 10)):
        stated = {**claim(name, blocks), "owner_scope": owner}
        assert engine.serve(name, blocks, stated, caller=signed(owner, {CLAIM: stated}))
    assert 2 == engine.engine.controller.claims
    return engine


def called(
    app: OwnClaims,
    method: str,
    raw: str,
    owner: str = "tenant-a",
    *,
    authorized: bool = True,
    content: bytes = b"",
) -> tuple[int, Any, dict[bytes, bytes]]:
    """The status, the body and the headers of an answer.

    Args:
        raw: the path behind that of the claims, as a client encodes it.
        content: the body of the request, which comes in two parts.
    """
    parts = [(content[:5], True), (content[5:], False)]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        body, more = parts.pop(0)
        return {"type": "http.request", "body": body, "more_body": more}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": unquote(PATH + raw),
        "raw_path": (PATH + raw).encode(),
        "headers": [(b"authorization", b"Bearer key")] if authorized else [],
    }

    async def run() -> None:
        CALLING.set(owner)
        await app(scope, receive, send)

    asyncio.run(run())
    start, body = sent
    headers = dict(start["headers"])
    assert len(body["body"]) == int(headers[b"content-length"])
    return start["status"], json.loads(body["body"]), headers


def app_of(engine: Operated) -> OwnClaims:
    """The application of that engine's server."""
    return OwnClaims(lambda request: [Reply(None, ask(engine.path, request))])


class TestSees:
    def test_list(self, engine: Operated) -> None:
        """A list has the owner's claims alone, and nothing of the pool."""
        status, body, _ = called(app_of(engine), "GET", "")
        assert (200, ["a/1"], 0) == (status, [c["claim_id"] for c in body["claims"]], 0)
        assert {"schema", "epoch", "claims", "left_out"} == body.keys()
        assert engine.engine.controller.epoch == body["epoch"]
        assert [] == called(app_of(engine), "GET", "", "tenant-c")[1]["claims"]

    @pytest.mark.parametrize("raw", ["/a/1", "/a%2F1"])
    def test_one(self, engine: Operated, raw: str) -> None:
        """One claim is shown with its state; not with whom it shares blocks."""
        status, body, _ = called(app_of(engine), "GET", raw)
        assert (200, "materialized", 20) == (status, *map(body["claim"].get, ("state", "held")))
        assert "shared" not in body

    @pytest.mark.parametrize("method", ["GET", "DELETE"])
    def test_other(self, engine: Operated, method: str) -> None:
        """A claim of another owner is answered as one that does not exist."""
        there = called(app_of(engine), method, "/b")
        ask(engine.path, ReleaseOwn("b", signed("tenant-b", {RELEASE: {"claim_id": "b"}})))
        assert called(app_of(engine), method, "/b") == there
        assert (404, "there is no live claim 'b'") == (there[0], there[1]["error"]["message"])


class TestReleases:
    def test_own(self, engine: Operated) -> None:
        """A release is the owner's in the trace, which is kept; the second finds nothing."""
        status, body, _ = called(app_of(engine), "DELETE", "/a/1")
        assert (200, "claim_released", "a/1") == (status, body["report"], body["claim_id"])
        assert 404 == called(app_of(engine), "DELETE", "/a/1")[0]
        (event,) = engine.engine.kinds("claim_released")
        assert ("tenant-a/a/1", "tenant-a") == (event.claim_id, event.by)
        assert ModeVerdict.VIOLATED is not engine.engine.judge(Mode.HARD_PROTECTED).verdict

    def test_waiting(self, engine: Operated) -> None:
        """A claim that was registered ahead waits no more."""
        stated = {**claim("ahead", 5), "owner_scope": "tenant-a"}
        ahead = engine.engine.controller.preregistration
        ticket = ahead.register(stated, Prompt((ord("p"),) * 160))
        assert "waiting" == called(app_of(engine), "GET", "/ahead")[1]["claim"]["state"]
        assert 404 == called(app_of(engine), "DELETE", "/ahead", "tenant-b")[0]
        assert "withdrawn" == called(app_of(engine), "DELETE", "/ahead")[1]["report"]
        assert "over" == ticket.state

    def test_forged(self, engine: Operated) -> None:
        """Who may open the socket cannot release in an owner's name without its proof, and a proof
        is for one claim, once."""
        proof = signed("tenant-a", {RELEASE: {"claim_id": "other"}})
        for caller in ({"scope": "tenant-a"}, {**proof, "proof": "0"}, proof, {}):
            with pytest.raises(Refused, match="the caller is not known") as caught:
                ask(engine.path, ReleaseOwn("a/1", caller))
            assert 1 == caught.value.code
        with pytest.raises(Unknown):
            ask(engine.path, ReleaseOwn("a/1", signed("tenant-b", {})))
        with pytest.raises(Refused, match="only tenant-a may release it"):
            ask(engine.path, Release("tenant-a/a/1"))
        assert 2 == engine.engine.controller.claims

    def test_no_scopes(self, operate: Make) -> None:
        """Where callers are not authenticated nobody releases in this way."""
        engine = operate()
        engine.serve("resident", 5, claim("claim:a", 5))
        proof = signed("tenant", {RELEASE: {"claim_id": "claim:a"}})
        with pytest.raises(Refused, match="the caller is not known"):
            ask(engine.path, ReleaseOwn("claim:a", proof))


def changed(engine: Operated, raw: str, owner: str = "tenant-a", **stated: Any) -> tuple[int, Any]:
    """The status and the body of the answer to a change of the mode."""
    content = json.dumps(stated).encode()
    return called(app_of(engine), "PATCH", raw, owner, content=content)[:2]


WEAKER = {"protection_mode": "best_effort", "successor": "a/2"}


class TestChanges:
    def test_own(self, engine: Operated) -> None:
        """The owner weakens a claim: another one follows, the first is released, and the same
        change sent again has the same answer."""
        for _ in range(2):
            status, body = changed(engine, "/a%2F1", **WEAKER)
            assert (200, "a/2", "best_effort") == (status, body["claim_id"], body["mode"])
        listed = called(app_of(engine), "GET", "")[1]["claims"]
        assert [("a/2", "best_effort")] == [(c["claim_id"], c["mode"]) for c in listed]
        (event,) = engine.engine.kinds("claim_released")
        assert ("tenant-a/a/1", "tenant-a") == (event.claim_id, event.by)
        assert ModeVerdict.VIOLATED is not engine.engine.judge(Mode.HARD_PROTECTED).verdict

    def test_other(self, engine: Operated) -> None:
        """A claim of another owner is answered as one that does not exist, for any mode."""
        for mode in ("best_effort", "hard_protected"):
            stated = {"protection_mode": mode, "successor": "b2"}
            there = changed(engine, "/b", **stated)
            none = changed(engine, "/none", **stated)
            assert (404, 404) == (there[0], none[0])
            words = [said["error"]["message"] for _, said in (there, none)]
            assert words[0].replace("'b'", "'none'") == words[1]
        assert 2 == engine.engine.controller.claims

    def test_rejected(self, engine: Operated) -> None:
        """A change that is rejected is a conflict, with the reason."""
        status, body = changed(engine, "/a/1", protection_mode="expiring", successor="a/2")
        assert (409, "ConflictError") == (status, body["error"]["type"])
        assert "an expiring claim has no duration" in body["error"]["message"]
        status, body = changed(engine, "/a/1", protection_mode="hard_protected", successor="a/2")
        assert (409, "it is hard_protected already") == (status, body["error"]["message"])

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"[]",
            b"{",
            b"{}",
            b"[" * 5000,
            b'{"successor": "x"}',
            b'{"successor": "x", "protection_mode": "strong"}',
            b'{"successor": 3, "protection_mode": "best_effort"}',
            b'{"successor": "x", "successor": "y", "protection_mode": "best_effort"}',
            b'{"successor": "x", "protection_mode": "soft_priority", "priority": true}',
            b'{"successor": "x", "protection_mode": "best_effort", "owner_scope": "tenant-b"}',
            b'{"successor": "x", "protection_mode": "best_effort"}' + b" " * (1 << 14),
        ],
    )
    def test_wrong(self, engine: Operated, content: bytes) -> None:
        """What is no change of the mode is answered with 400, and the claim stays."""
        status, body, _ = called(app_of(engine), "PATCH", "/a%2F1", content=content)
        assert (400, 2) == (status, engine.engine.controller.claims)
        assert body["error"]["message"]

    def test_forged(self, engine: Operated) -> None:
        """Who may open the socket cannot change a claim without its owner's proof, and a proof is
        for one change, once."""
        change = {"claim_id": "a/1", **WEAKER}
        other = signed("tenant-a", {CHANGE: {**change, "successor": "a/3"}})
        for caller in ({"scope": "tenant-a"}, other, signed("tenant-a", {}), {}):
            with pytest.raises(Refused, match="the caller is not known"):
                ask(engine.path, ChangeOwn(change, caller))
        assert 2 == engine.engine.controller.claims


WRONG = {
    "": (404, ""),
    "/": (400, "it is blank"),
    "/%20": (400, "it is blank"),
    "/a%20": (400, "begins or ends with white space"),
    "/%C2%A0a": (400, "begins or ends with white space"),
    "/a%00": (400, "control character U+0000"),
    "/a%0Ab": (400, "control character U+000A"),
    "/a%E2%80%A8": (400, "control character U+2028"),
    "/%ED%A0%80": (400, "not UTF-8"),
    "/%FF": (400, "not UTF-8"),
    "/" + "x" * 1025: (400, "1025 characters long"),
    "/%E2%80%AEa": (400, "U+202E at 0, which turns the direction of text"),
    "/%D7%90": (404, "there is no live claim 'א'"),
    "/../b": (404, "no live claim '../b'"),
    "//b": (404, "no live claim '/b'"),
}


class TestWrong:
    @pytest.mark.parametrize("raw", list(WRONG)[1:])
    def test_id(self, engine: Operated, raw: str) -> None:
        """An id that cannot be one is answered with 400 and the reason; the engine is not asked."""
        for method in ("GET", "PATCH", "DELETE"):
            content = json.dumps(WEAKER).encode()
            status, body, _ = called(app_of(engine), method, raw, content=content)
            assert WRONG[raw][0] == status
            assert WRONG[raw][1] in body["error"]["message"]

    @pytest.mark.parametrize(("method", "raw"), [("DELETE", ""), ("POST", "/a"), ("HEAD", "")])
    def test_method(self, engine: Operated, method: str, raw: str) -> None:
        """Not even a list can be deleted."""
        status, _, headers = called(app_of(engine), method, raw)
        assert (405, b"GET, PATCH, DELETE") == (status, headers[b"allow"])

    def test_caller(self, engine: Operated) -> None:
        """Nobody and an unknown key learn nothing, not even which ids are well formed."""
        for raw in ("", "/b", "/%00"):
            assert 401 == called(app_of(engine), "GET", raw, "", authorized=False)[0]
            assert 403 == called(app_of(engine), "GET", raw, "")[0]

    def test_gone(self, tmp_path: Path) -> None:
        """Where no engine answers it says so, without a path, and when to try again."""
        app = OwnClaims(lambda request: [Reply(None, ask(tmp_path / "1.sock", request))])
        status, body, headers = called(app, "GET", "")
        assert (503, b"1") == (status, headers[b"retry-after"])
        assert "no engine of this server answers" == body["error"]["message"]

    def test_fault(self) -> None:
        """A fault is no traceback."""
        status, body, _ = called(OwnClaims(lambda request: 1 // 0), "GET", "")  # type: ignore[arg-type, return-value]
        assert (503, "the plugin failed; see the server's log") == (
            status,
            body["error"]["message"],
        )

    def test_many(self) -> None:
        """Two ask at a time, some wait, and more are turned away."""
        goes, most, now = threading.Event(), [0], [0]

        def slow(request: Request) -> Any:
            now[0] += 1
            most[0] = max(most[0], now[0])
            goes.wait(30)
            now[0] -= 1
            raise SpecError("no engine")

        app, answers = OwnClaims(slow), list[int]()

        async def one(request: int) -> None:
            async def send(message: dict[str, Any]) -> None:
                answers.append(message.get("status", 0))
                if len([a for a in answers if a]) == 16:
                    goes.set()

            CALLING.set("tenant-a")
            scope = {"method": "GET", "path": PATH, "raw_path": PATH.encode(), "headers": []}
            await app(scope, None, send)

        async def all_of() -> None:
            await asyncio.gather(*map(one, range(80)))

        asyncio.run(all_of())
        assert (2, 80) == (most[0], len([a for a in answers if a == 503]))
        assert 0 == app._waiting


class TestRanks:
    @pytest.fixture
    def ranks(self, operate: Make) -> list[Operated]:
        """The two ranks of a server; each has a claim, the second one of the owner."""
        made = [operate(f"{number}-dp{number}of2.aa", scopes=SCOPES) for number in range(2)]
        for engine, owner in zip(made, ("tenant-b", "tenant-a"), strict=True):
            stated = {**claim("a", 10), "owner_scope": owner}
            assert engine.serve("a", 10, stated, caller=signed(owner, {CLAIM: stated}))
        return made

    def test_ranks(self, ranks: list[Operated]) -> None:
        """An owner sees the claims of all ranks, and releases one wherever it is."""

        def ask_all(request: Request) -> list[Reply]:
            return answered(ask_each([each.path for each in ranks], request), request)

        app = OwnClaims(ask_all)
        status, body, _ = called(app, "GET", "")
        assert (200, [("a", "tenant-a", 1)]) == (
            status,
            [(c["claim_id"], c["owner_scope"], c["rank"]) for c in body["claims"]],
        )
        epochs = {str(n): each.engine.controller.epoch for n, each in enumerate(ranks)}
        assert (epochs, False) == (body["epochs"], "epoch" in body)
        status, body, _ = called(app, "GET", "/a")
        assert (200, 1, epochs["1"]) == (status, body["rank"], body["epoch"])
        assert (200, 1) == (called(app, "DELETE", "/a")[0], ranks[0].engine.controller.claims)
        assert 404 == called(app, "DELETE", "/a")[0]
        assert (0, 1) == tuple(each.engine.controller.claims for each in ranks[::-1])


@pytest.fixture(scope="module")
def nothing() -> OwnClaims:
    """An engine that has no claim."""

    def ask_none(request: Request) -> Any:
        assert isinstance(request, Show)
        raise Unknown("there is no live claim", "", 2)

    return OwnClaims(ask_none)


@given(st.one_of(st.text(st.characters(codec="utf-8")), st.binary()))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any(nothing: OwnClaims, claim_id: str | bytes) -> None:
    """Whatever the id, the answer is that it cannot be one, or that there is none."""
    assert called(nothing, "GET", "/" + quote(claim_id, safe=""))[0] in (400, 404)
