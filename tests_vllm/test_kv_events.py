"""KV events of a real vLLM without the plugin are read, also late and over a restart."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.check.files import check_files
from monitor.follow.kv_socket import KvSocket
from monitor.report.verdict import Report
from runtime_hooks.demo.tiny import tokens
from spec.stream.outcome import ModeVerdict
from tests.monitor.follow.reading import Read, reading
from tests_vllm.serve import Server

_QUIET_S = 2.0


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def settled(read: Read, before: int = 0) -> int:
    """How many messages came, once there are more than before and no more come."""
    count, until = -1, time.monotonic() + 60
    while time.monotonic() < until:
        last, count = count, len(read.lines)
        if before < count == last:
            break
        time.sleep(_QUIET_S)
    return count


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int]]:
    """What two runs of an engine published, and how many messages each had; the first run was read
    from its middle on.
    """
    folder, ports = tmp_path_factory.mktemp("kv"), (free_port(), free_port())
    address, replay = (f"tcp://127.0.0.1:{port}" for port in ports)
    config = {"enable_kv_cache_events": True, "publisher": "zmq"}
    config |= {"endpoint": f"tcp://*:{ports[0]}", "replay_endpoint": f"tcp://*:{ports[1]}"}
    option, counts = ("--kv-events-config", json.dumps(config)), list[int]()
    path = folder / "capture.jsonl"

    def served(name: str) -> Server:
        (folder / name).mkdir()
        server = Server(folder / name, *option, armed=False)
        server.wait()
        return server

    first = served("first")
    try:
        first.complete(tokens("resident", 60))
        with reading(KvSocket(address, replay)) as read:
            counts.append(settled(read))
            first.complete(tokens("active", 70))  # what does not fit beside it is evicted
            counts.append(settled(read, counts[-1]))
            first.kill()
            second = served("second")
            try:
                second.complete(tokens("resident", 3))
                counts.append(settled(read, counts[-1]))
            finally:
                second.kill()
            path.write_bytes(b"\n".join(line for line in read.lines if line is not None) + b"\n")
    finally:
        first.kill()
    return path, counts


@pytest.fixture(scope="module")
def report(captured: tuple[Path, list[int]]) -> Report:
    return check_files(captured[0])


class TestKvEvents:
    def test_late(self, captured: tuple[Path, list[int]]) -> None:
        """What was published before anybody read is read from the replay."""
        late, later, all_of_them = captured[1]

        assert 0 < late < later < all_of_them

    def test_runs(self, report: Report) -> None:
        """Nothing is missing, and the second engine is another run."""
        assert ["another run of the stream begins"] == [each.why for each in report.breaks]

    def test_form(self, report: Report, captured: tuple[Path, list[int]]) -> None:
        """The runtime is named, and every batch is counted."""
        assert (
            f"KV events of vLLM: {captured[1][-1]} batches, none missing" in report.inputs[0].form
        )
        assert "unknown" not in report.inputs[0].form

    def test_verdict(self, report: Report) -> None:
        """There are no claims, so nothing is judged."""
        assert (ModeVerdict.INCONCLUSIVE, "no claim") == (report.verdict, report.why)

    def test_facts(self, report: Report) -> None:
        """Fifty of sixty blocks, or more, were evicted for the request of seventy."""
        keys = [
            each
            for line in captured_events(report)
            if line["type"] == "BlockRemoved"
            for each in line["block_hashes"]
        ]
        assert 50 <= len(keys)


def captured_events(report: Report) -> Iterator[dict[str, list[int]]]:
    """The events of the capture, as msgpack has them."""
    from base64 import b64decode

    import msgspec

    for line in Path(report.inputs[0].file).read_bytes().splitlines():
        payload = b64decode(json.loads(line)["frames"][2])
        yield from msgspec.msgpack.decode(payload)[1]
