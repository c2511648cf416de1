"""docs/vllm.md in a real server: a request claims its prefix, it is held, the trace is kept."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests_vllm.conftest import LONG_S
from tests_vllm.serve import Server, words

PAGE = (Path(__file__).parents[1] / "docs" / "vllm.md").read_text()
(BODY,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"^ *\$ (?:\w+=\w+ )*\S*?(curl|vllm|python)\b (.*)$", PAGE, re.MULTILINE)
_CALL = re.compile(r"-m (\w+) (\w+)")


def asked(server: Server, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """The status and the answer, to what the page sends with curl."""
    (path,) = (re.findall(r":8000(\S+)", words)[0] for name, words in COMMANDS if name == "curl")
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}{path}",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=LONG_S) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def called(*words: str) -> str:
    """What a command of the page prints; it exits with 0."""
    line = [sys.executable, "-m", *words]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


def test_page(tmp_path: Path) -> None:
    """The claim of the page is accepted and listed; a request that does not fit is refused and
    names it; the trace is kept."""
    calls = [_CALL.search(words) for name, words in COMMANDS if name == "python"]
    listed = ("runtime_hooks", "claims")
    assert [("runtime_hooks", "demo"), ("runtime_hooks", "doctor"), listed, ("monitor", "follow"),
            ("monitor", "check")] == [call.groups() for call in calls if call]  # fmt: skip
    body = {**json.loads(BODY), "model": "tiny", "prompt": words("prompt", 20)}
    claim = body["kv_transfer_params"]["resident_claim"]["claim_id"]
    server = Server(tmp_path)
    try:
        server.wait()
        status, answer = asked(server, body)
        said = answer["kv_transfer_params"]["resident_claims"]
        assert (200, {"decision": "accepted"}) == (status, said["claim"])

        del body["kv_transfer_params"]
        status, answer = asked(server, {**body, "prompt": words("large", 79) + " t1"})
        assert 503 == status
        assert [claim] == answer["error"]["resident_claims"]["refusal"]["blocking_claim_ids"]

        shown = called(*listed, "list", "--socket", str(tmp_path / "control"))
        assert f"{claim}\n    tenant-a, hard_protected, materialized, 1 of 1" in shown
        server.stop()
    finally:
        server.kill()
    assert called("monitor", "check", str(server.trace)).startswith("kept: ")
