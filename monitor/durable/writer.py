"""Writes an object and all that it leads to; what is shared is written once, and referred to."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Any, Final

import msgspec

from monitor.durable.known import Remade, name_of
from monitor.durable.nodes import BUILT_IN, Nodes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monitor.durable.known import Known, Shape

__all__ = ["written"]

_TAG: Final = {name: number for number, name in enumerate(BUILT_IN)}
_FILLED_LATER: Final = (list, dict, set, deque, Counter, bytearray)
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1  # what msgpack holds


def written(known: Known, root: object) -> bytes:
    """An object, and all that is reachable from it, as `nodes` has it.

    Raises:
        TypeError: a class or a field that occurs is not in the table.
    """
    writer = _Writer(known)
    number = writer.number(root)
    writer.finish()
    return msgspec.msgpack.encode(Nodes(writer.shapes, writer.nodes, number))


class _Writer:
    def __init__(self, known: Known) -> None:
        self.shapes: list[tuple[str, list[str]]] = []
        self.nodes: list[Any] = []
        self._known = known
        self._numbers: dict[int, int] = {}  # by the id of an object, which lives until the end
        self._texts: dict[str, int] = {}
        self._constants = {id(value): name for name, value in known.constants.items()}
        self._inner: dict[int, tuple[int, str]] = {}  # what it is a part of, and which
        self._kinds: dict[type, tuple[int, Shape | Remade]] = {}
        self._open: list[tuple[int, Any]] = []  # has a number, and is not written yet
        self._alive: list[object] = []

    def finish(self) -> None:
        """Write what is open, and what that leads to."""
        while self._open:
            number, value = self._open.pop()
            self.nodes[number] = self._content(value)

    def number(self, value: Any) -> int:
        """The node of an object."""
        if type(value) is str:
            number = self._texts.get(value)
            if number is None:
                number = self._texts[value] = self._add(_text(value))
            return number
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = self._new(value)
        return number

    def _new(self, value: Any) -> int:
        kind = type(value)
        if kind is bytes:
            return self._add(value)
        if kind is int:
            self._alive.append(value)
            size = value.bit_length() // 8 + 1
            return self._add([_TAG["number"], value.to_bytes(size, "big", signed=True)])
        if id(value) in self._constants:
            return self._add([_TAG["constant"], self._constants[id(value)]])
        if value and id(value) in self._inner:
            whole, name = self._inner[id(value)]
            return self._add([_TAG["inner"], [whole], name])
        if kind is tuple or kind is frozenset:
            return self._add([_TAG[kind.__name__], *self._parts(value)])
        if kind in _FILLED_LATER:
            return self._later(value)
        tag, shape = self._kind(kind)
        if isinstance(shape, Remade):
            return self._remade(tag, shape, value)
        if shape.way in ("plain", "changing"):
            return self._later(value)
        return self._add([tag, *self._fields(shape, value)])

    def _content(self, value: Any) -> list[Any]:
        """A node that is filled later."""
        kind = type(value)
        if kind is list or kind is set:
            return [_TAG[kind.__name__], *self._parts(value)]
        if kind is dict or kind is Counter:
            pairs = (each for pair in value.items() for each in pair)
            return [_TAG[kind.__name__], *self._parts(pairs)]
        if kind is deque:
            return [_TAG["deque"], self._part(value.maxlen), *self._parts(value)]
        if kind is bytearray:
            return [_TAG["bytearray"], bytes(value)]
        tag, shape = self._kind(kind)
        assert not isinstance(shape, Remade)
        return [tag, *self._fields(shape, value)]

    def _add(self, node: Any) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _later(self, value: object) -> int:
        number = self._add(None)
        self._open.append((number, value))
        return number

    def _parts(self, values: Iterable[Any]) -> list[Any]:
        return [self._part(value) for value in values]

    def _part(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind is bool or kind is float:
            return value
        if kind is int and _LEAST <= value <= _MOST:
            return value
        return [self.number(value)]

    def _fields(self, shape: Shape, value: Any) -> list[Any]:
        if held := getattr(value, "__dict__", None):
            more = held.keys() - shape.fields if shape.way == "plain" else ()
            if more:
                raise TypeError(f"no snapshot of {name_of(shape.kind)}.{min(more)}: not declared")
        required = [self._part(getattr(value, name)) for name in shape.fields[: shape.required]]
        for name in shape.fields[shape.required :]:  # not `getattr`, which would compute it
            required.append(self._part(held[name]) if held and name in held else [])
        return required

    def _remade(self, tag: int, shape: Remade, value: Any) -> int:
        taken = shape.take(value)
        self._alive.append(taken)
        number = self._add([tag, *self._parts(taken)])
        for name, part in shape.inner(value).items():
            self._inner.setdefault(id(part), (number, name))
        return number

    def _kind(self, kind: type) -> tuple[int, Shape | Remade]:
        """The number of a class, and what is known of it."""
        found = self._kinds.get(kind)
        if found is None:
            name = name_of(kind)
            shape = self._known.shapes.get(name) or self._known.remade.get(name)
            if shape is None or shape.kind is not kind:
                raise TypeError(f"no snapshot of {name}: it is not in the table")
            found = self._kinds[kind] = len(BUILT_IN) + len(self.shapes), shape
            self.shapes.append((name, list(() if isinstance(shape, Remade) else shape.fields)))
        return found


def _text(value: str) -> Any:
    """A text; a lone surrogate in it is no UTF-8, and msgpack would refuse it."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return [_TAG["text"], value.encode("utf-8", "surrogatepass")]
    return value
