"""Tracks requests: from the first event that names one to its end."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import Final

from spec.events.alphabet import CONFLICT_ACTIONS, Kind
from spec.events.canonical import Event
from spec.events.fields import RENEWS, REQUEST_KINDS
from spec.stream.breaks import Contradiction
from spec.stream.codes import Code

__all__ = ["OF_REQUESTS", "Request", "Requests"]

OF_REQUESTS: Final = REQUEST_KINDS | {Kind.BLOCK_CACHED}
"""The kinds that may name a request."""

_NOT_OVER: Final = CONFLICT_ACTIONS | {
    Kind.PREFIX_LOOKUP,
    Kind.PREFIX_REUSED,
    Kind.BLOCK_CACHED,
}
"""The kinds that a request which is over cannot have; they begin another request of its id where
arrivals are not observed.
"""

_ARRIVED: Final = Kind.REQUEST_ARRIVED
_FINISHED: Final = Kind.REQUEST_FINISHED
_BOUND: Final = _NOT_OVER | {_ARRIVED, _FINISHED}
"""The kinds that depend on whether the request is in hand, or over."""

_REMEMBERED: Final = 4_096
"""Requests that ended and are remembered."""


@dataclass(eq=False)
class Request:
    """One request. It is in hand from its arrival to its end; None is an unknown number of blocks.

    Attributes:
        since: the number of the event by which it arrived.
        failed: the claims of which a load failed for it.
        found: by claim, the blocks that its last look-up found.
        restated: whether it arrived before what is known begins.
    """

    name: str
    needed: int | None = 0
    usable: int | None = 0
    since: int = 0
    in_hand: bool = False
    failed: set[str] = field(default_factory=set)
    found: dict[str, int] = field(default_factory=dict)
    restated: bool = False


class Requests:
    """The requests of a stream that are not over, and the ids of those that are.

    Args:
        most: how many are followed, and how many ids are remembered.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._live: dict[str, Request] = {}
        self._over: OrderedDict[str, Request] = OrderedDict()
        self._needed = 0
        self._unknown = 0
        self.in_hand: dict[str, Request] = {}

    def __iter__(self) -> Iterator[Request]:
        return iter(self._live.values())

    def get(self, name: str | None) -> Request | None:
        """The request of this id that is not over."""
        return None if name is None else self._live.get(name)

    def ended(self, name: str) -> Request | None:
        """The last request of this id, if it has ended."""
        return self._over.get(name)

    def needs_of_others(self, request: Request | None) -> int | None:
        """What the other requests in hand need, all together."""
        own = request if request is not None and request.in_hand else None
        if self._unknown - (own is not None and own.needed is None):
            return None
        return self._needed - (0 if own is None else own.needed or 0)

    def of(self, name: str, event: Event, observes: Set[Kind]) -> Request | None:
        """The request that an event names, as it is before the event; a new one where it begins.

        Raises:
            Contradiction: the request cannot do or undergo that now.
        """
        kind, request, ended = event.kind, self._live.get(name), self._over.get(name)
        if kind in _BOUND:
            self._check(event, observes, over=ended is not None, in_hand=name in self.in_hand)
        if request is not None:
            return request
        if ended is not None:
            again = kind in _NOT_OVER and not event.repeats and _ARRIVED not in observes
            if kind not in RENEWS and not again:
                return ended
            del self._over[name]
        if kind is _FINISHED or (kind in CONFLICT_ACTIONS and event.repeats):
            return None
        if len(self._live) >= self._most:
            text = f"more than {self._most} requests are in hand"
            raise Contradiction(Code.REQUESTS_LIMIT, text)
        request = self._live[name] = Request(name)
        return request

    @staticmethod
    def _check(event: Event, observes: Set[Kind], *, over: bool, in_hand: bool) -> None:
        kind = event.kind
        arrivals, ends = _ARRIVED in observes, _FINISHED in observes
        if kind is _ARRIVED and in_hand and ends:
            text = "a request arrives that is still unfinished"
        elif kind is _FINISHED and not in_hand and arrivals:
            text = "a request ends that has not arrived or has already ended"
        elif kind in _NOT_OVER and over and arrivals and not event.repeats:
            text = f"{kind} is of a request that is over"
        elif kind in CONFLICT_ACTIONS and not in_hand and arrivals and not event.repeats:
            text = f"{kind} is of a request that has not arrived"
        else:
            return
        raise Contradiction(Code.REQUEST_CONTRADICTS, f"facts contradict: {text}")

    def arrive(self, request: Request, event: Event, number: int) -> None:
        """A request is in hand from now on."""
        self._count(request, -1)
        request.needed, request.usable = event.needed, event.usable
        request.since, request.in_hand = number, True
        request.restated = event.restated
        self.in_hand[request.name] = request
        self._count(request, 1)

    def finish(self, name: str) -> str | None:
        """A request is over; return the id that is forgotten for it, if any."""
        request = self._live.pop(name, None) or Request(name)
        self._count(request, -1)
        self.in_hand.pop(name, None)
        request.in_hand = False
        self._over[name] = request
        self._over.move_to_end(name)
        if len(self._over) > min(self._most, _REMEMBERED):
            return self._over.popitem(last=False)[0]
        return None

    def _count(self, request: Request, sign: int) -> None:
        if request.in_hand:
            self._needed += sign * (request.needed or 0)
            self._unknown += sign * (request.needed is None)
