"""Reads JSON in which no key stands twice: of two values a reader would have to drop one."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec

__all__ = ["KeyTwice", "check_keys", "decode_json"]

T = TypeVar("T")


class KeyTwice(ValueError):
    """A key stands twice in one object.

    Attributes:
        key: that key, as it was written.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {key[:80]!r} occurs twice; keep one of them")
        self.key = key


def decode_json(content: bytes, kind: type[T]) -> T:
    """The value of a document.

    Raises:
        ValueError: it is no JSON, of another type, nested too deep, or a key stands twice. The text
            is one line.
    """
    try:
        made = msgspec.json.decode(content, type=kind)
        check_keys(content)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except KeyTwice:
        raise
    except ValueError as problem:
        raise ValueError(" ".join(str(problem).split())[:200]) from None
    return made


def check_keys(content: bytes) -> None:
    """Raise KeyTwice if some object of a JSON document has a key twice."""
    json.loads(content, object_pairs_hook=_check, parse_int=len, parse_float=len)


def _check(pairs: list[tuple[str, Any]]) -> None:
    keys = set()
    for key, _ in pairs:
        if key in keys:
            raise KeyTwice(key)
        keys.add(key)
