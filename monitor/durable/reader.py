"""Reads the objects of a snapshot: those of the table alone, and nothing is run to make them."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Any, Final

import msgspec

from monitor.durable.collector import paused
from monitor.durable.frame import CorruptSnapshot, ForeignSnapshot
from monitor.durable.known import Remade, name_of
from monitor.durable.nodes import BUILT_IN, PLAIN, Nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from monitor.durable.known import Known, Shape

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
        self._known, self._nodes, self._root = known, content.nodes, content.root
        self._shapes = [self._shape(name, fields) for name, fields in content.shapes]
        self._made: list[Any] = [_NOT_MADE] * len(content.nodes)

    def read(self) -> Any:
        """Make what is filled later, then what needs all its parts, and then fill the first."""
        later = []
        for number, node in enumerate(self._nodes):
            if type(node) is list and (empty := self._empty(node)) is not _NOT_MADE:
                self._made[number] = empty
                later.append(number)
        for number, node in enumerate(self._nodes):
            if self._made[number] is _NOT_MADE:
                self._made[number] = self._whole(node)
        for number in later:
            self._fill(self._made[number], self._nodes[number])
        return self._part([self._root])

    def _shape(self, name: str, fields: list[str]) -> Shape | Remade:
        shape = self._known.shapes.get(name)
        found = shape or self._known.remade.get(name)
        if found is None or fields != list(() if shape is None else shape.fields):
            raise ForeignSnapshot(f"the snapshot has another form of {name} than is known", _NEWER)
        return found

    def _empty(self, node: list[Any]) -> Any:
        """What a node is before it is filled; `_NOT_MADE` if it is made with all its parts."""
        tag = node[0]
        if tag == _TAG["deque"]:
            return deque(maxlen=self._part(node[1]))
        if tag < len(_EMPTY):
            return _EMPTY[tag]()
        if tag < len(BUILT_IN):
            return _NOT_MADE
        shape = self._shapes[tag - len(BUILT_IN)]
        if isinstance(shape, Remade):
            return _NOT_MADE
        if shape.way == "plain":
            return shape.kind.__new__(shape.kind)
        return shape.kind(**dict.fromkeys(shape.fields)) if shape.way == "changing" else _NOT_MADE

    def _whole(self, node: Any) -> Any:
        if type(node) is str or type(node) is bytes:
            return node
        tag, parts = node[0], node[1:]
        if tag >= len(BUILT_IN):
            return self._object(self._shapes[tag - len(BUILT_IN)], parts)
        name = BUILT_IN[tag]
        if name == "tuple":
            return tuple(self._parts(parts))
        if name == "frozenset":
            return frozenset(self._parts(parts))
        if name == "inner":
            (number,), part = parts
            whole = self._part([number])
            found = self._known.remade[name_of(type(whole))].inner(whole)
            return found[part]
        (only,) = parts
        if name == "text":
            return only.decode("utf-8", "surrogatepass")
        if name == "number":
            return int.from_bytes(only, "big", signed=True)
        return self._known.constants[only]

    def _object(self, shape: Shape | Remade, parts: list[Any]) -> Any:
        values = self._parts(parts)
        if isinstance(shape, Remade):
            return shape.make(*values)
        if len(values) != shape.required:
            raise ValueError(len(values))
        if shape.way == "enum" or shape.way == "tuple":
            return shape.kind(*values)
        return shape.kind(**dict(zip(shape.fields, values, strict=True)))

    def _fill(self, made: Any, node: list[Any]) -> None:
        kind, parts = type(made), node[1:]
        if kind is list or kind is deque:
            made.extend(self._parts(parts[1:] if kind is deque else parts))
        elif kind is set:
            made.update(self._parts(parts))
        elif kind is dict or kind is Counter:
            values = self._parts(parts)
            for key, value in zip(values[::2], values[1::2], strict=True):
                made[key] = value
        elif kind is bytearray:
            (content,) = parts
            if type(content) is not bytes:
                raise TypeError(type(content))
            made.extend(content)
        else:
            shape = self._shapes[node[0] - len(BUILT_IN)]
            for place, (name, part) in enumerate(zip(shape.fields, parts, strict=True)):
                if part != [] or place < shape.required:
                    setattr(made, name, self._part(part))

    def _parts(self, parts: list[Any]) -> list[Any]:
        return [part if type(part) in _PLAIN else self._part(part) for part in parts]

    def _part(self, part: Any) -> Any:
        if type(part) is not list:
            if type(part) in _PLAIN:
                return part
            raise TypeError(type(part))
        (number,) = part
        if number < 0 or (made := self._made[number]) is _NOT_MADE:
            raise ValueError(number)
        return made
