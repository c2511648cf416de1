"""Lists what a snapshot may contain: classes, with the fields that each declares."""

from __future__ import annotations

import dataclasses
import dis
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Known", "Remade", "Shape", "Way", "derived_of", "name_of"]

Way: TypeAlias = Literal["enum", "tuple", "frozen", "changing", "plain"]
"""How objects of a class are made: of an enumeration by its value; `tuple` and `frozen` with all
fields at once; `changing` (a Struct) and `plain` before their fields, which may lead back to them.
"""


class Shape(NamedTuple):
    """A class, how its objects are made, and its fields; those after `required` may be absent.

    Fields that are `derived_of` others are left out.
    """

    kind: type
    way: Way
    fields: tuple[str, ...]
    required: int


def _nothing(_: Any) -> Mapping[str, object]:
    return {}


class Remade(NamedTuple):
    """Objects that are not stored: `take` gives what `make` makes the object of again.

    `inner` are parts of it, by names, that are not stored either: they are its parts again.
    """

    kind: type
    take: Callable[[Any], tuple[Any, ...]]
    make: Callable[..., Any]
    inner: Callable[[Any], Mapping[str, object]] = _nothing


class Known:
    """A table of what a snapshot may contain; all else is refused, written or read.

    Args:
        kinds: classes whose objects are stored by their fields, and classes of enumerations.
        remade: classes whose objects are made again from something else.
        constants: objects of which there is one in a process, by a name.
        beside: what else is known.
    """

    def __init__(
        self,
        kinds: Iterable[type],
        *,
        remade: Iterable[Remade] = (),
        constants: Mapping[str, object] | None = None,
        beside: Known | None = None,
    ) -> None:
        self.shapes = {name_of(kind): _shape(kind) for kind in kinds}
        self.remade = {name_of(each.kind): each for each in remade}
        self.constants = dict(constants or {})
        if beside is not None:
            self.shapes |= beside.shapes
            self.remade |= beside.remade
            self.constants |= beside.constants


def name_of(kind: type) -> str:
    """What a class is called in a snapshot."""
    return f"{kind.__module__}.{kind.__qualname__}"


def derived_of(kind: type) -> Mapping[str, object]:
    """The fields of a class that say in another way what others do, and what they are without it:
    those of its `DERIVED`.
    """
    derived: Mapping[str, object] = getattr(kind, "DERIVED", {})
    return derived


def _shape(kind: type) -> Shape:
    if issubclass(kind, Enum):
        return Shape(kind, "enum", ("value",), 1)
    if issubclass(kind, tuple):
        names = getattr(kind, "_fields", ())
        return Shape(kind, "tuple", names, len(names))
    if issubclass(kind, msgspec.Struct):
        names = kind.__struct_fields__
        frozen = kind.__struct_config__.frozen
        return Shape(kind, "frozen" if frozen else "changing", names, len(names))
    if dataclasses.is_dataclass(kind):
        every = dataclasses.fields(kind)
        if kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            names = tuple(each.name for each in every if each.init)
            return Shape(kind, "frozen", names, len(names))
        names = tuple(each.name for each in every)
    else:
        names = _assigned(kind)
    cached = (
        name
        for each in kind.__mro__
        for name, value in vars(each).items()
        if isinstance(value, cached_property)
    )
    return Shape(kind, "plain", (*names, *cached), len(names))


def _assigned(kind: type) -> tuple[str, ...]:
    """The attributes of a class: those of a compiled one, its slots, or what `__init__` assigns."""
    names: set[str] = set()
    for each in kind.__mro__:
        own = vars(each)
        if (found := own.get("__mypyc_attrs__", own.get("__slots__"))) is not None:
            names.update((found,) if isinstance(found, str) else found)
        elif (code := getattr(own.get("__init__"), "__code__", None)) is not None:
            stored = (i.argval for i in dis.get_instructions(code) if i.opname == "STORE_ATTR")
            names.update(stored)
    names = {name for name in names if not name.startswith("__")} - derived_of(kind).keys()
    return tuple(sorted(names | set(getattr(kind, "OPENED", ()))))
