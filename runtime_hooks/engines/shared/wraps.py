"""Wraps methods of one engine's objects, and keeps faults of the plugin away from the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_hooks.controller.controller import Controller

__all__ = ["Wraps"]


class Wraps:
    """The wrapped methods of one engine; no class of the engine is changed."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._wrapped: list[tuple[object, str]] = []

    def put(self, owner: object, name: str, make: Callable[[Any], Callable[..., Any]]) -> None:
        """Replace a method of this object by what `make` returns for it."""
        setattr(owner, name, make(getattr(owner, name)))
        self._wrapped.append((owner, name))

    def remove(self) -> None:
        """Restore every method."""
        while self._wrapped:
            owner, name = self._wrapped.pop()
            delattr(owner, name)

    def attempt(self, hook: str, act: Callable[..., object], *args: Any) -> None:
        """Call a function of the plugin; an exception is noted, and leaves a gap in the stream."""
        try:
            act(*args)
        except Exception as fault:
            self._controller.faults.note(hook, fault)
            self._controller.fail()
