"""Defines the form in which a snapshot holds objects.

There is one node for each object: a text or bytes as they are, or a list of a number that says what
it is, and its parts. Of a part, None, numbers and truth values stand for themselves; all else is
`[n]`, an object whose number is lower by n than that of the node, and a part that is absent is
`[]`. What is made with all its parts at once comes after them. Nodes are written in chunks, so that
a few of them are in memory at once, each after its number, less that of the node before it. Such
differences are small, and repeat: they compress well.
"""

from __future__ import annotations

from typing import Final

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
    """All of it.

    Attributes:
        shapes: the classes that occur, with the fields of each.
        count: how many objects there are.
        chunks: each the msgpack of a list of (differences of) numbers and nodes in turn.
        root: the number of the object from which all others are reached.
    """

    shapes: list[tuple[str, list[str]]]
    count: int
    chunks: list[bytes]
    root: int
