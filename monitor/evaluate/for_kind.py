"""Holds the functions of one bundle for events of one kind."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from monitor.evaluate.by_kind import ledgers_for, step_for, unmoved
from monitor.evaluate.inlined import Inlined, inlined
from monitor.evaluate.reading import reader

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from monitor.evaluate.observer_state import Registers
    from monitor.evaluate.reading import Reader
    from spec.events.alphabet import Kind
    from spec.language.machine import Observer

__all__ = ["ForKind"]


class ForKind:
    """The functions of one bundle for events of one kind, each made when it is first needed.

    Arguments and results of `claim`, `request`, `contradicts` and `steps` are those of
    `monitor.evaluate.compile.Compiled`. The first three are None where an event of this kind
    changes no register and breaks no assumption.

    Args:
        whole: the functions for any kind, which are used in their place; `about` and `beside` are
            not made of them.
    """

    def __init__(
        self, observers: tuple[Observer, ...], kind: Kind, whole: tuple[Any, ...] | None = None
    ) -> None:
        self._observers, self._kind = observers, kind
        self.claim: Callable[..., Registers] | None
        self.request: Callable[..., Registers] | None
        self.contradicts: Callable[..., int] | None
        self.claim, self.request, self.contradicts = whole[:3] if whole else ledgers_for(kind)
        if whole:
            self.steps = whole[3]

    @cached_property
    def about(self) -> Inlined:
        """For events that name the claim and are about it."""
        return inlined(self._observers, self._kind, about=True)

    @cached_property
    def beside(self) -> Inlined:
        """For events that do not name the claim and are not about it."""
        return inlined(self._observers, self._kind, about=False)

    @cached_property
    def reads_about(self) -> Reader:
        """What is read of an event that names the claim and is about it."""
        return reader(self._observers, self._kind, about=True)

    @cached_property
    def reads_beside(self) -> Reader:
        """What is read of an event that does not name the claim and is not about it."""
        return reader(self._observers, self._kind, about=False)

    @cached_property
    def steps(self) -> tuple[Callable[..., tuple[int, Registers, int]], ...]:
        """Each observer's step; `unmoved` where no rule applies to the kind."""
        return tuple(step_for(observer, self._kind) for observer in self._observers)

    @cached_property
    def movers(self) -> tuple[tuple[int, int], ...]:
        """The places of the observers that may move, twice each."""
        return tuple((i, i) for i, step in enumerate(self.steps) if step is not unmoved)

    @cached_property
    def scoped(self) -> tuple[tuple[int, int], ...]:
        """Those of them that are followed for each request: their places there, and in all."""
        places = [i for i, observer in enumerate(self._observers) if observer.per_request]
        moving = {place for place, _ in self.movers}
        return tuple((at, place) for at, place in enumerate(places) if place in moving)
