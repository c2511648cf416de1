"""Owners ask a real server for their own claims and release them, by HTTP and their API keys."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from monitor.check.files import check
from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.tiny import tokens
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.envelopes import retain, span
from tests_vllm.serve import Server
from tests_vllm.test_scopes import OPTIONS, SCOPES


def http(
    server: Server, path: str, key: str = "key-a", method: str = "GET", content: object = None
) -> tuple[int, Any]:
    """The status and the body of an answer to a request with this content."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    body = None if content is None else json.dumps(content).encode()
    url = f"http://127.0.0.1:{server.port}{path}"
    asked = Request(url, body, headers=headers, method=method)
    try:
        with urlopen(asked, timeout=60) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


def raw(server: Server, path: bytes) -> bytes:
    """The first line of the answer to a path that no client would send."""
    with socket.create_connection(("127.0.0.1", server.port), 60) as peer:
        peer.sendall(
            b"GET " + path + b" HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer key-a\r\n\r\n"
        )
        return peer.recv(4096).partition(b"\r\n")[0]


def made(name: str, blocks: int) -> dict[str, Any]:
    """The metadata of a claim of whoever asks."""
    asked = claim(name, blocks)
    del asked["resident_claim"]["owner_scope"]
    return {"kv_transfer_params": asked}


def test_owners(tmp_path: Path) -> None:
    """Each owner sees and ends its own claims on an idle server; those of others are unknown to it.
    A stream's client learns its decision so. Keys are vLLM's and ours, and ids are hostile."""
    server = Server(tmp_path, *OPTIONS.split(), scopes=SCOPES)
    one = "/v1/resident_claims"
    try:
        server.wait()
        server.complete(tokens("a", 20), key="key-a", extra_body=made("team/a:1", 20))
        list(server.complete(tokens("b", 10), key="key-b", extra_body=made("b", 10), stream=True))

        status, body = http(server, one)
        assert (200, ["team/a:1"]) == (status, [c["claim_id"] for c in body["claims"]])
        status, body = http(server, f"{one}/b", "key-b")
        assert (200, "materialized", 10) == (status, body["claim"]["state"], body["claim"]["held"])
        assert http(server, f"{one}/none") == (
            404,
            json.loads(json.dumps(http(server, f"{one}/b")[1]).replace("'b'", "'none'")),
        )
        assert 404 == http(server, f"{one}/b", method="DELETE")[0]
        assert (401, {"error": "Unauthorized"}) == http(server, one, "key-d")
        assert (401, {"error": "Unauthorized"}) == http(server, f"{one}/b", "")
        assert 403 == http(server, one, "key-c")[0]
        assert 405 == http(server, one, method="DELETE")[0]
        for path in ("/%00", "/%0A", "/%ED%A0%80", "/", "/" + "x" * 1025):
            assert 400 == http(server, one + path)[0]
        assert b"400" in raw(server, one.encode() + b"/\xff")
        assert 404 == http(server, "/v1/resident_claimsx")[0]

        asked = {"kv_transfer_params": {"kv_hints": retain(span(0, 96, 80), scope="chat")}}
        said = server.complete(tokens("h", 4), key="key-a", extra_body=asked).kv_transfer_params
        (hint,) = said["resident_claims"]["kv_hints"]["actions"]
        assert ("accepted", 1) == (hint["outcome"], len(hint["claims"]))
        assert hint["claims"][0] in [c["claim_id"] for c in http(server, one)[1]["claims"]]
        unknown = server.complete(tokens("h", 4), key="key-c", extra_body=asked)
        (hint,) = unknown.kv_transfer_params["resident_claims"]["kv_hints"]["actions"]
        assert ("rejected", True) == (hint["outcome"], "caller is not known" in hint["reason"])
        weaker = {"protection_mode": "demotable", "successor": "team/a:2"}
        assert 404 == http(server, f"{one}/b", method="PATCH", content=weaker)[0]
        assert 400 == http(server, f"{one}/team%2Fa:1", method="PATCH", content=[])[0]
        for _ in range(2):  # the second is a retry
            status, body = http(server, f"{one}/team%2Fa:1", method="PATCH", content=weaker)
            assert (200, "team/a:2", "demotable") == (status, body["claim_id"], body["mode"])
        status, body = http(server, f"{one}/team%2Fa:2", method="DELETE")
        assert (200, "claim_released") == (status, body["report"])
        assert ["soft_priority"] == [c["mode"] for c in http(server, one)[1]["claims"]]
        assert 1 == len(http(server, one, "key-b")[1]["claims"])
        trace = server.trace
        server.stop()
    finally:
        server.kill()
    report = check([str(trace)], Mode.HARD_PROTECTED, Bundle.CONTRACT)
    assert ModeVerdict.KEPT is report.verdict
    released = [json.loads(line) for line in trace.open() if '"claim_released"' in line]
    assert [("tenant-a/team/a:1", "tenant-a"), ("tenant-a/team/a:2", "tenant-a")] == [
        (each["claim_id"], each["by"]) for each in released
    ]
