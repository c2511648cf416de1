"""Writes canonical events as OpenTelemetry log records, in each way in which they are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Final

from monitor.input.dialects.otlp import EVENT, PREFIX

__all__ = ["FORMS", "any_value", "exported", "foreign"]

Fields = dict[str, Any]
LogRecord = dict[str, Any]


def any_value(value: Any, *, floats: bool = False) -> dict[str, Any]:
    """A value as OTLP has it; numbers as texts, or as the floats that some collectors make."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"doubleValue": value} if floats else {"intValue": str(value)}
        case str():
            return {"stringValue": value}
        case list():
            return {"arrayValue": {"values": [any_value(each, floats=floats) for each in value]}}
        case dict():
            return {"kvlistValue": {"values": pairs(value, floats=floats)}}
    return {}


def pairs(fields: Fields, prefix: str = "", *, floats: bool = False) -> list[dict[str, Any]]:
    """Attributes."""
    return [
        {"key": f"{prefix}{key}", "value": any_value(value, floats=floats)}
        for key, value in fields.items()
    ]


def as_text(fields: Fields) -> LogRecord:
    """The line of a trace as the body: what a collector makes of a file that it reads."""
    path = {"key": "log.file.name", "value": {"stringValue": "claims.jsonl"}}
    return {"body": {"stringValue": json.dumps(fields)}, "attributes": [path]}


def as_map(fields: Fields) -> LogRecord:
    """A map as the body: what an SDK makes of a dictionary."""
    return {"body": any_value(fields), "eventName": EVENT, "severityNumber": 9}


def as_attributes(fields: Fields) -> LogRecord:
    """Attributes with the prefix, beside those of others."""
    others = pairs({"thread.id": 7, "service": "engine"})
    body = {"stringValue": f"{fields['kind']} happened"}
    return {"body": body, "attributes": [*others, *pairs(fields, PREFIX)]}


def as_parsed(fields: Fields) -> LogRecord:
    """Attributes without it: what the parser of a collector makes, numbers as floats."""
    others = pairs({"log.file.name": "claims.jsonl", "log.iostream": "stdout"})
    return {"body": {}, "attributes": [*others, *pairs(fields, floats=True)]}


FORMS: Final[dict[str, Callable[[Fields], LogRecord]]] = {
    "text": as_text,
    "map": as_map,
    "attributes": as_attributes,
    "parsed": as_parsed,
}


def exported(records: Iterable[LogRecord]) -> bytes:
    """A line of the file exporter, without its end."""
    resource = {"attributes": pairs({"service.name": "vllm"})}
    scope = {"scope": {"name": "engine"}, "logRecords": [*records]}
    return json.dumps({"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]}).encode()


def foreign() -> list[LogRecord]:
    """Log records of somebody else."""
    return [
        {},
        {"body": {"stringValue": "started"}},
        {"body": {"stringValue": '{"kind": "Pod", "name": "x"}'}},
        {"body": {"stringValue": '{"kind": "request_finished", '}},
        {"body": any_value({"kind": "Deployment"})},
        {"body": {"bytesValue": "AAAA"}, "attributes": pairs({"kind": "internal"})},
        {"body": 7, "attributes": [None, {"key": 3}, {"key": "kind", "value": None}]},
    ]
