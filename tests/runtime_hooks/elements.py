"""Counts what the containers of the plugin hold, by where they are reached from."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from runtime_hooks.trace.journal import Journal

__all__ = ["elements"]

_CONTAINERS = (dict, list, set, frozenset, deque, tuple, bytearray)


def elements(root: object) -> Counter[str]:
    """How many elements there are in the containers of each attribute below an object of ours.

    Objects of others are not looked into, and a journal, which a thread empties, is not either.
    Equal attributes of several objects count together.
    """
    found: Counter[str] = Counter()
    seen, todo = {id(root)}, [(type(root).__name__, root)]
    while todo:
        name, value = todo.pop()
        if isinstance(value, _CONTAINERS):
            found[name] += len(value)
        for inner, child in _children(name, value):
            if id(child) not in seen:
                seen.add(id(child))
                todo.append((inner, child))
    return found


def _children(name: str, value: Any) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        yield from ((name, each) for each in (*value.keys(), *value.values()))
    elif isinstance(value, _CONTAINERS):
        yield from ((name, each) for each in value)
    elif isinstance(value, MethodType):
        yield name, value.__self__
    elif isinstance(value, partial):
        yield from ((name, each) for each in (value.func, *value.args))
    elif isinstance(value, FunctionType):
        for cell in value.__closure__ or ():
            yield name, cell.cell_contents
    elif isinstance(value, Journal):
        return
    elif type(value).__module__.startswith("runtime_hooks."):
        kind = type(value)
        slots = [s for base in kind.__mro__ for s in getattr(base, "__slots__", ())]
        for attribute in {*slots, *getattr(value, "__dict__", {})}:
            if hasattr(value, attribute):
                yield f"{kind.__name__}.{attribute}", getattr(value, attribute)
