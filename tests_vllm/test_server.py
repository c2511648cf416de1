"""The same through the OpenAI-compatible server: three processes, one of which is hooked."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from monitor.check import check
from monitor.engine import ModeVerdict
from runtime_hooks.demo.engine import claim
from runtime_hooks.demo.tiny import model_folder, tokens
from spec.claims import Mode
from spec.modes import Bundle
from tests_vllm.conftest import LONG_S

CLAIM = "claim:resident"


class Server:
    """A server with an engine of 80 usable blocks."""

    def __init__(self, folder: Path, more: str = "", **fields: Any) -> None:
        settings = folder / "settings.json"
        usual = {"trace": f"{folder}/trace", "monitor": "observe"}
        settings.write_text(json.dumps({**usual, **fields}))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        options = "--load-format dummy --skip-tokenizer-init --enforce-eager --dtype float32"
        sizes = "--num-gpu-blocks-override 81 --block-size 32 --max-model-len 2560 --max-num-seqs 4"
        where = f"--host 127.0.0.1 --port {self.port} --shutdown-timeout 60"
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model"]
        environment = {**os.environ, "RESIDENT_CLAIMS": str(settings)}
        del environment["VLLM_ENABLE_V1_MULTIPROCESSING"]
        self.log = folder / "log"
        self.trace = folder / "trace"
        model = str(model_folder(folder / "model"))
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, model, *f"{options} {sizes} {where} {more}".split()],
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )

    def wait(self) -> None:
        """Until it answers."""
        until = time.monotonic() + LONG_S
        while time.monotonic() < until and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5):
                    return
            except OSError:
                time.sleep(0.5)
        pytest.fail(f"the server does not answer: {self.log.read_text()[-2000:]}")

    def ask(
        self, name: str, blocks: int, metadata: dict[str, Any] | None = None, key: str = "none"
    ) -> Any:
        """The status and the body of a completion of one token."""
        body = {"model": str(self.log.parent / "model"), "prompt": tokens(name, blocks)}
        if metadata is not None:
            body["kv_transfer_params"] = metadata
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v1/completions",
            json.dumps({**body, "max_tokens": 1, "temperature": 0}).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {key}"},
        )
        with urllib.request.urlopen(request, timeout=LONG_S) as answer:
            return answer.status, json.loads(answer.read())

    def stop(self) -> None:
        """End it as an operator does."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LONG_S)

    def kill(self) -> None:
        """End all of its processes, whatever they do."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server that answers."""
    made = Server(tmp_path)
    try:
        made.wait()
        yield made
    finally:
        made.kill()


def test_refused(server: Server) -> None:
    """The client gets the refusal and the claim by name; the trace is whole, and is kept; who
    follows is told so at the end."""
    status, body = server.ask("resident", 60, claim())
    assert (200, "length") == (status, body["choices"][0]["finish_reason"])
    assert {"claim": {"decision": "accepted"}} == body["kv_transfer_params"]["resident_claims"]

    follow = [sys.executable, "-m", "monitor", "follow", f"{server.trace}.sock"]
    with subprocess.Popen(follow, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert CLAIM in reader.stdout.readline()
        status, body = server.ask("active", 70)
        choice = body["choices"][0]
        assert ("abort", "protected_resident_capacity_refused") == (
            choice["finish_reason"],
            choice["stop_reason"],
        )
        refusal = body["kv_transfer_params"]["resident_claims"]["refusal"]
        assert [CLAIM] == refusal["blocking_claim_ids"]
        assert {"resident": 60, "active": 70, "total": 130, "usable": 80, "shortfall": 50} == (
            refusal["proof"]
        )
        _, body = server.ask("resident", 60)
        assert "length" == body["choices"][0]["finish_reason"]
        server.stop()
        told = reader.stdout.read()
    assert 0 == reader.returncode, told + server.log.read_text()[-2000:]
    assert "(final)" in told

    report = check([str(server.trace)], Mode.HARD_PROTECTED, Bundle.CONTRACT)
    assert ModeVerdict.KEPT is report.verdict
    assert 1 == len({json.loads(line)["stream"] for line in server.trace.open()})
