"""Reads requests that export OpenTelemetry log records: each log record becomes a line of a trace.

Both forms of OTLP/HTTP are read: JSON, and protobuf by the extra `otlp`. An event has the same line
whichever form it came in, and whether it was the body of its log record or the attributes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import msgspec

from monitor.input.dialects import LIVE, Reader
from monitor.input.dialects._json import parse
from monitor.input.dialects.otlp import event_of as event_in
from monitor.input.dialects.otlp import log_records
from monitor.input.errors import InputError
from monitor.input.lines import LINE_LIMIT
from monitor.input.plain import event_of
from spec.installed import how_to_install

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "NO_EVENT",
    "RECORDS",
    "BadRequest",
    "Form",
    "NoProtobuf",
    "answer",
    "failure",
    "lines_in",
    "unread_in",
]

RECORDS: Final = 20_000
"""Most log records of a request: an empty one takes two bytes, and as long to read as others."""

NO_EVENT: Final = b"a log record without an event"
"""The line of a log record of which neither the body nor the attributes are a line."""

_ENCODE: Final = msgspec.json.Encoder().encode
_SHORT: Final = 127  # bytes of a text whose length takes one byte in protobuf


class Form(StrEnum):
    """How a request is encoded, by its content type."""

    JSON = "application/json"
    PROTOBUF = "application/x-protobuf"


class BadRequest(ValueError):
    """A request that is not in the form of OTLP; says why."""


class NoProtobuf(Exception):
    """No installed package reads protobuf; says what to install."""

    def __init__(self) -> None:
        hint = how_to_install("otlp")
        super().__init__(f"opentelemetry-proto is not installed; {hint}, or send encoding: json")


def lines_in(body: bytes, form: Form) -> list[bytes | None]:
    """A line for each log record of a request, in its order; None for one over `LINE_LIMIT`.

    A log record that must be an event and is none is a line that cannot be read.

    Raises:
        BadRequest: the body is not a request to export log records.
        NoProtobuf: it is in protobuf, and the extra is not installed.
    """
    lines: list[bytes] = []
    try:
        is_json = form is Form.JSON
        records = log_records(parse(body, "", 0)) if is_json else _in_protobuf(body)
        for place, record in records:
            lines.append(_line_of(record, place))
            if len(lines) > RECORDS:
                raise BadRequest(f"over {RECORDS} log records; send smaller batches")
    except InputError as error:
        raise BadRequest(f"{error.field or 'the request'}: {error.reason}") from None
    except RecursionError:
        raise BadRequest("nested too deep") from None
    if not lines and body.strip() not in (b"", b"{}", b'{"resourceLogs":[]}'):
        raise BadRequest("no log record in it; in JSON, names are such as resourceLogs")
    return [line if len(line) <= LINE_LIMIT else None for line in lines]


def unread_in(lines: Sequence[bytes | None]) -> list[int]:
    """The places, counted from 1, of those lines that a follower will not be able to read."""
    return [place for place, line in enumerate(lines, 1) if not _is_read(line)]


def answer(form: Form, rejected: int, message: str) -> bytes:
    """The body of the answer to a request that was accepted, apart from some log records."""
    if form is Form.JSON:
        said = {"rejectedLogRecords": str(rejected), "errorMessage": message}
        return _ENCODE({"partialSuccess": said} if rejected else {})
    if not rejected:
        return b""
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
        ExportLogsPartialSuccess,
        ExportLogsServiceResponse,
    )

    partial = ExportLogsPartialSuccess(rejected_log_records=rejected, error_message=message)
    found: bytes = ExportLogsServiceResponse(partial_success=partial).SerializeToString()
    return found


def failure(form: Form, message: str) -> bytes:
    """The body of the answer to a request that was refused: a google.rpc.Status with a message."""
    if form is Form.JSON:
        return _ENCODE({"message": message})
    text = message.encode("ascii", "replace")[:_SHORT]
    return bytes((2 << 3 | 2, len(text))) + text  # field 2, a text


def _in_protobuf(body: bytes) -> Iterator[tuple[str, dict[str, object]]]:
    """The log records of a request, each as JSON has it."""
    try:
        from google.protobuf.json_format import MessageToDict
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    except ImportError:
        raise NoProtobuf from None
    try:
        request: Any = ExportLogsServiceRequest.FromString(body)
    except DecodeError:
        raise BadRequest("no protobuf of an ExportLogsServiceRequest") from None
    for i, resource in enumerate(request.resource_logs):
        for j, scope in enumerate(resource.scope_logs):
            for k, record in enumerate(scope.log_records):
                yield f"resourceLogs[{i}].scopeLogs[{j}].logRecords[{k}]", MessageToDict(record)


def _line_of(record: dict[str, object], place: str) -> bytes:
    body = record.get("body")
    text = body.get("stringValue") if isinstance(body, dict) else None
    # Between the tokens of JSON the end of a line is a blank; within a text there is none.
    line = text.encode().replace(b"\n", b" ") if isinstance(text, str) else NO_EVENT
    if event_of(line) is not None:
        return line
    try:
        event = event_in(record, place)
    except InputError:  # the reader of a line in this form says what is wrong
        return _ENCODE({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]})
    return line if event is None else _ENCODE(event)


def _is_read(line: bytes | None) -> bool:
    if line is None:
        return False
    if not line or line.isspace() or event_of(line) is not None:
        return True
    try:
        Reader("", LIVE).feed(line, 1)
    except InputError:
        return False
    return True
