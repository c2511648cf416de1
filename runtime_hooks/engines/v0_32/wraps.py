"""Methods of one engine's objects, wrapped and unwrapped; what fails in a wrapper stays there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtime_hooks.faults import Faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_hooks.custody.keeper import Keeper

__all__ = ["Wraps"]


class Wraps:
    """The wrapped methods of one engine, whose objects alone are changed."""

    def __init__(self, keeper: Keeper) -> None:
        self.faults = Faults()
        self._keeper = keeper
        self._wrapped: list[tuple[object, str]] = []

    def put(self, owner: object, name: str, make: Callable[[Any], Callable[..., Any]]) -> None:
        """Replace a method of this object by what `make` makes of it."""
        setattr(owner, name, make(getattr(owner, name)))
        self._wrapped.append((owner, name))

    def remove(self) -> None:
        """Every method is the engine's own again."""
        while self._wrapped:
            owner, name = self._wrapped.pop()
            delattr(owner, name)

    def attempt(self, hook: str, act: Callable[..., object], *args: Any) -> None:
        """Do something of ours: if it fails the engine does not notice, and every reader does."""
        try:
            act(*args)
        except Exception as fault:
            self.faults.note(hook, fault)
            self._keeper.fail()
