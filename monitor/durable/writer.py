"""Writes an object and all that it leads to; what is shared is written once, and referred to."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from monitor.durable.collector import paused
from monitor.durable.frame import LIMIT
from monitor.durable.known import Remade, derived_of, name_of
from monitor.durable.nodes import BUILT_IN, PLAIN, Nodes
from monitor.durable.packing import packed
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monitor.durable.known import Known, Shape

__all__ = ["written"]

_Getter: TypeAlias = Callable[[Any], tuple[Any, ...]]
_Kind: TypeAlias = "tuple[int, Shape | Remade, _Getter]"
_TAG: Final = {name: number for number, name in enumerate(BUILT_IN)}
_FILLED_LATER: Final = frozenset({list, dict, set, deque, Counter, bytearray})
_CHUNK: Final = 8_192  # numbers and nodes
_EMPTY: Final[dict[type, list[int]]] = {
    kind: [_TAG[kind.__name__]] for kind in (list, dict, set, Counter)
}
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1  # what msgpack holds


def written(known: Known, root: object) -> bytes:
    """An object, and all that is reachable from it, as `nodes` has it.

    Raises:
        TypeError: a class or a field that occurs is not in the table.
        SpecError: its arrays of bytes have more than `LIMIT` bytes.
    """
    writer = _Writer(known)
    with paused():
        ((number,),) = writer.parts(0, (root,))
        writer.finish()
    nodes = Nodes(writer.shapes, writer.count, writer.chunks, -number)
    return msgspec.msgpack.encode(nodes)


class _Writer:
    def __init__(self, known: Known) -> None:
        self.shapes: list[tuple[str, list[str]]] = []
        self.count = 0
        self.chunks: list[bytes] = []
        self._chunk: list[Any] = []
        self._last = 0  # the number of the last node in it
        self._known = known
        self._numbers: dict[int, int] = {}  # by the id of an object, which is `_alive`
        self._texts: dict[str, int] = {}
        self._inner: dict[int, tuple[int, str]] = {}  # what it is inside of, and its name there
        self._kinds: dict[type, _Kind] = {}
        self._open: list[tuple[int, Any]] = []  # has a number, and is not written yet
        self._alive: list[object] = []  # a compiled object makes some of its parts when asked
        self._bytes = 0  # in arrays of bytes
        for name, value in known.constants.items():
            self._numbers[id(value)] = self._add([_TAG["constant"], name])

    def parts(self, of: int, values: Iterable[Any]) -> list[Any]:
        """What stands for values in the node of a number."""
        found: list[Any] = []
        for value in values:
            kind = type(value)
            if kind in PLAIN or (kind is int and _LEAST <= value <= _MOST):
                found.append(value)
            else:
                if (number := self._numbers.get(id(value))) is None:
                    number = self._numbers[id(value)] = self._new(kind, value)
                    self._alive.append(value)
                found.append((of - number,))
        return found

    def finish(self) -> None:
        """Write what is open, and what that leads to."""
        while self._open:
            number, value = self._open.pop()
            self._put(number, self._content(number, value))
        self.chunks.append(msgspec.msgpack.encode(self._chunk))

    def _new(self, kind: type, value: Any) -> int:
        if kind in _FILLED_LATER:
            empty = None if value else _EMPTY.get(kind)
            return self._later(self._next(), value) if empty is None else self._add(empty)
        if kind is str:
            if (number := self._texts.get(value)) is None:
                number = self._texts[value] = self._add(_text(value))
            return number
        if kind is bytes:
            return self._add(value)
        if kind is int:
            size = value.bit_length() // 8 + 1
            return self._add([_TAG["number"], value.to_bytes(size, "big", signed=True)])
        number = self._next()
        if value and id(value) in self._inner:
            whole, name = self._inner[id(value)]
            return self._put(number, [_TAG["inner"], [number - whole], name])
        if kind is tuple or kind is frozenset:
            return self._put(number, [_TAG[kind.__name__], *self.parts(number, value)])
        tag, shape, _ = known = self._kind(kind)
        if isinstance(shape, Remade):
            return self._remade(number, tag, shape, value)
        if shape.way in ("plain", "changing"):
            return self._later(number, value)
        return self._put(number, self._object(number, known, value))

    def _content(self, of: int, value: Any) -> list[Any]:
        """A node that is filled later."""
        kind = type(value)
        if kind is dict or kind is Counter:
            pairs = (each for pair in value.items() for each in pair)
            return [_TAG[kind.__name__], *self.parts(of, pairs)]
        if kind is list or kind is set:
            return [_TAG[kind.__name__], *self.parts(of, value)]
        if kind is deque:
            return [_TAG["deque"], value.maxlen, *self.parts(of, value)]
        if kind is bytearray:
            self._bytes += len(value)
            if self._bytes > LIMIT:
                cause = f"the state has over {LIMIT} bytes of digests"
                raise SpecError(cause, "judge fewer streams")
            return [_TAG["bytearray"], len(value), packed(value)]
        return self._object(of, self._kind(kind), value)

    def _object(self, of: int, known: _Kind, value: Any) -> list[Any]:
        tag, shape, required = known
        assert not isinstance(shape, Remade)
        node = [tag, *self.parts(of, required(value))]
        if shape.way == "plain" and (held := getattr(value, "__dict__", None)):
            if more := held.keys() - shape.fields - derived_of(shape.kind).keys():
                raise TypeError(f"no snapshot of {name_of(shape.kind)}.{min(more)}: not declared")
            for name in shape.fields[shape.required :]:  # not `getattr`, which would compute it
                node += self.parts(of, (held[name],)) if name in held else ([],)
        return node

    def _next(self) -> int:
        self.count += 1
        return self.count - 1

    def _add(self, node: Any) -> int:
        return self._put(self._next(), node)

    def _later(self, number: int, value: object) -> int:
        self._open.append((number, value))
        return number

    def _put(self, number: int, node: Any) -> int:
        """Write a node; its number."""
        self._chunk += (number - self._last, node)
        self._last = number
        if len(self._chunk) >= _CHUNK:
            self.chunks.append(msgspec.msgpack.encode(self._chunk))
            self._chunk.clear()
        return number

    def _remade(self, number: int, tag: int, shape: Remade, value: Any) -> int:
        self._put(number, [tag, *self.parts(number, shape.take(value))])
        for name, inside in shape.inner(value).items():
            self._inner.setdefault(id(inside), (number, name))
        return number

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
