"""Decodes one line of JSON into a struct, with errors that state a remedy."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, cast

import msgspec

from monitor.input.errors import InputError, did_you_mean, shown
from monitor.input.looks import describe_line, describe_object, describe_packed
from spec.claims.predicates import MaterializationPredicate, parse_predicate
from spec.files.json_text import KeyTwice, check_keys
from spec.language.errors import PredicateError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "KIND_LIMIT",
    "Listed",
    "kind_in",
    "known_predicate",
    "no_kind",
    "parse",
    "predicate_in",
    "struct",
]

KIND_LIMIT: Final = 256
"""Longest name of a kind, in characters, known or not."""

_DECODE = msgspec.json.Decoder().decode
_SPACED_COLON = re.compile(rb'"[ \t\r]+:').search
_PLACE = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?", re.DOTALL)
_HALF: Final = re.compile(rb"(?<!\\)(?:\\\\)*(\\u[dD][89abAB][0-9a-fA-F]{2})(?!\\|$)")
_BYTE = re.compile(r"(?:JSON is malformed: )?(.*?)(?: \(byte (\d+)\))?", re.DOTALL)
_BOUND = re.compile(r"Expected `int` (>=|<=) (-?\d+)")
_NAMED = re.compile(r"Object (contains unknown|missing required) field `(.*)`", re.DOTALL)
_FEW: Final = 5  # keys that are shown of an object that is no event
_ARRAY: Final = "a JSON array of events", "jq -c '.[]' FILE | resident-claims check -"
_ONE_LINE = "write one complete JSON object on each line"

S = TypeVar("S", bound=msgspec.Struct)


class Listed(dict[str, object]):
    """A line that is a list of objects. It has no fields of its own."""

    def __init__(self, objects: list[dict[str, Any]]) -> None:
        super().__init__()
        self.objects = objects


def parse(text: bytes, file: str, line: int, *, lists: bool = False) -> dict[str, object]:
    """The JSON object that a line holds.

    Args:
        lists: a list of objects is taken as well, as `Listed`.

    Raises:
        InputError: not UTF-8, not JSON, not an object, nested too deep, or a key stands twice.
    """
    reason, hint = "", ""
    obj: Any = None
    try:
        if not text.isascii():
            text.decode()
        obj = _DECODE(text)
        if lists and isinstance(obj, list) and all(isinstance(each, dict) for each in obj):
            check_keys(text)
            obj = Listed(obj)
        elif not isinstance(obj, dict):
            reason, hint = f"expected a JSON object, got {shown(obj)}", _ONE_LINE
            if isinstance(obj, list) and obj and isinstance(obj[0], dict):
                reason, hint = _ARRAY
        elif text.count(b'":') != len(obj) or _SPACED_COLON(text):
            check_keys(text)
    except KeyTwice as twice:
        field = shown(twice.key, 80)[1:-1]
        raise InputError(
            file, "the key occurs twice", line=line, field=field, hint="keep one of them"
        ) from None
    except UnicodeDecodeError as error:
        reason, hint = f"not text: no UTF-8 at byte {error.start + 1}", "write UTF-8"
        if (known := describe_packed(text)) is not None:
            reason, hint = f"not text: it looks like {known[0]}", known[1]
    except RecursionError:
        reason, hint = "nested too deep", "events are flat"
    except (ValueError, msgspec.DecodeError) as error:
        reason, hint = _not_json(text, str(error))
    if reason:
        raise InputError(file, reason, line=line, hint=hint)
    return cast("dict[str, object]", obj)


def _not_json(text: bytes, message: str) -> tuple[str, str]:
    if b"\0" in text:
        return "not text: a NUL byte", "the file may be corrupt"
    if (known := describe_packed(text) or describe_line(text)) is not None:
        return f"not JSON: it looks like {known[0]}", known[1]
    why, byte = _BYTE.fullmatch(message.split(" - at `")[0]).groups()  # type: ignore[union-attr]
    where = f" at byte {int(byte) + 1}" if byte else ""
    if "truncated" in why:
        if (half := _HALF.search(text)) is not None:  # the decoder looks for the other half
            return f"not JSON: {half[1].decode()} is half of a surrogate pair", "write both"
        return "not JSON: it ends too early", _ONE_LINE
    if re.search(rb"\b(?:NaN|Infinity)\b", text):
        return f"not JSON: {why}{where}", "JSON has no NaN and no Infinity: leave the field out"
    return f"not JSON: {why}{where}", _ONE_LINE


def kind_in(obj: dict[str, object], field: str, file: str, line: int) -> str:
    """The name of the kind in `field`, known or not.

    Raises:
        InputError: not a name.
    """
    value = obj[field]
    if isinstance(value, str) and 0 < len(value) <= KIND_LIMIT and value.isprintable():
        return value
    if isinstance(value, dict):
        raise no_kind(obj, file, line)
    reason = "an event without a kind" if value in (None, "") else f"{shown(value)} is no kind"
    raise InputError(file, reason, line=line, field=field, hint="give the name of a kind of event")


def no_kind(obj: dict[str, object], file: str, line: int) -> InputError:
    """What is wrong with a line that no dialect recognises."""
    if isinstance(obj, Listed):
        reason, hint = _ARRAY if obj.objects else ("expected a JSON object, got []", _ONE_LINE)
        return InputError(file, reason, line=line, hint=hint)
    if (known := describe_object(obj)) is not None:
        return InputError(file, f"it looks like {known[0]}", line=line, hint=known[1])
    near = next((did_you_mean(key, ("kind", "event")) for key in obj), "")
    keys = ", ".join(shown(key, 20)[1:-1] for key in list(obj)[:_FEW])
    more = " and more" if len(obj) > _FEW else ""
    has = f"this object has {keys}{more}" if obj else "it is empty"
    hint = near or f"every event has a kind (in a recorded dialect, an event); {has}"
    return InputError(file, "an event without a kind", line=line, field="kind", hint=hint)


def struct(obj: dict[str, object], form: type[S], file: str, line: int) -> S:
    """`obj` as a struct of type `form`.

    Raises:
        InputError: a field is unknown (where the form forbids it), missing, or of a wrong value.
    """
    try:
        return msgspec.convert(obj, form)
    except msgspec.ValidationError as error:
        _refuse(str(error), obj, form, file, line)


def _refuse(
    message: str, obj: dict[str, object], form: type[msgspec.Struct], file: str, line: int
) -> NoReturn:
    said, place = _PLACE.fullmatch(message).groups()  # type: ignore[union-attr]
    field, reason, hint = place or None, said[:1].lower() + said[1:].replace("`", ""), ""
    if named := _NAMED.fullmatch(said):
        what, name = named.groups()
        field = f"{place}.{name}" if place else name
        if what == "missing required":
            reason, hint = "missing", "add it"
        else:
            reason = "no such field"
            hint = did_you_mean(name, _fields(form, place)) or "leave it out"
            field = field if len(field) <= 80 else field[:80] + "…"
    elif bound := _BOUND.fullmatch(said):
        value, (sign, limit) = _value(obj, place), bound.groups()
        reason = f"{shown(value)} is {'below' if sign == '>=' else 'above'} {limit}"
        hint = "give a count, 0 or more" if limit == "0" else f"give a number {sign} {limit}"
    elif said.endswith("of length >= 1"):
        reason, hint = "the text is empty", "name it, or leave the field out"
    if field is not None:
        field = shown(field, 80)[1:-1]
    raise InputError(file, reason, line=line, field=field, hint=hint)


def _fields(form: type[msgspec.Struct], place: str | None) -> Sequence[str]:
    if not place:
        return form.__struct_fields__
    nested = {
        name
        for info in msgspec.structs.fields(form)
        if info.name == place.split(".")[0].split("[")[0]
        for part in getattr(info.type, "__args__", (info.type,))
        for name in getattr(part, "__struct_fields__", ())
    }
    return sorted(nested)


def _value(obj: dict[str, object], place: str | None) -> Any:
    """The value at a path such as `block_ids[3]` or `proof.usable`."""
    value: Any = obj
    for part in re.findall(r"[^.\[\]]+", place or ""):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


@functools.lru_cache(maxsize=4096)
def known_predicate(text: str) -> MaterializationPredicate:
    """The predicate that `text` states; raises PredicateError."""
    return parse_predicate(text)


def predicate_in(text: str, field: str, file: str, line: int) -> MaterializationPredicate:
    """The predicate that `text` states.

    Raises:
        InputError: it does not parse.
    """
    try:
        return known_predicate(text)
    except PredicateError as error:
        raise InputError(file, error.cause, line=line, field=field, hint=error.remedy) from None
