"""Tests of `models explore`: the address that it prints, its end, and what it refuses."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from models import __main__ as command
from models.__main__ import main

ROOT = Path(__file__).parents[3]


def test_serves_until_it_is_interrupted() -> None:
    """It prints its address, answers there, on loopback alone, and Ctrl-C ends it with 0."""
    arguments = [sys.executable, "-m", "models", "explore", "vllm_pool", "--port", "0"]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as served:
        assert served.stdout is not None
        address, _, rest = served.stdout.readline().partition(" ")
        assert "(Ctrl-C ends it)\n" == rest
        asked = http.client.HTTPConnection(address.split("/")[2], timeout=60)
        asked.request("GET", "/")
        assert b"vllm_pool" in asked.getresponse().read()
        asked.close()
        os.kill(served.pid, signal.SIGINT)
        said = served.communicate(timeout=60)
    assert (0, ("", "")) == (served.returncode, said)
    assert address.startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["vllm_poo"], "did you mean vllm_pool"),
        (["vllm_pool:no"], "there is no variant 'no'"),
        (
            ["vllm_pool", "--inference", "block_removed"],
            "block_removed -> claim_harm",
        ),
        (["micro", "--inference", "pin"], "omit --inference"),
        (["vllm_pool", "--port", "65536"], "--port"),
    ],
)
def test_bad_input(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is mistyped ends in a sentence and exit code 2."""
    assert 2 == main(["explore", *arguments])
    assert says in capsys.readouterr().err


def test_port_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    """A port that another program has is named, with what to do."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert 2 == main(["explore", "vllm_pool", "--port", str(port)])
    says = capsys.readouterr().err
    assert f"port {port} of 127.0.0.1 cannot be taken" in says
    assert "name another with --port" in says


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_without_the_extra(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the extra it says how to install it."""
    there = command.find_spec
    monkeypatch.setattr(command, "find_spec", lambda name: None if name == missing else there(name))
    assert 2 == main(["explore", "vllm_pool"])
    assert f"{missing} is not installed" in (says := capsys.readouterr().err)
    assert "[web]" in says
