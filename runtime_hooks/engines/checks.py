"""Checks that an engine has the methods and attributes that its adapter was tried with."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Hook", "Point", "Reads", "faults"]


@dataclass(frozen=True, slots=True)
class Hook:
    """A hooked method: `path` is `module:Class.method`, `takes` the names of its parameters.

    `sees` says what the plugin observes there, `does` what it enforces there.
    """

    path: str
    takes: tuple[str, ...]
    sees: str = ""
    does: str = ""

    @property
    def name(self) -> str:
        """The class and the method."""
        return self.path.partition(":")[2]

    def fault(self) -> str:
        """How it differs in the installed engine; empty where it does not."""
        found, fault = _find(self.path)
        if fault:
            return fault
        takes = tuple(inspect.signature(found).parameters)
        if takes != self.takes:
            return f"it takes ({', '.join(takes)}), and was tried with ({', '.join(self.takes)})"
        return ""


@dataclass(frozen=True, slots=True)
class Reads:
    """A class of the engine, `module:Class`, and the attributes that are read of its objects."""

    path: str
    names: tuple[str, ...]
    does: str = ""

    @property
    def name(self) -> str:
        """The class."""
        return self.path.partition(":")[2]

    @property
    def sees(self) -> str:
        """The attributes."""
        return ", ".join(self.names)

    def fault(self) -> str:
        """How it differs in the installed engine; empty where it does not."""
        found, fault = _find(self.path)
        if fault:
            return fault
        absent = sorted(name for name in self.names if not _has(found, name))
        return f"its objects have no {', '.join(absent)}" if absent else ""


Point: TypeAlias = Hook | Reads
"""A part of the engine that must be as it was tried."""


def faults(points: Iterable[Point]) -> dict[str, str]:
    """The parts that differ, each with the difference."""
    return {point.name: fault for point in points if (fault := point.fault())}


def _find(path: str) -> tuple[Any, str]:
    """The object at a path, and why there is none."""
    module, _, rest = path.partition(":")
    try:
        found: Any = import_module(module)
    except ImportError as error:
        return None, f"{module} cannot be imported: {error}"
    for part in rest.split("."):
        found = getattr(found, part, None)
        if found is None:
            return None, f"there is no {part} in {module}"
    return found, ""


def _has(kind: type, name: str) -> bool:
    """Whether objects of this class have an attribute: of the class, as a field, or set on `self`
    by one of its methods.
    """
    return hasattr(kind, name) or any(
        name in vars(base).get("__annotations__", ())
        or name in _set(base.__module__).get(base.__name__, ())
        for base in kind.__mro__
    )


@cache
def _set(module: str) -> dict[str, frozenset[str]]:
    """The attributes that the methods of each class of a module set on `self`."""
    try:
        tree = ast.parse(inspect.getsource(import_module(module)))
    except (OSError, TypeError):  # it has no source
        return {}
    return {
        kind.name: frozenset(
            node.attr
            for node in ast.walk(kind)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            if isinstance(node.value, ast.Name) and node.value.id == "self"
        )
        for kind in ast.walk(tree)
        if isinstance(kind, ast.ClassDef)
    }
