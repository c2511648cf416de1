"""Reads canonical events from OpenTelemetry log records, in the JSON form of OTLP.

A line is what the file exporter of a collector writes: an object with `resourceLogs`. A log record
is an event if its body is one, as a map or as the text of a line, or if its attributes are. Other
log records are those of somebody else, and are passed over.

Records may be lost, repeated or reordered on their way, so an event needs its `sequence`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.input.dialects._json import no_kind, parse
from monitor.input.dialects._otlp_value import Malformed, items_in, pairs_of
from monitor.input.dialects.canonical import CanonicalDialect
from monitor.input.errors import InputError
from spec.events.alphabet import Kind
from spec.events.canonical import Mark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.input.records import Record

__all__ = ["DIALECT", "EVENT", "PREFIX", "OtlpDialect", "recognises"]

EVENT: Final = "resident_claims.event"
"""The name of a log record that must be an event: its `eventName`, or the attribute `event.name`.
"""

PREFIX: Final = "resident_claims."
"""What the attributes begin with that are fields of an event."""

_LOGS, _OTHERS = "resourceLogs", ("resourceSpans", "resourceMetrics")
_KINDS: Final = frozenset({*(kind.value for kind in Kind), *(mark.value for mark in Mark)})
_NO_EVENT: Final = "a log record of an event without one"
_HINT: Final = "give the event as its body, or its fields as attributes"


def recognises(obj: dict[str, object]) -> bool:
    """Whether a line is of OTLP."""
    return _LOGS in obj or any(name in obj for name in _OTHERS)


class OtlpDialect:
    """Reads the log records of one file."""

    def __init__(self, file: str) -> None:
        self._file, self._canonical = file, CanonicalDialect(file)

    def feed(self, obj: dict[str, object], line: int) -> tuple[Record, ...]:
        """A record for each event on the line.

        Raises:
            InputError: the line is not in the form of OTLP, or an event on it is none.
        """
        try:
            found = list(_events_in(obj))
        except Malformed as fault:
            where = fault.place or None
            raise InputError(
                self._file, fault.reason, line=line, field=where, hint=fault.hint
            ) from None
        return tuple(record for place, event in found for record in self._of(place, event, line))

    def flush(self, stream: str | None = None) -> tuple[Record, ...]:
        """Nothing: no event is held back."""
        return ()

    def _of(self, place: str, event: dict[str, object], line: int) -> tuple[Record, ...]:
        try:
            if "kind" not in event:
                raise no_kind(event, self._file, line)
            records = self._canonical.feed(event, line)
            if any(record.at.sequence is None for record in records):
                hint = "number the events of a stream: log records may be lost, or come twice"
                raise InputError(self._file, "missing", line=line, field="sequence", hint=hint)
        except InputError as error:
            field = f"{place}: {error.field}" if error.field else place
            raise InputError(
                self._file, error.reason, line=line, field=field, hint=error.hint
            ) from None
        return records


def _events_in(obj: dict[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    """The fields of each event of a line, with the place of its log record."""
    for i, resource in enumerate(items_in(obj, _LOGS, "")):
        at = f"{_LOGS}[{i}]"
        for j, scope in enumerate(items_in(resource, "scopeLogs", at)):
            within = f"{at}.scopeLogs[{j}]"
            for k, record in enumerate(items_in(scope, "logRecords", within)):
                place = f"{within}.logRecords[{k}]"
                if not isinstance(record, dict):
                    raise Malformed(place, "no log record", "it is an object")
                if (event := _event_of(record, place)) is not None:
                    yield place, event


def _event_of(record: dict[str, object], place: str) -> dict[str, object] | None:
    """The fields of the event that a log record is; None where it is of somebody else."""
    named = _is_named(record)
    body = record.get("body")
    if isinstance(body, dict):
        text, pairs = body.get("stringValue"), body.get("kvlistValue")
        if isinstance(text, str) and (event := _in_text(text, place, named=named)) is not None:
            return event
        if isinstance(pairs, dict):
            inside = _listed(pairs.get("values"))
            if named or _text_of(inside, "kind") in _KINDS:
                return pairs_of(inside, f"{place}.body")
    return _in_attributes(_listed(record.get("attributes")), place, named=named)


def _in_text(text: str, place: str, *, named: bool) -> dict[str, object] | None:
    """The event whose line a body is."""
    if not named and '"kind"' not in text:
        return None
    try:
        event = parse(text.encode("utf-8", "surrogatepass"), "", 0)
    except InputError as error:
        if not named:
            return None
        raise Malformed(f"{place}.body", error.reason, error.hint) from None
    return event if named or event.get("kind") in _KINDS else None


def _in_attributes(
    attributes: list[object], place: str, *, named: bool
) -> dict[str, object] | None:
    """The event whose fields are attributes: with the prefix, or else by their bare names. Names
    with a dot are of somebody else.
    """
    for prefix in (PREFIX, ""):
        kind = _text_of(attributes, f"{prefix}kind")
        if kind is None or not (named or kind in _KINDS):
            continue
        own: list[object] = [
            pair
            for pair in attributes
            if isinstance(pair, dict)
            and isinstance(key := pair.get("key"), str)
            and key.startswith(prefix)
            and "." not in key.removeprefix(prefix)
        ]
        fields = pairs_of(own, f"{place}.attributes")
        return {key.removeprefix(prefix): value for key, value in fields.items()}
    if named:
        raise Malformed(place, _NO_EVENT, _HINT)
    return None


def _is_named(record: dict[str, object]) -> bool:
    """Whether a log record says that it is an event."""
    attributes = _listed(record.get("attributes"))
    return EVENT in (record.get("eventName"), _text_of(attributes, "event.name"))


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text_of(pairs: list[object], name: str) -> str | None:
    """The text under a key; None where there is none."""
    for pair in pairs:
        if isinstance(pair, dict) and pair.get("key") == name:
            value = pair.get("value")
            text = value.get("stringValue") if isinstance(value, dict) else None
            return text if isinstance(text, str) else None
    return None


DIALECT: Final = OtlpDialect
