"""Messages of KV events, as an engine publishes them and a capture has them, and what is read."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import msgspec

from monitor.check.files import check_files
from monitor.input.dialects import Reader
from monitor.input.records import Record
from monitor.report.verdict import Report

__all__ = [
    "ENDPOINT",
    "breaks",
    "captured",
    "checked",
    "cleared",
    "codes",
    "facts",
    "message",
    "records",
    "removed",
    "stored",
]

ENDPOINT = "tcp://127.0.0.1:5557"


def stored(*hashes: Any, **fields: Any) -> dict[str, Any]:
    """Blocks are stored, in the fields of vLLM 0.32."""
    return {
        "type": "BlockStored",
        "block_hashes": [*hashes],
        "parent_block_hash": None,
        "token_ids": [1, 2],
        "block_size": 16,
        "lora_id": None,
        "medium": "GPU",
        "lora_name": None,
        "group_idx": 0,
        **fields,
    }


def removed(*hashes: Any, **fields: Any) -> dict[str, Any]:
    """Blocks are removed."""
    about = {"type": "BlockRemoved", "block_hashes": [*hashes], "medium": "GPU"}
    return about | {"group_idx": 0, **fields}


def cleared() -> dict[str, Any]:
    """The cache is cleared."""
    return {"type": "AllBlocksCleared"}


def message(sequence: int, *events: Any, rank: int = 0) -> tuple[bytes, bytes, bytes]:
    """The frames of a batch."""
    payload = msgspec.msgpack.encode([1.5 + max(sequence, 0), [*events], rank])
    return b"kv-events", sequence.to_bytes(8, "big", signed=True), payload


def captured(frames: tuple[bytes, ...], endpoint: str = ENDPOINT, **fields: Any) -> bytes:
    """The line of a message in a capture."""
    coded = [b64encode(frame).decode() for frame in frames]
    return json.dumps({"endpoint": endpoint, "frames": coded, **fields}).encode()


def checked(path: Path, *lines: bytes) -> Report:
    """The report on a capture."""
    path.write_bytes(b"\n".join(lines))
    return check_files(path)


def records(*lines: bytes) -> list[Record]:
    """What the lines of a capture state."""
    reader = Reader("capture")
    found = [each for n, line in enumerate(lines, start=1) for each in reader.feed(line, n)]
    return [*found, *reader.flush()]


def facts(*lines: bytes) -> list[tuple[str, tuple[int | str, ...], str | None, int | None]]:
    """The facts that the lines state: kind, keys, tier and group."""
    every = [event for record in records(*lines) for event, _ in record.events]
    return [(str(each.kind), each.keys, each.tier, each.group) for each in every]


def breaks(report: Report) -> list[str]:
    """Why streams break."""
    return [each.why for each in report.breaks]


def codes(report: Report) -> list[str]:
    """The codes of the breaks."""
    return [each.code for each in report.breaks]
