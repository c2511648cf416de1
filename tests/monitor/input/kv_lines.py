"""Messages of KV events, as an engine publishes them and a capture has them."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import msgspec

__all__ = ["captured", "cleared", "message", "removed", "stored"]

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
