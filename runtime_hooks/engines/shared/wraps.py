"""Wraps methods of one engine's objects, and keeps faults of the plugin away from the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from runtime_hooks.trace.faults import LOG

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_hooks.controller.controller import Controller

__all__ = ["Wraps"]

T = TypeVar("T")

_ABSENT: Final = object()
_MOST: Final = 16  # faults; a plugin that fails more often is disarmed


class Wraps:
    """The wrapped methods of one engine; no class of the engine is changed.

    `given_up` says why the plugin must be disarmed at the next moment at which that can be done;
    empty where it need not be. `dirty` says that a fault was noted and may have left something
    half done.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._wrapped: list[tuple[object, str, object]] = []  # with what the object itself had
        self._noted = 0
        self.given_up, self.dirty = "", False

    def put(self, owner: object, name: str, make: Callable[[Any], Callable[..., Any]]) -> None:
        """Replace a method of this object by what `make` returns for it."""
        before = vars(owner).get(name, _ABSENT)
        setattr(owner, name, make(getattr(owner, name)))
        self._wrapped.append((owner, name, before))

    def forget(self, owner: object) -> None:
        """The engine has dropped this object."""
        self._wrapped = [each for each in self._wrapped if each[0] is not owner]

    def remove(self) -> None:
        """Restore every method."""
        while self._wrapped:
            owner, name, before = self._wrapped.pop()
            if before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

    def attempt(self, hook: str, act: Callable[..., object], *args: Any) -> None:
        """Call a function of the plugin; an exception is noted, and leaves a gap in the stream."""
        try:
            act(*args)
        except Exception as fault:
            self.note(hook, fault)

    def instead(self, hook: str, usual: T, act: Callable[..., T], *args: Any) -> T:
        """Call a function whose answer changes what the engine does; where it fails, the answer
        that changes nothing, and the plugin is given up.
        """
        try:
            return act(*args)
        except Exception as fault:
            self.note(hook, fault, given_up=True)
            return usual

    def note(self, hook: str, fault: Exception, *, given_up: bool = False) -> None:
        """Note an exception, and leave a gap.

        Args:
            given_up: the plugin cannot go on after it.
        """
        self.dirty = True
        self._noted += 1
        self._controller.fail()
        self._controller.faults.note(hook, fault)
        if given_up:
            self.give_up(f"{hook} failed")
        elif self._noted > _MOST:
            self.give_up(f"hooks failed {self._noted} times")

    def give_up(self, why: str) -> None:
        """Have the plugin disarmed."""
        if not self.given_up:
            self.given_up = why
            LOG.error(
                "resident-claims is disarmed: %s; the engine goes on without it, its claims are "
                "no longer kept, and verdicts on the live ones are inconclusive",
                why,
            )
