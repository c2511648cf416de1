"""Writes an object and all that it leads to; what is shared is written once, and referred to."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from monitor.durable.collector import paused
from monitor.durable.known import Remade, name_of
from monitor.durable.nodes import BUILT_IN, PLAIN, Nodes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monitor.durable.known import Known, Shape

__all__ = ["written"]

_Part: TypeAlias = tuple[int]
_Getter: TypeAlias = Callable[[Any], tuple[Any, ...]]
_Kind: TypeAlias = "tuple[int, Shape | Remade, _Getter]"
_TAG: Final = {name: number for number, name in enumerate(BUILT_IN)}
_FILLED_LATER: Final = frozenset({list, dict, set, deque, Counter, bytearray})
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1  # what msgpack holds


def written(known: Known, root: object) -> bytes:
    """An object, and all that is reachable from it, as `nodes` has it.

    Raises:
        TypeError: a class or a field that occurs is not in the table.
    """
    writer = _Writer(known)
    with paused():
        ((number,),) = writer.parts((root,))
        writer.finish()
    return msgspec.msgpack.encode(Nodes(writer.shapes, writer.nodes, number))


class _Writer:
    def __init__(self, known: Known) -> None:
        self.shapes: list[tuple[str, list[str]]] = []
        self.nodes: list[Any] = []
        self._known = known
        self._parts: dict[int, _Part] = {}  # by the id of an object, which lives until the end
        self._texts: dict[str, _Part] = {}
        self._inner: dict[int, tuple[_Part, str]] = {}  # what it is inside of, and its name there
        self._kinds: dict[type, _Kind] = {}
        self._open: list[tuple[int, Any]] = []  # has a number, and is not written yet
        self._alive: list[object] = []
        for name, value in known.constants.items():
            self._parts[id(value)] = self._add([_TAG["constant"], name])

    def parts(self, values: Iterable[Any]) -> list[Any]:
        """What stands for values in a node."""
        found: list[Any] = []
        for value in values:
            kind = type(value)
            if kind in PLAIN or (kind is int and _LEAST <= value <= _MOST):
                found.append(value)
            elif (part := self._parts.get(id(value))) is not None:
                found.append(part)
            else:
                part = self._parts[id(value)] = self._new(kind, value)
                found.append(part)
        return found

    def finish(self) -> None:
        """Write what is open, and what that leads to."""
        while self._open:
            number, value = self._open.pop()
            self.nodes[number] = self._content(value)

    def _new(self, kind: type, value: Any) -> _Part:
        if kind in _FILLED_LATER:
            return self._later(value) if value else self._add(self._content(value))
        if value and id(value) in self._inner:
            whole, name = self._inner[id(value)]
            return self._add([_TAG["inner"], whole, name])
        if kind is tuple or kind is frozenset:
            return self._add([_TAG[kind.__name__], *self.parts(value)])
        if kind is str:
            if (part := self._texts.get(value)) is None:
                part = self._texts[value] = self._add(_text(value))
            return part
        if kind is bytes:
            return self._add(value)
        if kind is int:
            self._alive.append(value)
            size = value.bit_length() // 8 + 1
            return self._add([_TAG["number"], value.to_bytes(size, "big", signed=True)])
        tag, shape, _ = known = self._kind(kind)
        if isinstance(shape, Remade):
            return self._remade(tag, shape, value)
        if shape.way in ("plain", "changing"):
            return self._later(value)
        return self._add(self._object(known, value))

    def _content(self, value: Any) -> list[Any]:
        """A node that is filled later."""
        kind = type(value)
        if kind is dict or kind is Counter:
            pairs = (each for pair in value.items() for each in pair)
            return [_TAG[kind.__name__], *self.parts(pairs)]
        if kind is list or kind is set:
            return [_TAG[kind.__name__], *self.parts(value)]
        if kind is deque:
            return [_TAG["deque"], value.maxlen, *self.parts(value)]
        if kind is bytearray:
            return [_TAG["bytearray"], bytes(value)]
        return self._object(self._kind(kind), value)

    def _object(self, known: _Kind, value: Any) -> list[Any]:
        tag, shape, required = known
        assert not isinstance(shape, Remade)
        node = [tag, *self.parts(required(value))]
        if shape.way == "plain" and (held := getattr(value, "__dict__", None)):
            if more := held.keys() - shape.fields:
                raise TypeError(f"no snapshot of {name_of(shape.kind)}.{min(more)}: not declared")
            for name in shape.fields[shape.required :]:  # not `getattr`, which would compute it
                node += self.parts((held[name],)) if name in held else ([],)
        return node

    def _add(self, node: Any) -> _Part:
        self.nodes.append(node)
        return (len(self.nodes) - 1,)

    def _later(self, value: object) -> _Part:
        self._open.append((len(self.nodes), value))
        return self._add(None)

    def _remade(self, tag: int, shape: Remade, value: Any) -> _Part:
        taken = shape.take(value)
        self._alive.append(taken)
        whole = self._add([tag, *self.parts(taken)])
        for name, inside in shape.inner(value).items():
            self._inner.setdefault(id(inside), (whole, name))
        return whole

    def _kind(self, kind: type) -> _Kind:
        """What is known of a class."""
        if (found := self._kinds.get(kind)) is not None:
            return found
        name = name_of(kind)
        shape = self._known.shapes.get(name) or self._known.remade.get(name)
        if shape is None or shape.kind is not kind:
            raise TypeError(f"no snapshot of {name}: it is not in the table")
        tag = len(BUILT_IN) + len(self.shapes)
        if isinstance(shape, Remade):
            self.shapes.append((name, []))
            found = self._kinds[kind] = tag, shape, _nothing
        else:
            self.shapes.append((name, list(shape.fields)))
            found = self._kinds[kind] = tag, shape, _getter(shape.fields[: shape.required])
        return found


def _nothing(_: Any) -> tuple[Any, ...]:
    return ()


def _getter(names: tuple[str, ...]) -> _Getter:
    """A function that gets these attributes of an object."""
    if len(names) > 1:
        return attrgetter(*names)
    return (lambda value: (getattr(value, names[0]),)) if names else _nothing


def _text(value: str) -> Any:
    """A text; a lone surrogate in it is no UTF-8, and msgpack would refuse it."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return [_TAG["text"], value.encode("utf-8", "surrogatepass")]
    return value
