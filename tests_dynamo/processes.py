"""Starts indexers of NVIDIA Dynamo, and watchers that compare them with an engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests_vllm.conftest import LONG_S
from tests_vllm.test_kv_events import free_port

__all__ = ["Watcher", "indexer", "is_empty"]

_PYTHON = os.environ.get("RESIDENT_CLAIMS_DYNAMO_PYTHON", "build/dynamo/bin/python")


class Watcher:
    """A process that watches, and the lines that it has printed."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "monitor", "watch", *arguments, "--format", "json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.lines: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for text in self.process.stdout:
            self.lines.append(json.loads(text))

    def until(self, count: int = 1, **fields: Any) -> None:
        """So many lines say this, or have this in their claim or disagreement."""
        until = time.monotonic() + LONG_S
        while time.monotonic() < until and self.process.poll() is None:
            flat = [
                {**each, **each.get("claim", {}), **each.get("disagreement", {})}
                for each in [*self.lines]
            ]
            if sum(fields.items() <= each.items() for each in map(_hashable, flat)) >= count:
                return
            time.sleep(0.2)
        self.end()
        pytest.fail(f"no line has {fields}: {self.lines[-5:]}")

    def end(self) -> int:
        """Stop it; the exit code."""
        self.process.terminate()
        self._thread.join(60)
        return self.process.wait(60)


def _hashable(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if isinstance(value, str | int | None)}


def indexer(folder: Path, name: str, endpoint: str, running: ExitStack, *, size: int) -> str:
    """Start an indexer of the events of an engine; its address."""
    port = free_port()
    command = [_PYTHON, "-m", "dynamo.indexer", "--block-size", str(size), "--port", str(port)]
    command += ["--model-name", "tiny", "--workers", f"1={endpoint}"]
    log = running.enter_context((folder / name).open("wb"))
    process = subprocess.Popen(command, stdout=log, stderr=log)
    running.callback(process.wait)
    running.callback(process.kill)
    return f"dynamo:http://127.0.0.1:{port}"


def is_empty(address: str) -> bool:
    """Whether an indexer knows no block yet; one that does not answer yet knows none."""
    url = f"{address.removeprefix('dynamo:')}/dump"
    try:
        with urllib.request.urlopen(url, timeout=LONG_S) as answer:
            return not any(index["events"] for index in json.load(answer).values())
    except OSError:
        return True
