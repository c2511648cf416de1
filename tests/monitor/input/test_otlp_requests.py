"""A request to export log records has the same lines in JSON and in protobuf."""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import pytest

from monitor.input.dialects import LIVE, Reader
from monitor.input.dialects.otlp import EVENT
from monitor.input.errors import InputError
from monitor.input.lines import LINE_LIMIT
from monitor.input.otlp_requests import (
    NO_EVENT,
    RECORDS,
    BadRequest,
    Form,
    NoProtobuf,
    answer,
    failure,
    lines_in,
    unread_in,
)
from tests.monitor.follow.traces import trace
from tests.monitor.input.otlp_lines import FORMS, LogRecord, exported, foreign

EVENTS = [json.loads(line) for line in trace(9)]


def in_protobuf(body: bytes) -> bytes:
    """A request in JSON as one in protobuf, by the package that others use."""
    json_format = pytest.importorskip("google.protobuf.json_format")
    service = pytest.importorskip("opentelemetry.proto.collector.logs.v1.logs_service_pb2")
    request = json_format.Parse(body, service.ExportLogsServiceRequest())
    found: bytes = request.SerializeToString()
    return found


def lines_of(*records: LogRecord) -> list[bytes | None]:
    return lines_in(exported(records), Form.JSON)


class TestLines:
    @pytest.mark.parametrize("form", FORMS)
    def test_forms(self, form: str) -> None:
        """Each way to state an event gives its line, in JSON and in protobuf."""
        body = exported(map(FORMS[form], EVENTS))
        lines = lines_in(body, Form.JSON)
        assert EVENTS == [json.loads(line or b"") for line in lines]
        assert [] == unread_in(lines)
        assert lines == lines_in(in_protobuf(body), Form.PROTOBUF)

    def test_text(self) -> None:
        """A text that is a line stays as it is, apart from ends of lines between its tokens."""
        text = '{"kind":"request_finished",\n "sequence": 7, "request_id": "a"}'
        assert [text.replace("\n", " ").encode()] == lines_of({"body": {"stringValue": text}})

    def test_others(self) -> None:
        """A log record of somebody else is a line that cannot be read: it is not passed over."""
        lines = lines_in(exported(foreign()), Form.JSON)
        assert [*range(1, len(foreign()) + 1)] == unread_in(lines)
        assert NO_EVENT == lines[0]

    def test_malformed(self) -> None:
        """One that must be an event and is none is a line of which the reader says why."""
        (line,) = lines_of({"eventName": EVENT, "body": {"stringValue": '{"kind": '}})
        with pytest.raises(InputError, match="ends too early"):
            Reader("s", LIVE).feed(line or b"", 1)

    def test_too_long(self) -> None:
        """A line over the limit is not kept."""
        long = FORMS["text"](EVENTS[0] | {"object_id": "x" * LINE_LIMIT})
        assert [None] == lines_of(long)
        assert [1] == unread_in([None])


DEEP = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":' + '{"kvlistValue":' * 10**5


class TestRefused:
    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"[]",
            b"{",
            b"\xff{}",
            b"null",
            DEEP.encode(),
            b'{"resourceLogs":7}',
            b'{"resourceLogs":[7]}',
            b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[7]}]}]}',
            b'{"resourceLogs":[],"resourceLogs":[]}',
            b'{"resource_logs":[]}',
            b'{"resourceSpans":[]}',
            b'{"resourceLogs":[{"scope_logs":[]}]}',
        ],
    )
    def test_json(self, body: bytes) -> None:
        """What is no request, or may hold log records that would be passed over, is refused."""
        with pytest.raises(BadRequest):
            lines_in(body, Form.JSON)

    @pytest.mark.parametrize("body", [b"\xff", b"\x0a\x05\x00", b"{}", b"\x12\x00", b"\x0a" * 999])
    def test_protobuf(self, body: bytes) -> None:
        """So is what is no protobuf, or of another message."""
        pytest.importorskip("opentelemetry.proto.collector.logs.v1.logs_service_pb2")
        with pytest.raises(BadRequest):
            lines_in(body, Form.PROTOBUF)

    def test_too_many(self) -> None:
        """Log records that take hardly a byte are bounded by their number."""
        assert [NO_EVENT] * RECORDS == lines_of(*[{}] * RECORDS)
        with pytest.raises(BadRequest, match="smaller batches"):
            lines_of(*[{}] * (RECORDS + 1))

    @pytest.mark.parametrize("form", Form)
    def test_damaged(self, form: Form) -> None:
        """Whatever a few bytes are changed to, a request is read or refused."""
        body = exported(FORMS[name](event) for name in FORMS for event in EVENTS[:9])
        body, chance = body if form is Form.JSON else in_protobuf(body), random.Random(7)
        refused = 0
        for _ in range(300):
            damaged = bytearray(body)
            for _ in range(chance.randint(1, 4)):
                damaged[chance.randrange(len(body))] = chance.randrange(256)
            try:
                unread_in(lines_in(bytes(damaged), form))
            except BadRequest:
                refused += 1
        assert 0 < refused < 300

    def test_no_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without the extra the error names it, and JSON is read."""
        module = "opentelemetry.proto.collector.logs.v1.logs_service_pb2"
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(NoProtobuf, match=r"\[otlp\].*encoding: json"):
            lines_in(b"", Form.PROTOBUF)
        assert [] == lines_in(b"{}", Form.JSON)


class TestAnswers:
    def test_json(self) -> None:
        """Success is an empty object; rejected log records are counted, as a text."""
        assert b"{}" == answer(Form.JSON, 0, "")
        said = {"partialSuccess": {"rejectedLogRecords": "2", "errorMessage": "why"}}
        assert said == json.loads(answer(Form.JSON, 2, "why"))
        assert {"message": "why"} == json.loads(failure(Form.JSON, "why"))

    def test_protobuf(self) -> None:
        """In protobuf it is the same; a failure is a Status, whose message is shortened."""
        name = "opentelemetry.proto.collector.logs.v1.logs_service_pb2"
        service: Any = pytest.importorskip(name)
        assert b"" == answer(Form.PROTOBUF, 0, "")
        found = service.ExportLogsServiceResponse.FromString(answer(Form.PROTOBUF, 2, "why"))
        partial = found.partial_success
        assert (2, "why") == (partial.rejected_log_records, partial.error_message)
        status = failure(Form.PROTOBUF, "é" * 200)
        # Field 2 of a partial success is a text as well.
        assert "?" * 127 == service.ExportLogsPartialSuccess.FromString(status).error_message
