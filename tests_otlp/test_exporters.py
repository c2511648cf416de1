"""Log records of OpenTelemetry's exporter and of a collector are followed as a file is checked, and
a collector takes the spans of a timeline.
"""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.message import Message
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from monitor.__main__ import main
from monitor.samples import sample
from spec.stream.outcome import ModeVerdict
from tests.monitor.follow.processes import wait_for
from tests.monitor.follow.receiver import receiving
from tests.monitor.follow.test_otlp_receiver import checked, follower
from tests.monitor.follow.traces import trace
from tests.monitor.watch.scraped import free_port

FOLDER = Path(os.environ.get("RESIDENT_CLAIMS_OTLP", "build/otlp/bin"))
SEND = Path(__file__).with_name("send.py")
LINES = [line.strip() for line in trace(90)]


def listens(port: int) -> bool:
    """Whether somebody listens on a port."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def send(endpoint: str, lines: list[bytes], form: str, folder: Path) -> None:
    """Send lines by the exporter."""
    file = folder / "sent.jsonl"
    file.write_bytes(b"\n".join(lines))
    command = [FOLDER / "python", SEND, endpoint, file, form]
    subprocess.run(command, check=True, timeout=120)


@contextmanager
def collector(port: int, folder: Path) -> Iterator[str]:
    """The address of a collector that posts what it receives to this port; at its end it posts what
    it holds back.
    """
    (agent,) = FOLDER.parent.glob("lib/python*/site-packages/rotel/rotel-agent")
    receives, log = free_port(), folder / "collector.log"
    command = [agent, "start", f"--otlp-http-endpoint=127.0.0.1:{receives}"]
    command += [f"--otlp-grpc-endpoint=127.0.0.1:{free_port()}", "--exporter=otlp"]
    command += [f"--otlp-exporter-endpoint=http://127.0.0.1:{port}"]
    command += ["--otlp-exporter-protocol=http", "--batch-timeout=100ms"]
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            wait_for(lambda: listens(receives))
            yield f"http://127.0.0.1:{receives}"
        finally:
            process.terminate()


@pytest.mark.parametrize("form", ["text", "map"])
class TestSent:
    def test_exporter(self, tmp_path: Path, form: str) -> None:
        """The exporter sends protobuf in gzip; the verdicts are those of a check of the file."""
        with follower(tmp_path) as found:
            wait_for(lambda: listens(found.port))
            send(f"http://127.0.0.1:{found.port}", LINES, form, tmp_path)
            assert (1, []) == found.end()
        due = checked(tmp_path / "trace.jsonl", LINES)
        assert {ModeVerdict.KEPT, ModeVerdict.VIOLATED} <= {*due.values()}
        assert due == found.claims()

    def test_collector(self, tmp_path: Path, form: str) -> None:
        """A collector that passes them on changes no verdict: the numbers put them in order."""
        with follower(tmp_path, "--reorder", "100000") as found:
            wait_for(lambda: listens(found.port))
            with collector(found.port, tmp_path) as endpoint:
                send(endpoint, LINES, form, tmp_path)
            assert (1, []) == found.end()
        due = checked(tmp_path / "trace.jsonl", LINES)
        assert due == found.claims()


def test_spans(tmp_path: Path) -> None:
    """A collector takes the spans of a timeline, and passes each on with its ids and links."""
    trace, start = str(sample("hard_protected_refusal")), ("--start", "2026-01-31T12:00:00Z")
    file = tmp_path / "spans.json"
    assert 0 == main(["check", trace, "--otlp-spans", str(file), *start])

    def keep(path: str, headers: Message, body: bytes) -> tuple[str, bytes]:
        is_packed = headers.get("Content-Encoding") == "gzip"
        return path, gzip.decompress(body) if is_packed else body

    with (
        receiving(keep, (200,)) as (url, posted),
        collector(urlsplit(url).port or 0, tmp_path) as endpoint,
    ):
        assert 0 == main(["check", trace, "--otlp-spans", endpoint, *start])
        wait_for(lambda: posted)
    assert {path for path, _ in posted} == {"/v1/traces"}
    found = {
        (span.name, span.trace_id.hex(), span.span_id.hex(), len(span.events), len(span.links))
        for _, body in posted
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    }
    (request,) = [json.loads(line) for line in file.read_text().splitlines()]
    due = {
        (s["name"], s["traceId"], s["spanId"], len(s["events"]), len(s["links"]))
        for s in request["resourceSpans"][0]["scopeSpans"][0]["spans"]
    }
    assert (3, due) == (len(found), found)
