"""Says what cannot be read looks like, and which command makes it readable."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from monitor.input.compressed import format_of
from monitor.input.logs import after_prefix, begins_event

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "describe_file",
    "describe_line",
    "describe_object",
    "describe_packed",
    "request_trace_of",
]

_PACKED: Final = (
    (b"BZh", ("bzip2 data", "bzip2 -dc FILE | resident-claims check -")),
    (b"PK\x03\x04", ("a zip archive", "unzip -p FILE | resident-claims check -")),
    (b"PAR1", ("a Parquet file", "name the file, without a pipe or compression around it")),
    (b"SQLite format 3", ("an SQLite database", "write it as JSON, one event on each line")),
)
"""How files begin, what they are, and what reads them."""

_BATCH: Final = re.compile(rb"[\x92\x93](?:\xcb|\xce|\xcf)")
_PREFIX: Final = re.compile(rb'(?!\[)[^{"]{1,300}\{"')
_LEVEL: Final = re.compile(rb"[^{]{0,100}?\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL)\b")
_SED: Final = "sed 's/^[^{]*//' FILE | resident-claims check -"
_STRIP: Final = "--strip reads what stands behind the prefix"
_OTHERS: Final = "--others skip skips such lines, if events have sequence numbers"
_ROUTES: Final = "resident-claims routes REGISTRY FILE reads it"
_OURS: Final = re.compile(rb"schema: *[\"']?(resident-claims/[a-z-]+)/")
_SCHEMA: Final = "resident-claims/"
_REGISTRY: Final = (
    "a registry of claims",
    "it stands before what is read: watch REGISTRY SOURCE, routes REGISTRY RECORDS, "
    "pressure REGISTRY=CAPTURE",
)
_EVENTS: Final = ("BlockStored", "BlockRemoved", "AllBlocksCleared")


def describe_file(head: bytes) -> tuple[str, str]:
    """What a file that is not text looks like by its first bytes, and what to do about it."""
    if (known := describe_packed(head)) is not None:
        return f"not text: it looks like {known[0]}", known[1]
    if _BATCH.match(head):
        what = "batches of KV events in msgpack"
        return (
            f"not text: it looks like {what}",
            "capture each message as a line: docs/kv-events.md",
        )
    return "not text", "a trace is JSON, write one event on each line"


def describe_packed(head: bytes) -> tuple[str, str] | None:
    """What data look like by their first bytes, and what to do about it, if that is known."""
    if (found := format_of(head)) is not None:
        return f"{found.name} data", "name the file, without a pipe"
    return next((known for begin, known in _PACKED if head.startswith(begin)), None)


def describe_line(line: bytes) -> tuple[str, str] | None:
    """What a line that is not JSON looks like, and what to do about it, if that is known."""
    if (schema := _OURS.match(line)) is not None:
        return _of_ours(schema[1].decode())
    rest = after_prefix(line)
    if rest is not None and begins_event(rest):
        return "a log line with an event behind other text", _STRIP
    if _PREFIX.match(line):
        return "a log line with an event behind other text", _SED
    if rest is not None:
        return "a log line of another program", f"with --strip, {_OTHERS}"
    return ("a log line of another program", _OTHERS) if _LEVEL.match(line) else None


def _of_ours(schema: str) -> tuple[str, str]:
    """What a document of a schema of this project is, and what reads it."""
    name = schema.removeprefix(_SCHEMA)
    return _REGISTRY if name == "registry" else (f"a document of {schema[:60]}", "give a trace")


def request_trace_of(obj: Mapping[str, object]) -> dict[str, object] | None:
    """The record of NVIDIA Dynamo's request trace that a line holds; None if it holds none."""
    event = obj.get("event", obj)
    if isinstance(event, dict) and event.get("schema") == "dynamo.request.trace.v1":
        return event
    return None


def describe_object(obj: Mapping[str, object]) -> tuple[str, str] | None:
    """What an object that is no event looks like, and what to do about it, if that is known."""
    if isinstance(obj.get("log"), str) and "stream" in obj:
        return "a line of docker's json-file log", "--strip reads what is in it"
    if "MESSAGE" in obj and any(name.startswith("_") for name in obj):
        what = "an entry of journald"
        return what, "journalctl -o cat UNIT | resident-claims check -"
    if obj.get("type") in _EVENTS:
        what = "a KV event without its batch"
        return what, "docs/kv-events.md has the forms that state one"
    if request_trace_of(obj) is not None:
        return "a request trace of NVIDIA Dynamo", _ROUTES
    schema = obj.get("schema")
    if isinstance(schema, str) and schema.startswith(_SCHEMA):
        return _of_ours(schema.rpartition("/")[0])
    target = obj.get("target")
    if isinstance(target, str) and target.startswith("dynamo_"):
        return "a log line of NVIDIA Dynamo", _ROUTES
    if isinstance(obj.get("id"), str) and "usage" in obj:
        return "an answer to a client", _ROUTES
    return None
