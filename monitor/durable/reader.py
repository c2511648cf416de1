"""Reads the objects of a snapshot: those of the table alone, and nothing is run to make them."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Any, Final

import msgspec

from monitor.durable.collector import paused
from monitor.durable.frame import LIMIT, CorruptSnapshot, ForeignSnapshot
from monitor.durable.known import Remade, Shape, derived_of, name_of
from monitor.durable.nodes import BUILT_IN, PLAIN, Nodes
from monitor.durable.packing import unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from monitor.durable.known import Known

__all__ = ["read"]

_NOT_MADE: Final = object()
_EMPTY: Final[tuple[Callable[[], Any], ...]] = (list, dict, set, deque, Counter, bytearray)
_TAG: Final = {name: number for number, name in enumerate(BUILT_IN)}
_PLAIN: Final = PLAIN | {int}
_WRONG: Final = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
_NEWER: Final = "read it by the release that wrote it, or begin anew"


def read(known: Known, data: bytes, kind: type) -> Any:
    """The object that `written` wrote, of this class.

    Raises:
        CorruptSnapshot: it is not what `written` writes.
        ForeignSnapshot: a class in it has other fields now, or is not known any more.
    """
    try:
        with paused():
            root = _Reader(known, msgspec.msgpack.decode(data, type=Nodes)).read()
    except ForeignSnapshot:
        raise
    except (*_WRONG, RecursionError) as error:
        raise CorruptSnapshot(f"the snapshot holds no state ({type(error).__name__})") from error
    if type(root) is not kind:
        raise CorruptSnapshot(f"the snapshot holds another thing than a {kind.__name__}")
    return root


class _Reader:
    def __init__(self, known: Known, content: Nodes) -> None:
        self._known, self._chunks, self._root = known, content.chunks, content.root
        self._shapes = [self._shape(name, fields) for name, fields in content.shapes]
        self._later = [number < len(_EMPTY) for number in range(len(BUILT_IN))]
        self._later += [
            isinstance(shape, Shape) and shape.way in ("plain", "changing")
            for shape in self._shapes
        ]
        self._bytes = 0  # in arrays of bytes
        if not 0 <= content.count <= sum(map(len, content.chunks)):
            raise ValueError(content.count)
        self._made: list[Any] = [_NOT_MADE] * content.count

    def read(self) -> Any:
        """Make what is filled later, then what needs all its parts, and then fill the first."""
        for number, node in self._nodes():
            if self._is_later(node):
                self._put(number, self._empty(number, node))
        for number, node in self._nodes():
            if not self._is_later(node):
                self._put(number, self._whole(number, node))
        for number, node in self._nodes():
            if self._is_later(node):
                self._fill(number, node)
        return self._part(self._root, [0])

    def _nodes(self) -> Iterator[tuple[int, Any]]:
        """The nodes with their numbers: decoded again each time, so that few are in memory."""
        number = 0
        for chunk in self._chunks:
            content = msgspec.msgpack.decode(chunk, type=list)
            for step, node in zip(content[::2], content[1::2], strict=True):
                number += step
                yield number, node

    def _put(self, number: int, made: Any) -> None:
        if number < 0 or self._made[number] is not _NOT_MADE:
            raise ValueError(number)
        self._made[number] = made

    def _shape(self, name: str, fields: list[str]) -> Shape | Remade:
        shape = self._known.shapes.get(name)
        found = shape or self._known.remade.get(name)
        if found is None or fields != list(() if shape is None else shape.fields):
            raise ForeignSnapshot(f"the snapshot has another form of {name} than is known", _NEWER)
        return found

    def _is_later(self, node: Any) -> bool:
        """Whether a node is filled later."""
        return type(node) is list and self._later[node[0]]

    def _empty(self, of: int, node: list[Any]) -> Any:
        """What a node is before it is filled."""
        tag = node[0]
        if tag == _TAG["deque"]:
            return deque(maxlen=self._part(of, node[1]))
        if tag < len(_EMPTY):
            return _EMPTY[tag]()
        shape = self._shapes[tag - len(BUILT_IN)]
        if shape.way == "plain":
            made = shape.kind.__new__(shape.kind)
            for name, value in derived_of(shape.kind).items():
                setattr(made, name, value)
            return made
        return shape.kind(**dict.fromkeys(shape.fields))

    def _whole(self, of: int, node: Any) -> Any:
        if type(node) is str or type(node) is bytes:
            return node
        tag, parts = node[0], node[1:]
        if tag >= len(BUILT_IN):
            return self._object(self._shapes[tag - len(BUILT_IN)], self._parts(of, parts))
        name = BUILT_IN[tag]
        if name == "tuple":
            return tuple(self._parts(of, parts))
        if name == "frozenset":
            return frozenset(self._parts(of, parts))
        if name == "inner":
            whole, part = self._part(of, parts[0]), parts[1]
            found = self._known.remade[name_of(type(whole))].inner(whole)
            return found[part]
        (only,) = parts
        if name == "text":
            return only.decode("utf-8", "surrogatepass")
        if name == "number":
            return int.from_bytes(only, "big", signed=True)
        return self._known.constants[only]

    def _object(self, shape: Shape | Remade, values: list[Any]) -> Any:
        if isinstance(shape, Remade):
            return shape.make(*values)
        if len(values) != shape.required:
            raise ValueError(len(values))
        if shape.way == "enum" or shape.way == "tuple":
            return shape.kind(*values)
        return shape.kind(**dict(zip(shape.fields, values, strict=True)))

    def _fill(self, of: int, node: list[Any]) -> None:
        made, parts = self._made[of], node[1:]
        kind = type(made)
        if kind is list or kind is deque:
            made.extend(self._parts(of, parts[1:] if kind is deque else parts))
        elif kind is set:
            made.update(self._parts(of, parts))
        elif kind is dict or kind is Counter:
            values = self._parts(of, parts)
            for key, value in zip(values[::2], values[1::2], strict=True):
                made[key] = value
        elif kind is bytearray:
            size, data = parts
            self._bytes += size
            if not 0 <= size <= self._bytes <= LIMIT:
                raise ValueError(size)
            made.extend(unpacked(data, size))
        else:
            shape = self._shapes[node[0] - len(BUILT_IN)]
            for place, (name, part) in enumerate(zip(shape.fields, parts, strict=True)):
                if part != [] or place < shape.required:
                    setattr(made, name, self._part(of, part))

    def _parts(self, of: int, parts: list[Any]) -> list[Any]:
        return [part if type(part) in _PLAIN else self._part(of, part) for part in parts]

    def _part(self, of: int, part: Any) -> Any:
        """What a part of the node of this number stands for."""
        if type(part) is not list:
            if type(part) in _PLAIN:
                return part
            raise TypeError(type(part))
        (below,) = part
        number = of - below
        if number < 0 or (made := self._made[number]) is _NOT_MADE:
            raise ValueError(number)
        return made
