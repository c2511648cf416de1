"""Is a value as a JSON Schema says? As much of JSON Schema as the published ones use."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["faults"]

_SAYS_NOTHING = {
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "title",
    "description",
    "default",
    "format",
    "type",
    "then",
}
_TYPES: dict[str, type | tuple[type, ...]] = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "null": type(None),
    "object": dict,
    "string": str,
}


def faults(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "$") -> list[str]:
    """What is wrong with a value by this part of the schema `root`; empty where nothing is.

    Raises:
        KeyError: a keyword that is not known here.
    """
    if "type" in schema and (odd := _type(value, schema["type"], at)):
        return odd
    found: list[str] = []
    for keyword, said in schema.items():
        if keyword not in _SAYS_NOTHING:
            found += _KEYWORDS[keyword](value, said, schema, root, at)
    return found


def _type(value: Any, said: str, at: str) -> list[str]:
    odd = isinstance(value, bool) and said != "boolean"
    return [] if isinstance(value, _TYPES[said]) and not odd else [f"{at} is no {said}"]


def _any(value: Any, said: list[Any], _: Any, root: Any, at: str) -> list[str]:
    tried = [faults(value, part, root, at) for part in said]
    return [] if [] in tried else [f"{at} is none of {len(tried)}: {tried}"]


def _if(value: Any, said: Any, schema: Any, root: Any, at: str) -> list[str]:
    return faults(value, schema["then"], root, at) if not faults(value, said, root, at) else []


def _ref(value: Any, said: str, _: Any, root: Any, at: str) -> list[str]:
    return faults(value, root["$defs"][said.removeprefix("#/$defs/")], root, at)


def _properties(value: Any, said: dict[str, Any], _: Any, root: Any, at: str) -> list[str]:
    there = {name: part for name, part in said.items() if name in value}
    return [f for n, part in there.items() for f in faults(value[n], part, root, f"{at}.{n}")]


def _additional(value: Any, said: Any, schema: Any, root: Any, at: str) -> list[str]:
    more = value.keys() - schema.get("properties", {}).keys()
    if said is False:
        return [f"{at} has {name}" for name in more]
    return [f for name in more for f in faults(value[name], said, root, f"{at}.{name}")]


_KEYWORDS: dict[str, Any] = {
    "$ref": _ref,
    "additionalProperties": _additional,
    "allOf": lambda v, said, _, root, at: [f for part in said for f in faults(v, part, root, at)],
    "anyOf": _any,
    "const": lambda v, said, *rest: [] if v == said else [f"{rest[-1]} is not {said}"],
    "discriminator": lambda *_: [],  # a hint beside anyOf
    "exclusiveMaximum": lambda v, said, *rest: (
        [] if v < said else [f"{rest[-1]} is {said} or more"]
    ),
    "if": _if,
    "enum": lambda v, said, *rest: [] if v in said else [f"{rest[-1]} is none of {said}"],
    "items": lambda v, said, _, root, at: [f for each in v for f in faults(each, said, root, at)],
    "maxItems": lambda v, said, *rest: [] if len(v) <= said else [f"{rest[-1]} is too long"],
    "maxLength": lambda v, said, *rest: [] if len(v) <= said else [f"{rest[-1]} is too long"],
    "maximum": lambda v, said, *rest: [] if v <= said else [f"{rest[-1]} is over {said}"],
    "minItems": lambda v, said, *rest: [] if len(v) >= said else [f"{rest[-1]} is too short"],
    "minLength": lambda v, said, *rest: [] if len(v) >= said else [f"{rest[-1]} is too short"],
    "minimum": lambda v, said, *rest: [] if v >= said else [f"{rest[-1]} is below {said}"],
    "pattern": lambda v, said, *rest: [] if re.search(said, v) else [f"{rest[-1]} is no {said}"],
    "properties": _properties,
    "required": lambda v, said, *rest: [f"{rest[-1]} lacks {n}" for n in said if n not in v],
}
