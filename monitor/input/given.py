"""Checks an event that is given as a Python object as the reader checks a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from monitor.input.dialects._json import no_kind, parse
from monitor.input.dialects.canonical import CanonicalDialect, recognises
from monitor.input.errors import InputError
from monitor.input.lines import LINE_LIMIT
from monitor.input.records import Record
from spec.events.canonical import CapacityProof, Event, StreamMark

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Given", "fields_given", "record_of", "record_of_line"]

Given: TypeAlias = "Event | StreamMark | Mapping[str, object]"
"""An event, a mark, or the fields of one as a line of a trace would have them."""

_DEFAULTS: Final = {
    form: {field.name: field.default for field in msgspec.structs.fields(form)}
    for form in (Event, StreamMark)
}


def fields_given(given: Given, file: str, line: int) -> dict[str, object]:
    """The fields of an event, those that are left at their defaults left out.

    Raises:
        InputError: it is no event, and has no fields.
    """
    try:
        if not isinstance(given, Event | StreamMark):
            return dict(given)
        defaults = _DEFAULTS[Event if isinstance(given, Event) else StreamMark]
        fields = {name: getattr(given, name) for name in given.__struct_fields__}
        return {n: v for n, v in fields.items() if n not in defaults or v != defaults[n]}
    except Exception as error:  # an object of the caller's may raise anything
        reason = f"no fields can be read from this {type(given).__name__}: {error}"
        hint = "give an Event, or a mapping of the fields of one"
        raise InputError(file, reason, line=line, hint=hint) from error


def record_of(given: Given, file: str, line: int) -> Record:
    """The record of a canonical event: it is written as a line, and that line is read.

    Args:
        file: what an error and a finding cite as the file.
        line: what they cite as the line.

    Raises:
        InputError: the reader would refuse the line, or the object cannot be written as JSON.
    """
    return record_of_line(_line(fields_given(given, file, line), file, line), file, line)


def record_of_line(text: bytes, file: str, line: int) -> Record:
    """The record of a line in the canonical form.

    Raises:
        InputError: the line cannot be read, or is in no such form.
    """
    obj = parse(text, file, line)
    if not recognises(obj):
        raise no_kind(obj, file, line)
    (record,) = CanonicalDialect(file).feed(obj, line)
    return record


def _line(fields: dict[str, object], file: str, line: int) -> bytes:
    try:
        text = json.dumps(fields, default=_plain, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        reason, hint = "a text has characters that UTF-8 cannot encode", "leave out lone surrogates"
    except Exception as error:  # an object of the caller's may raise anything
        reason, hint = f"cannot be written as JSON: {error}", "give texts, numbers and lists"
    else:
        if len(text) <= LINE_LIMIT:
            return text
        reason, hint = f"the line is longer than {LINE_LIMIT} bytes", "write one event on each line"
    raise InputError(file, reason, line=line, hint=hint)


def _plain(value: object) -> object:
    if isinstance(value, CapacityProof):
        return msgspec.structs.asdict(value)
    raise TypeError(f"JSON has no type {type(value).__name__}")
