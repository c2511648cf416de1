"""Decodes many canonical lines at once, and leaves what is not plain to the reader of single lines.

A line is taken here only if that reader would take it, as the same event; an error, a mark, a line
of a recorded dialect or one that is unusual is handed back as it is. msgspec keeps the last of two
values of one key; that no key stands twice is seen by writing the events again. Lines that come out
as they went in have each key once, and there is one event on each; of others the keys are counted.
"""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    TypeAlias,
    Union,
    get_args,
    get_origin,
)

import msgspec
from msgspec import Meta
from msgspec.structs import astuple

from monitor.input.dialects._json import parse
from monitor.input.errors import InputError
from monitor.input.lines import LINE_LIMIT, split
from monitor.input.sound import are_sound, placed
from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import EVENT_ENCODER, Event
from spec.events.fields import FLAGS, IDENTITY, STAMP, fields_of, required_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from monitor.input.dialects import Reader
    from monitor.input.records import At

__all__ = ["Batch", "Piece", "Run", "event_of", "form_of", "kinds_of", "pieces", "run_of", "whole"]

_MOST: Final = 2**63 - 1
_LONG: Final = LINE_LIMIT // 2  # for another way to write it may take more bytes
_TYPES: Final[dict[str, Any]] = {
    "sequence": Annotated[int, Meta(ge=0, le=_MOST)] | None,
    "time_ns": Annotated[int, Meta(ge=0, le=_MOST)] | None,
    "priority": Annotated[int, Meta(ge=-_MOST, le=_MOST)] | None,
    "mode": Literal[tuple(mode.value for mode in Mode)] | None,
}
"""Fields of which the type says less than the reader checks, with types that say it."""


class Batch(NamedTuple):
    """Canonical events of one file in order, and the number of the line of each.

    The events have the attributes of an `Event`, though their types are one for each kind.
    """

    file: str
    lines: Sequence[int]
    events: Sequence[Event]


class Run(NamedTuple):
    """Canonical events of one stream of a file, each with its place.

    Each sequence number is one more than the one before, and no time is before the one before.
    """

    file: str
    stream: str
    events: Sequence[Event]
    places: Sequence[At]


Piece: TypeAlias = "Batch | tuple[int, bytes]"
"""Events, or one line as it is, with its number."""


def whole(block: bytes) -> Sequence[Event] | None:
    """The events of a block, one on each of its lines; None where that is not certain of all.

    Args:
        block: whole lines, as `Lines.blocks` has them.
    """
    if not block.endswith(b"\n"):
        block += b"\n"
    try:
        events = _DECODE_LINES(block)
    except (ValueError, RecursionError):
        return None
    written = _ENCODE_LINES(events)
    if written != block and not _each_once(block, written, len(events)):
        return None
    return events if are_sound(events) else None


def pieces(reader: Reader, block: bytes, number: int) -> Iterator[Piece]:
    """The lines of a block that are not blank, in order; those that are events, as events.

    Args:
        reader: of the lines that are handed back. From a line of a recorded dialect on all are.
        block: whole lines.
        number: of the first line.
    """
    lines: list[int] = []
    events: list[Event] = []
    for each, line in split(block, number):
        event = event_of(line) if reader.is_canonical else None
        if event is not None:
            lines.append(each)
            events.append(event)
            continue
        if events:
            yield Batch(reader.file, lines, events)
            lines, events = [], []
        yield each, line
    if events:
        yield Batch(reader.file, lines, events)


def kinds_of(events: Sequence[Event]) -> dict[Kind, int]:
    """How many events of a batch there are of each kind."""
    forms: Counter[Any] = Counter(map(type, events))
    return {form.kind: number for form, number in forms.items()}


def run_of(batch: Batch) -> tuple[list[At], Run | None]:
    """The place of each event of a batch; and the run that they are, if nothing is missing between
    them.
    """
    file, lines, events = batch
    places, is_run = placed(file, lines, events)
    return places, Run(file, events[0].stream or file, events, places) if is_run else None


def _each_once(block: bytes, written: bytes, events: int) -> bool:
    """Whether a block has one event on each line, and no key twice.

    Without escapes every quote begins or ends a text, and a key is what has a colon behind it.
    What is written again leaves out the keys that add nothing: it has at most as many.
    """
    plain = b"\\" not in block and b"\t" not in block and b"\r" not in block
    if not plain or b" :" in block or block.count(b'":') != written.count(b'":'):
        return False
    return block.startswith(b"{") and block.count(b"}\n{") == block.count(b"\n") - 1 == events - 1


def form_of(event: Event) -> Event | None:
    """The event as the reader of lines has it where it is written as one; None where that is not
    certain.
    """
    try:
        line = _ENCODE(event)
        found = _DECODE(line)
        if astuple(found) != _OWN[event.kind](astuple(event)) or len(line) > _LONG:
            return None
    except Exception:  # whatever stands in a field: the reader says what is wrong with it
        return None
    return found if are_sound((found,)) else None


def event_of(line: bytes) -> Event | None:
    """The event of a line; None where that is not certain."""
    try:
        event = _DECODE(line)
        if _ENCODE(event) != line:
            parse(line, "", 0)
    except (InputError, ValueError, RecursionError):
        return None
    return event if are_sound((event,)) else None


def _form(kind: Kind) -> type[msgspec.Struct]:
    """The events of one kind: its own fields alone are stored, and those that it needs are there.

    Of what is stored nothing can be part of a cycle, so the collector does not track them.
    """
    names, needs = {*STAMP, *FLAGS, *IDENTITY, *fields_of(kind)} - {"kind"}, required_of(kind)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    others: dict[str, Any] = {"kind": kind}
    for info in msgspec.structs.fields(Event):
        if info.name in needs:
            fields.append((info.name, _present(info.type)))
        elif info.name in names:
            fields.append((info.name, _TYPES.get(info.name, info.type), info.default))
        elif info.name != "kind":
            others[info.name] = info.default
    others["checked"] = bool(names & {"block_ids", "positions", "duration"})
    others["contents"], others["repeats"] = Event.contents, Event.repeats
    others["accused"] = Event.accused if names & {"blocking_claim_ids", "outcome_claim_id"} else ()
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


_EACH: Final = {kind: _form(kind) for kind in Kind}
_FORMS: Final = Union[tuple(_EACH.values())]  # noqa: UP007
_OWN: Final = {
    kind: itemgetter(*map(Event.__struct_fields__.index, form.__struct_fields__))
    for kind, form in _EACH.items()
}
"""Of the fields of an event those that an event of its kind has."""

_DECODER: Final[msgspec.json.Decoder[Any]] = msgspec.json.Decoder(_FORMS)
_DECODE, _DECODE_LINES = _DECODER.decode, _DECODER.decode_lines
_ENCODE, _ENCODE_LINES = EVENT_ENCODER.encode, EVENT_ENCODER.encode_lines
