"""Reads canonical events from OpenTelemetry log records, in the JSON form of OTLP.

A line is what the file exporter of a collector writes: an object with `resourceLogs`. A log record
is an event if its body is one, as a map or as the text of a line, or if its attributes are. Other
log records are those of somebody else, and are passed over.

Records may be lost, repeated or reordered on their way, so an event needs its `sequence`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from monitor.input.dialects import Dialect
from monitor.input.dialects._json import no_kind, parse
from monitor.input.dialects.canonical import CanonicalDialect
from monitor.input.errors import InputError, shown
from spec.events.alphabet import Kind
from spec.events.canonical import Mark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.input.records import Record

__all__ = [
    "DIALECT",
    "EVENT",
    "PREFIX",
    "OtlpDialect",
    "event_of",
    "log_records",
    "recognises",
]

EVENT: Final = "resident_claims.event"
"""The name of a log record that must be an event: its `eventName`, or the attribute `event.name`.
"""

PREFIX: Final = "resident_claims."
"""What the attributes begin with that are fields of an event."""

_LOGS, _OTHERS = "resourceLogs", ("resourceSpans", "resourceMetrics")
_KINDS: Final = frozenset({*(kind.value for kind in Kind), *(mark.value for mark in Mark)})
_NO_EVENT: Final = "a log record of an event without one"
_DEPTH: Final = 4  # lists and maps within each other; an event needs two
_EXACT: Final = 2**53  # up to there a number that was a float in between is what it was
_WHOLE: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_VALUES: Final = frozenset(
    {
        "stringValue",
        "boolValue",
        "intValue",
        "doubleValue",
        "arrayValue",
        "kvlistValue",
        "bytesValue",
    }
)
_HINT: Final = "give the event as its body, or its fields as attributes"


def recognises(obj: dict[str, object]) -> bool:
    """Whether a line is of OTLP."""
    return _LOGS in obj or any(name in obj for name in _OTHERS)


class OtlpDialect(Dialect):
    """Reads the log records of one file."""

    def __init__(self, file: str) -> None:
        self._file, self._canonical = file, CanonicalDialect(file)

    def feed(self, obj: dict[str, object], line: int) -> tuple[Record, ...]:
        """A record for each event on the line.

        Raises:
            InputError: the line is not in the form of OTLP, or an event on it is none.
        """
        found: list[Record] = []
        try:
            for place, record in log_records(obj):
                if (event := event_of(record, place)) is not None:
                    found += self._of(place, event, line)
        except InputError as error:
            raise InputError(self._file, error.reason, line, error.field, error.hint) from None
        return tuple(found)

    def _of(self, place: str, event: dict[str, object], line: int) -> tuple[Record, ...]:
        try:
            if "kind" not in event:
                raise no_kind(event, self._file, line)
            records = self._canonical.feed(event, line)
        except InputError as error:
            raise _malformed(place, error.reason, error.hint, error.field) from None
        if any(record.at.sequence is None for record in records):
            hint = "number the events of a stream: log records may be lost, or come twice"
            raise _malformed(place, "missing", hint, "sequence")
        return records


def log_records(obj: dict[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    """The log records of a line or of a request, each with its place.

    Raises:
        InputError: it is not in the form of OTLP.
    """
    for i, resource in enumerate(_items_in(obj, _LOGS, "")):
        at = f"{_LOGS}[{i}]"
        for j, scope in enumerate(_items_in(resource, "scopeLogs", at)):
            within = f"{at}.scopeLogs[{j}]"
            for k, record in enumerate(_items_in(scope, "logRecords", within)):
                place = f"{within}.logRecords[{k}]"
                if not isinstance(record, dict):
                    raise _malformed(place, "no log record", "it is an object")
                yield place, record


def event_of(record: dict[str, object], place: str) -> dict[str, object] | None:
    """The fields of the event that a log record is; None where it is of somebody else.

    Raises:
        InputError: it must be an event, and is none.
    """
    named = _is_named(record)
    body = record.get("body")
    if isinstance(body, dict):
        text, pairs = body.get("stringValue"), body.get("kvlistValue")
        if isinstance(text, str) and (event := _in_text(text, place, named=named)) is not None:
            return event
        if isinstance(pairs, dict):
            inside = _listed(pairs.get("values"))
            if named or _text_of(inside, "kind") in _KINDS:
                return _pairs_of(inside, f"{place}.body")
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
        raise _malformed(f"{place}.body", error.reason, error.hint) from None
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
        fields = _pairs_of(own, f"{place}.attributes")
        return {key.removeprefix(prefix): value for key, value in fields.items()}
    if named:
        raise _malformed(place, _NO_EVENT, _HINT)
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


def _malformed(place: str, reason: str, hint: str = "", field: str | None = None) -> InputError:
    """The error of a part of a line; the caller that knows the file and the line adds them.

    Args:
        field: of the event in that part.
    """
    return InputError("", reason, field=f"{place}: {field}" if field else place or None, hint=hint)


def _items_in(holder: object, key: str, place: str) -> list[object]:
    """The list under a key of an object; empty where there is none.

    Raises:
        InputError: the holder is no object, or has something else there.
    """
    if not isinstance(holder, dict):
        raise _malformed(place, f"expected an object, got {shown(holder)}")
    found = holder.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        raise _malformed(f"{place}.{key}".lstrip("."), f"expected a list, got {shown(found)}")
    return found


def _pairs_of(given: list[object], place: str, depth: int = 0) -> dict[str, object]:
    """Attributes, or the pairs of a map, by their keys.

    Raises:
        InputError: a pair is none, or a key occurs twice.
    """
    found: dict[str, object] = {}
    for number, pair in enumerate(given):
        key = pair.get("key") if isinstance(pair, dict) else None
        if not isinstance(pair, dict) or not isinstance(key, str):
            hint = 'a pair is {"key": ..., "value": ...}'
            raise _malformed(f"{place}[{number}]", f"no pair: {shown(pair)}", hint)
        if key in found:
            raise _malformed(f"{place}[{number}]", f"{shown(key)} occurs twice", "keep one of them")
        found[key] = _value_of(pair.get("value"), f"{place}[{number}].value", depth)
    return found


def _value_of(given: object, place: str, depth: int = 0) -> object:
    """A value as JSON has it; None for an empty one.

    Numbers may be texts, as OTLP has it, and whole numbers may have been floats on their way.

    Raises:
        InputError: it is none, is nested too deep, or may have been rounded.
    """
    if given is None or given == {}:
        return None
    if not isinstance(given, dict) or len(given) != 1 or not given.keys() <= _VALUES:
        hint = f"a value has one of {', '.join(sorted(_VALUES))}"
        raise _malformed(place, f"no value: {shown(given)}", hint)
    ((kind, value),) = given.items()
    match kind, value:
        case ("stringValue", str()) | ("boolValue", bool()):
            return value
        case ("intValue", int() | str()) if not isinstance(value, bool):
            return _whole(value, place)
        case ("doubleValue", int() | float()) if not isinstance(value, bool):
            return _exact(value, place)
        case ("arrayValue" | "kvlistValue", dict()):
            if depth >= _DEPTH:
                raise _malformed(place, "nested too deep", "events are flat")
            inside = _items_in(value, "values", place)
            if kind == "kvlistValue":
                return _pairs_of(inside, place, depth + 1)
            return [_value_of(v, f"{place}[{n}]", depth + 1) for n, v in enumerate(inside)]
    raise _malformed(place, f"no {kind}: {shown(value)}", "events have texts, numbers and lists")


def _whole(value: int | str, place: str) -> int:
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        raise _malformed(place, f"no whole number: {shown(value)}", "write it in decimal digits")
    return int(value)


def _exact(value: float, place: str) -> int:
    if value != value or abs(value) > _EXACT or value != int(value):  # NaN is not itself
        hint = "give an intValue, or the event as a text"
        raise _malformed(place, f"{shown(value)} may have been rounded", hint)
    return int(value)


DIALECT: Final = OtlpDialect
