"""Reads values and attributes in the JSON form of OTLP, to a bounded depth."""

from __future__ import annotations

import re
from typing import Final

from monitor.input.errors import shown

__all__ = ["Malformed", "items_in", "pairs_of", "value_of"]

_DEPTH: Final = 4  # lists and maps within each other; an event needs two
_EXACT: Final = 2**53  # up to there a number that was a float in between is what it was
_WHOLE: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_KINDS: Final = frozenset(
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


class Malformed(Exception):
    """A part of a line that is not in the form of OTLP.

    Attributes:
        place: where in the line.
        reason: what is wrong.
        hint: what to do about it.
    """

    def __init__(self, place: str, reason: str, hint: str = "") -> None:
        super().__init__(place, reason, hint)
        self.place, self.reason, self.hint = place, reason, hint


def items_in(holder: object, key: str, place: str) -> list[object]:
    """The list under a key of an object; empty where there is none.

    Raises:
        Malformed: the holder is no object, or has something else there.
    """
    if not isinstance(holder, dict):
        raise Malformed(place, f"expected an object, got {shown(holder)}")
    found = holder.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        raise Malformed(f"{place}.{key}".lstrip("."), f"expected a list, got {shown(found)}")
    return found


def pairs_of(given: list[object], place: str, depth: int = 0) -> dict[str, object]:
    """Attributes, or the pairs of a map, by their keys.

    Raises:
        Malformed: a pair is none, or a key occurs twice.
    """
    found: dict[str, object] = {}
    for number, pair in enumerate(given):
        key = pair.get("key") if isinstance(pair, dict) else None
        if not isinstance(pair, dict) or not isinstance(key, str):
            hint = 'a pair is {"key": ..., "value": ...}'
            raise Malformed(f"{place}[{number}]", f"no pair: {shown(pair)}", hint)
        if key in found:
            raise Malformed(f"{place}[{number}]", f"{shown(key)} occurs twice", "keep one of them")
        found[key] = value_of(pair.get("value"), f"{place}[{number}].value", depth)
    return found


def value_of(given: object, place: str, depth: int = 0) -> object:
    """A value as JSON has it; None for an empty one.

    Numbers may be texts, as OTLP has it, and whole numbers may have been floats on their way.

    Raises:
        Malformed: it is none, is nested too deep, or may have been rounded.
    """
    if given is None or given == {}:
        return None
    if not isinstance(given, dict) or len(given) != 1 or not given.keys() <= _KINDS:
        hint = f"a value has one of {', '.join(sorted(_KINDS))}"
        raise Malformed(place, f"no value: {shown(given)}", hint)
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
                raise Malformed(place, "nested too deep", "events are flat")
            inside = items_in(value, "values", place)
            if kind == "kvlistValue":
                return pairs_of(inside, place, depth + 1)
            return [value_of(v, f"{place}[{n}]", depth + 1) for n, v in enumerate(inside)]
    raise Malformed(place, f"no {kind}: {shown(value)}", "events have texts, numbers and lists")


def _whole(value: int | str, place: str) -> int:
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        raise Malformed(place, f"no whole number: {shown(value)}", "write it in decimal digits")
    return int(value)


def _exact(value: float, place: str) -> int:
    if value != value or abs(value) > _EXACT or value != int(value):  # NaN is not itself
        hint = "give an intValue, or the event as a text"
        raise Malformed(place, f"{shown(value)} may have been rounded", hint)
    return int(value)
