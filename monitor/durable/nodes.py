"""Defines the form in which a snapshot holds objects.

There is one node for each object: a text or bytes as they are, or a list of a number that says what
it is, and its parts. Of a part, None, numbers and truth values stand for themselves; all else is
`[n]`, the node of that number, and a part that is absent is `[]`. What is made with all its parts
at once comes after them.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

__all__ = ["BUILT_IN", "PLAIN", "Nodes"]

BUILT_IN: Final = (
    *("list", "dict", "set", "deque", "Counter", "bytearray"),  # these are filled later
    *("tuple", "frozenset", "text", "number", "constant", "inner"),
)
"""What has a number of its own, its place here; classes come after these, in their order."""

PLAIN: Final = frozenset({type(None), bool, float})
"""What stands for itself, besides whole numbers."""


class Nodes(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """All of it: `shapes` are the classes that occur with the fields of each, `root` a node."""

    shapes: list[tuple[str, list[str]]]
    nodes: list[Any]
    root: int
