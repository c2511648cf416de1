"""One engine prefills and leaves its blocks, another reads them by NIXL: both are observed."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from monitor.check.files import check
from runtime_hooks.demo.engine import claim
from runtime_hooks.trace.leases import SUFFIX, LeaseLine
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.stream.outcome import ModeVerdict
from tests_vllm.test_kv_events import free_port

_PYTHON = os.environ.get("RESIDENT_CLAIMS_NIXL_PYTHON", "build/nixl/bin/python")
BLOCKS, LEASE_S = 11, 2
LEAVES = {"do_remote_decode": True, "do_remote_prefill": False}
READS = {"do_remote_decode": False, "do_remote_prefill": True}


class Side:
    """An engine in a process of its own, and its files."""

    def __init__(self, trace: Path, role: str, running: ExitStack) -> None:
        self.trace = trace
        command = [
            _PYTHON,
            "-m",
            "tests_nixl.side",
            str(trace),
            str(free_port()),
            str(LEASE_S),
            role,
        ]
        log = running.enter_context(trace.with_suffix(".log").open("wb"))
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, text=True)
        running.callback(self._process.wait)
        running.callback(self._process.kill)

    def says(self) -> Any:
        """Its next line."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self.trace.with_suffix(".log").read_text()[-3000:]
        return json.loads(line)

    def serves(self, name: str, blocks: int, metadata: dict[str, Any] | None = None) -> Any:
        """Its answer to a prompt."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps([name, blocks, metadata])}\n")
        self._process.stdin.flush()
        answer = self.says()
        assert 0 == answer["faults"]
        return answer

    def ends(self) -> list[LeaseLine]:
        """What it noted of leases, once it has ended."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert 0 == self._process.wait(300)
        lines = Path(f"{self.trace}{SUFFIX}").read_bytes().splitlines()
        return [msgspec.json.decode(line, type=LeaseLine) for line in lines]


@pytest.fixture(
    params=[("kv_both", "kv_both"), ("kv_producer", "kv_consumer")], ids=["both", "each"]
)
def sides(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Side, Side]]:
    """The engine that prefills and the one that decodes, both hooked."""
    prefills, decodes = request.param
    with ExitStack() as running:
        prefill = Side(tmp_path / "prefill.jsonl", prefills, running)
        both = prefill, Side(tmp_path / "decode.jsonl", decodes, running)
        assert [1, 1] == [side.says() for side in both]
        yield both


def reads(lines: list[LeaseLine]) -> dict[str, str]:
    """Whether each read ended within its lease, by the lease; the lines are of all engines.

    A lease that its reader ended was read within it. One that expired was read within it if the
    read had ended by then.
    """
    ends = {line.lease: line for line in lines if line.kind == "lease_ended"}
    found = {}
    for read in (line for line in lines if line.kind == "read_ended"):
        end = ends.get(read.lease)
        if end is None or (end.expired is None and end.time_ns < read.time_ns):
            found[read.lease] = "unknown"
        else:
            late = end.expired and end.time_ns < read.time_ns
            found[read.lease] = "after" if late else "within"
    return found


def test_read(sides: tuple[Side, Side]) -> None:
    """A read within the lease is told from one after its end, by request. Blocks that were read
    count as found, and the claims of both engines are kept."""
    prefill, decode = sides
    left = [
        prefill.serves(name, BLOCKS, {**LEAVES, **claim(name, BLOCKS)}) for name in ("a", "b", "c")
    ]
    params = [each["params"] for each in left]
    leases = [f"{each['remote_engine_id']}/{each['remote_request_id']}" for each in params]
    within = decode.serves("a", BLOCKS, {**params[0], **READS, **claim("a", BLOCKS)})
    assert left[0]["tokens"] == within["tokens"]
    prefill.serves("step", 1)
    time.sleep(LEASE_S + 1)
    prefill.serves("another step", 1)
    late = decode.serves("b", BLOCKS, {**params[1], **READS, **claim("b", BLOCKS)})
    assert left[1]["tokens"] == late["tokens"]  # the blocks had not been used again
    noted = prefill.ends()
    assert dict.fromkeys(leases, BLOCKS) == {
        line.lease: line.blocks for line in noted if line.kind == "lease_began"
    }
    assert dict(zip(leases, (False, True, True), strict=True)) == {
        line.lease: line.expired for line in noted if line.kind == "lease_ended"
    }
    assert {leases[0]: "within", leases[1]: "after"} == reads([*noted, *decode.ends()])
    for side in sides:
        report = check([str(side.trace)], Mode.HARD_PROTECTED, Bundle.CONTRACT)
        assert ModeVerdict.KEPT is report.verdict


def test_unread(sides: tuple[Side, Side]) -> None:
    """Without leases and reads there are no lines of them."""
    for side in sides:
        side.serves("a", BLOCKS, claim("a", BLOCKS))
        assert not Path(f"{side.trace}{SUFFIX}").exists()
