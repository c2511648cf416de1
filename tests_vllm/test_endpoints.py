"""Each endpoint of the server that takes `kv_transfer_params`: claims, refusals and streams."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.client import HTTPConnection, IncompleteRead
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from monitor.check.files import check
from runtime_hooks.demo.tiny import tokens
from runtime_hooks.engines import installed, package_of, v0_32
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.stream.outcome import ModeVerdict
from tests_vllm.serve import Server, words
from tests_vllm.test_owners import http, made
from tests_vllm.test_scopes import OPTIONS, SCOPES

CLAIMS: Final = "/v1/resident_claims"
REASON: Final = "protected_resident_capacity_refused"


def _said(name: str, blocks: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": words(name, blocks)}]


BODIES: Final[dict[str, Callable[[str, int], dict[str, Any]]]] = {
    "/v1/completions": lambda *of: {"prompt": tokens(*of), "max_tokens": 1},
    "/v1/chat/completions": lambda *of: {"messages": _said(*of), "max_tokens": 1},
    "/v1/chat/completions/batch": lambda *of: {"messages": [_said(*of)], "max_tokens": 1},
    "/v1/messages": lambda *of: {"messages": _said(*of), "max_tokens": 1},
    "/v1/responses": lambda *of: {"input": words(*of), "max_output_tokens": 1},
    "/inference/v1/generate": lambda *of: {
        "token_ids": tokens(*of),
        "sampling_params": {"max_tokens": 1},
    },
    "/invocations": lambda *of: {"prompt": tokens(*of), "max_tokens": 1},
}
"""The body of a request for one token, for a prompt of so many blocks."""


class Found(NamedTuple):
    """What an endpoint does.

    Args:
        claim: what the answer says of a claim.
        refusal: the status and the type of the error of a request that is refused beside a claim,
            and where the claim is named: in the fields of the plugin, in the message, or nowhere.
        stream: what a streamed answer says of a claim.
        stream_refusal: how a stream of a refused request ends.
        made: how many claims there are after these two requests.
    """

    claim: str
    refusal: tuple[int, str, str]
    stream: str
    stream_refusal: str
    made: int = 2


FULL: Final = (503, REASON, "fields")
FOUND: Final = {
    "/v1/completions": Found("accepted", FULL, "no answer", "refusal"),
    "/v1/chat/completions": Found("accepted", FULL, "no answer", "refusal"),
    "/v1/chat/completions/batch": Found("no answer", FULL, "no answer", "refusal"),
    "/v1/messages": Found(
        "accepted", (503, "InternalServerError", "message"), "no answer", "another error"
    ),
    "/v1/responses": Found("accepted", FULL, "accepted", "cut off"),
    "/inference/v1/generate": Found("accepted", FULL, "no answer", "refusal"),
    "/invocations": Found("accepted", FULL, "no answer", "refusal"),
}


def post(server: Server, path: str, body: dict[str, Any], key: str = "key-a") -> tuple[int, str]:
    """The status and the text of an answer; it has a note at its end if it was cut off."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps({"model": "tiny", **body}), headers)
    answer = connection.getresponse()
    try:
        return answer.status, answer.read().decode()
    except IncompleteRead as cut:
        return answer.status, cut.partial.decode() + "(cut off)"
    finally:
        connection.close()


def decision(text: str) -> str:
    """What an answer says of a claim."""
    return next((d for d in ("accepted", "rejected") if f'"{d}"' in text), "no answer")


def end_of_stream(text: str) -> str:
    """How a stream of a refused request ends."""
    if "(cut off)" in text:
        return "cut off"
    return "refusal" if REASON in text else "another error" if "error" in text else "served"


def about(server: Server, path: str) -> Found:
    """What an endpoint does with claims."""
    body, name = BODIES[path], path.replace("/", ".")
    _, claimed = post(server, path, {**body(name, 10), **made(name, 10)})
    status, text = post(server, path, body("active", 79))
    said = json.loads(text)
    error = said.get("error", {})
    where = "fields" if "resident_claims" in error else "message" if name in text else "nowhere"
    _, streamed = post(server, path, {**body(f"s{name}", 5), **made(f"s{name}", 5), "stream": True})
    _, end = post(server, path, {**body("active", 79), "stream": True})
    claims = [claim["claim_id"] for claim in http(server, CLAIMS)[1]["claims"]]
    for claim_id in claims:
        assert 200 == http(server, f"{CLAIMS}/{claim_id}", method="DELETE")[0]
    refusal = (status, error.get("type", ""), where)
    return Found(decision(claimed), refusal, decision(streamed), end_of_stream(end), len(claims))


@pytest.mark.deep
@pytest.mark.skipif(package_of(installed()) != v0_32.__name__, reason="tried with vLLM 0.32")
def test_endpoints(tmp_path: Path) -> None:
    """Claims are made through each of them, also by streams, with the owner of the API key; the
    answers and the refusals are as listed."""
    server = Server(tmp_path, *OPTIONS.split(), "--enable-scale-out", scopes=SCOPES)
    try:
        server.wait()
        found = {path: about(server, path) for path in BODIES}
        trace = server.trace
        server.stop()
    finally:
        server.kill()
    report = check([str(trace)], Mode.HARD_PROTECTED, Bundle.CONTRACT)
    assert ModeVerdict.KEPT is report.verdict
    assert FOUND == found
