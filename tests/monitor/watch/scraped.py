"""Runs `monitor watch --metrics` on the sample as a process of its own, and scrapes it."""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.monitor.follow.processes import ROOT, wait_for

__all__ = ["exporting", "free_port"]

SAMPLES = "monitor/samples/watch"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def exporting(port: int) -> Iterator[str]:
    """What is served at this port once the sample was read; the process runs meanwhile."""
    found = [""]

    def is_read() -> bool:
        with suppress(OSError):
            url = f"http://127.0.0.1:{port}/metrics"
            found[0] = urllib.request.urlopen(url, timeout=5).read().decode()
        return "resident_claims_watched_losses_total{" in found[0]

    command = [sys.executable, "-m", "monitor", "watch", "--metrics", str(port)]
    command += ["--metrics-by-claim", f"{SAMPLES}/registry.yaml", f"{SAMPLES}/capture.jsonl"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        try:
            wait_for(is_read)
            yield found[0]
        finally:
            process.kill()
