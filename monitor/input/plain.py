"""Decodes plain canonical lines fast, and leaves all others to the reader of single lines.

A line is taken here only if that reader would take it, as the same event. msgspec keeps the last of
two values of one key; that no key stands twice is seen by writing the event again: a line that
comes out as it went in has each key once. Of others the keys are counted.
"""

from __future__ import annotations

from types import NoneType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta

from monitor.input.dialects._json import parse
from monitor.input.dialects.canonical import fault_of
from monitor.input.errors import InputError
from monitor.input.lines import LINE_LIMIT
from monitor.input.records import Record, Stamp, at_line, text_of
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import EVENT_ENCODER, Event
from spec.events.fields import FLAGS, IDENTITY, STAMP, fields_of, one_of, required_of

__all__ = ["Head", "event_of", "form_of", "head_of", "plain_record"]

_MOST: Final = 2**63 - 1
_LONG: Final = LINE_LIMIT // 2  # for another way to write it may take more bytes
_TYPES: Final[dict[str, Any]] = {
    "sequence": Annotated[int, Meta(ge=0, le=_MOST)] | None,
    "time_ns": Annotated[int, Meta(ge=0, le=_MOST)] | None,
    "priority": Annotated[int, Meta(ge=-_MOST, le=_MOST)] | None,
    "mode": Literal[tuple(mode.value for mode in Mode)] | None,
}
"""Fields of which the type says less than the reader checks, with types that say it."""


_FIELDS: Final = msgspec.structs.fields(Event)


class Head(msgspec.Struct, frozen=True, gc=False):
    """What an event states of itself and of its place, in a stream or in that of its source."""

    kind: Kind
    stream: str = ""
    sequence: Annotated[int, Meta(ge=0, le=_MOST)] | None = None


_HEAD: Final = msgspec.json.Decoder(Head).decode


def head_of(line: bytes) -> Head | None:
    """The head of the event on a line, of which no more is read; None where it has none."""
    try:
        return _HEAD(line)
    except (ValueError, RecursionError):
        return None


def plain_record(event: Event, file: str, line: int) -> Record:
    """The record of a canonical event on a line of its own."""
    sequence = event.sequence
    at = at_line(file, line, sequence)
    return Record(at, Stamp(event.stream or file, sequence, event.time_ns), ((event, at),))


def form_of(event: Event) -> Event | None:
    """The event as the reader of lines has it where it is written as one; None where that is not
    certain.
    """
    line = text_of(event)
    try:
        found = None if len(line) > _LONG else _DECODE(line)
    except ValueError:
        return None
    return found if found is not None and _is_sound(found) else None


def event_of(line: bytes) -> Event | None:
    """The event of a line; None where that is not certain."""
    try:
        event = _DECODE(line)
        if _ENCODE(event) != line:
            parse(line, "", 0)
    except (InputError, ValueError, RecursionError):
        return None
    return event if _is_sound(event) else None


def _is_sound(event: Any) -> bool:
    """Whether the values of an event fit each other, and its texts parse."""
    checked = event.checked or event.predicate is not None
    return not checked or fault_of(event) is None


def _form(kind: Kind) -> type[msgspec.Struct]:
    """The events of one kind: its own fields alone are stored, and those that it needs are there.

    Of what is stored nothing can be part of a cycle, so the collector does not track them.
    """
    names, needs = {*STAMP, *FLAGS, *IDENTITY, *fields_of(kind)} - {"kind"}, required_of(kind)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    others: dict[str, Any] = {"kind": kind}
    for info in _FIELDS:
        if info.name in needs:
            fields.append((info.name, _present(info.type)))
        elif info.name in names:
            fields.append((info.name, _TYPES.get(info.name, info.type), info.default))
        elif info.name != "kind":
            others[info.name] = info.default
    others["checked"] = bool(one_of(kind) or names & {"block_ids", "positions", "duration"})
    others["demotes"] = (
        Event.demotes if kind is Kind.CLAIM_OFFLOADED else kind is Kind.CLAIM_DEMOTED
    )
    accuses, repeats = {"blocking_claim_ids", "outcome_claim_id"}, {"duplicate", "echo"}
    others["accused"] = Event.accused if names & accuses else ()
    others["contents"] = Event.contents if names & {"keys", "content_keys"} else ()
    others["repeats"] = Event.repeats if names & repeats else False
    return msgspec.defstruct(
        kind.value,
        fields,
        namespace=others,
        module=__name__,
        tag_field="kind",
        tag=kind.value,
        kw_only=True,
        frozen=True,
        gc=False,
        omit_defaults=True,
        forbid_unknown_fields=True,
    )


def _present(of: Any) -> Any:
    """The type of a field that must be there, and not be empty."""
    if get_origin(of) is tuple:
        return Annotated[of, Meta(min_length=1)]
    (given,) = (part for part in get_args(of) if part is not NoneType)
    return given


_FORMS: Final = Union[tuple(map(_form, Kind))]  # noqa: UP007

_DECODER: Final[msgspec.json.Decoder[Any]] = msgspec.json.Decoder(_FORMS)
_DECODE, _ENCODE = _DECODER.decode, EVENT_ENCODER.encode
