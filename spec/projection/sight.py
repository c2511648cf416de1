"""Defines the arguments of field definitions: an event with its pool, and for one claim."""

from __future__ import annotations

from dataclasses import dataclass, field

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.events.fields import REQUEST_KINDS
from spec.projection.pool import Claim, Pool, attributed, in_hand
from spec.projection.room import Cells, Sharing, cells, responsible_since_arrival

__all__ = ["Moment", "Sight"]


@dataclass
class Moment:
    """An event of the stream: the pool before it, and the pool with the blocks as they are after.

    `mode` is the mode that judges, `time_ns` the stream's time. `binds` says that the event, if it
    names a claim, means its object.
    """

    pool: Pool
    later: Pool
    event: Event
    mode: Mode
    time_ns: int | None = None
    binds: bool = True
    _rooms: dict[tuple[Sharing, str | None], Cells] = field(default_factory=dict)

    def room(self, sharing: Sharing, since: str | None = None) -> Cells:
        """The blocks that the responsible claims take, or those that were there since a request
        arrived.
        """
        if (sharing, since) not in self._rooms:
            among = None if since is None else responsible_since_arrival(self.pool, since)
            self._rooms[sharing, since] = cells(self.pool, sharing, among)
        return self._rooms[sharing, since]

    @property
    def kind(self) -> Kind:
        """The kind of the event."""
        return self.event.kind

    @property
    def belongs(self) -> str | None:
        """The request that the event belongs to, as far as that is known."""
        if self.kind not in REQUEST_KINDS | {Kind.BLOCK_CACHED}:
            return None
        requests = attributed(self.pool, self.event)
        return requests[0] if len(requests) == 1 else None

    @property
    def others_unsure(self) -> bool:
        """Whether the needs of some other unfinished request are unknown."""
        name = self.event.request_id
        return any(other.unsure for n, other in in_hand(self.pool).items() if n != name)


@dataclass(frozen=True)
class Sight:
    """An event for one claim, at one end of the interval of what is unknown.

    `binds` says that the event, if it names the claim, means its object. `sharing` is the end of
    what may be one block.
    """

    moment: Moment
    claim: Claim
    binds: bool = True
    sharing: Sharing = Sharing.LEAST

    @property
    def event(self) -> Event:
        """The event."""
        return self.moment.event

    @property
    def pool(self) -> Pool:
        """The pool before the event."""
        return self.moment.pool

    @property
    def later(self) -> Pool:
        """The pool after the event."""
        return self.moment.later
