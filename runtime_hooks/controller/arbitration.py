"""Decides which requests run beside the claims, which wait and which are refused."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec.structs import replace

from runtime_hooks.claims.arrivals import Refusal
from runtime_hooks.claims.capacity import blockers, in_conflict, proof
from runtime_hooks.claims.entry import owners_of
from runtime_hooks.trace.names import name_of
from spec.claims.states import Mode
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from runtime_hooks.claims.arrivals import Arrival
    from runtime_hooks.claims.entry import Entry
    from runtime_hooks.claims.registry import Registry
    from runtime_hooks.settings.config import Settings
    from runtime_hooks.trace.emitter import Emitter
    from runtime_hooks.tracking.ledger import Ledger

__all__ = ["Arbitration", "SizedPool"]

_NS: Final = 1_000_000_000


class SizedPool(Protocol):
    """What arbitration needs of the engine's block pool."""

    @property
    def usable(self) -> int:
        """The blocks of the pool without the null block."""


@dataclass(slots=True)
class _Request:
    """A request that has not ended.

    `needed` is the need that was stated, in blocks. `bounded` says that its output was bounded to
    the blocks of its `arrival`. `until` is the time in ns when its wait is
    over. `decided_at` is the registry's version when it was last decided on, `reported_at` that
    when an action on it was last reported, and `reported` is that action.
    """

    arrival: Arrival
    needed: int
    bounded: bool = False
    until: int = 0
    decided_at: int = -1
    reported_at: int = -1
    reported: Kind | None = None


class Arbitration:
    """The unfinished requests of one engine, and the decisions on those that do not fit.

    `ending` is a request that has ended, while what came with it is decided on.

    Args:
        ledger: of the claims that can keep a request out.
        end: ends a claim in the given way.
    """

    def __init__(
        self,
        settings: Settings,
        pool: SizedPool,
        registry: Registry,
        ledger: Ledger,
        emitter: Emitter,
        end: Callable[[Entry, Kind], None],
    ) -> None:
        self._defer_ns = int(settings.defer_s * _NS)
        self._bounds = settings.unlimited == "bound"
        self._refuses_oversized = settings.never_fits == "refuse"
        self._usable, self._registry, self._ledger = pool.usable, registry, ledger
        self._emitter, self._end = emitter, end
        self._running: dict[str, _Request] = {}
        self._waiting: dict[str, _Request] = {}
        self._refused: dict[str, _Request] = {}  # until the engine ends them
        self.ending = ""

    # Decisions.

    def run(self, arrival: Arrival) -> None:
        """A request arrived that no claim can keep out."""
        request = self._running[arrival.request_id] = _Request(arrival, arrival.blocks)
        self._state(request)

    def decide(self, arrival: Arrival) -> tuple[bool, Refusal | None, int]:
        """Decide on a request that arrived.

        Returns:
            Whether it may run now; its refusal, if it is refused now; and the blocks to which its
            output is bounded, if it is. If it may not run and is not refused, it waits.
        """
        if self.never_fits(arrival):
            request = _Request(arrival, arrival.certain)
            self._state(request)
            return False, self._refuse(request), 0
        request = _Request(arrival, self._need(arrival))
        yielding = self._yielding_for(request)
        if yielding is None and (bound := self._room_for(arrival)):
            self._state(request)
            self._bound(request, bound)
            return True, None, bound
        waits = self._defer_ns and arrival.blocks <= self._usable
        if yielding is None and waits:
            request.needed = arrival.blocks  # the claims that it shares with may end meanwhile
        self._state(request)
        if yielding is not None:
            self._let_run(request, yielding)
            return True, None, 0
        request.until = self._emitter.now_ns + self._defer_ns
        if waits:
            self._report(Kind.REQUEST_DEFERRED, request)
            self._waiting[arrival.request_id] = request
            return False, None, 0
        return False, self._refuse(request), 0

    def decide_again(self) -> tuple[list[str], list[Refusal]]:
        """Decide on the requests that wait: the ids of those that may run now, and refusals.

        `bound_of` says which of those that may run were bounded.
        """
        run: list[str] = []
        refusals: list[Refusal] = []
        for request_id, request in list(self._waiting.items()):
            late = request.until <= self._emitter.now_ns
            if request.decided_at == self._registry.version and not late:
                continue
            if (yielding := self._yielding_for(request)) is not None:
                self._let_run(request, yielding)
                run.append(request_id)
            elif bound := self._room_for(request.arrival):
                self._bound(request, bound)
                run.append(request_id)
            elif late:
                refusals.append(self._refuse(request))
            else:
                continue
            del self._waiting[request_id]
        return run, refusals

    def refuse_stuck(self, arrival: Arrival) -> Refusal | None:
        """Refuse a running request that gets no blocks although only claims use blocks.

        Its need was misjudged or was not observed, or its tokens now need more blocks than the pool
        has, so this leaves a gap in the stream. None where neither that nor claims are the reason.
        """
        never, declared = self.never_fits(arrival), len(self._registry.declared)
        for needed in (arrival.certain,) if never else (self._need(arrival), arrival.blocks):
            if never or in_conflict(declared, needed, self._usable):
                self._emitter.gap()
                request = self._refused[arrival.request_id] = _Request(arrival, needed)
                if self._running.pop(arrival.request_id, None) is None:
                    self._state(request)
                return self._report(Kind.REQUEST_REFUSED, request)
        return None

    def finish(self, request_id: str) -> None:
        """A request ended, in whatever way."""
        running = self._running.pop(request_id, None)
        stopped = self._waiting.pop(request_id, None) or self._refused.pop(request_id, None)
        if stopped is None and running is not None and running.bounded:
            stopped = running
        if stopped is not None:
            self._report_again(stopped)

    def restate(self) -> None:
        """State the unfinished requests again, and the actions on those that do not fit."""
        for some in (self._running, self._waiting, self._refused):
            for request in some.values():
                self._state(request)
                declared = len(self._registry.declared)
                if request.reported and in_conflict(declared, request.needed, self._usable):
                    self._emitter.report(request.reported, **self._blame(request)[1])

    # What others ask.

    @property
    def unfinished(self) -> list[str]:
        """The ids of all unfinished requests."""
        return [*self._running, *self._waiting, *self._refused]

    def is_unfinished(self, request_id: str) -> bool:
        """Whether a request arrived and has not ended."""
        return any(request_id in some for some in (self._running, self._waiting, self._refused))

    def bound_of(self, request_id: str) -> int:
        """The blocks to which a running request is bounded; 0 where it is not."""
        request = self._running.get(request_id)
        return request.arrival.blocks if request is not None and request.bounded else 0

    def largest_need(self) -> int:
        """The most blocks that any running request needs besides those of claims.

        Of each request both the need that was stated and the need as claims stand now count; of one
        that was bounded, what it was bounded to. That of `ending` does not count: a pin is on the
        blocks that it has.
        """
        needs = (
            max(0 if r.bounded else r.needed, self._need(r.arrival))
            for request_id, r in self._running.items()
            if request_id != self.ending
        )
        return max(needs, default=0)

    def never_fits(self, arrival: Arrival) -> bool:
        """Whether a request is to be refused because it needs more blocks than the pool has."""
        return self._refuses_oversized and arrival.certain > self._usable

    def fewest(self, arrival: Arrival) -> int:
        """The fewest blocks with which a request can be served."""
        return arrival.least if self._bounds and arrival.least else arrival.blocks

    def need_with(self, arrival: Arrival) -> int:
        """The fewest blocks that a request needs besides those that it shares with claims."""
        return self.fewest(arrival) - (arrival.blocks - self._need(arrival))

    def demotable(self) -> list[Entry]:
        """The claims that may be demoted."""
        return [
            entry
            for entry in self._registry.live.values()
            if entry.claim.protection_mode is Mode.DEMOTABLE and self._registry.enforces(entry)
        ]

    # How it is decided.

    def _need(self, arrival: Arrival) -> int:
        """The blocks that a request needs besides those that it shares with claims."""
        keys = arrival.keys[: arrival.reusable]
        return arrival.blocks - self._ledger.spared(keys, cached=not arrival.no_admit)

    def _room_for(self, arrival: Arrival) -> int:
        """The blocks of a request whose output has no limit, so that it fits beside the claims; 0
        where its output has a limit, or too few are left.
        """
        if not (self._bounds and arrival.least):
            return 0
        over = len(self._registry.reserved) + self._need(arrival) - self._usable
        room = arrival.blocks - over
        return room if room >= arrival.least else 0

    def _yielding_for(self, request: _Request) -> list[Entry] | None:
        """The claims to demote so that the request fits; None where it does not fit even then.

        A claim that shares blocks with the request does not yield: the request would need its
        blocks itself.
        """
        request.decided_at = self._registry.version
        needed, reserved = self._need(request.arrival), self._registry.reserved
        if not in_conflict(len(reserved), needed, self._usable):
            return []
        shared = self._ledger.on(request.arrival.keys)
        yielding = [entry for entry in self.demotable() if entry not in shared]
        return blockers(yielding, reserved, len(reserved) + needed - self._usable) or None

    def _let_run(self, request: _Request, yielding: Sequence[Entry]) -> None:
        """Let a request run, after the demotion of these claims."""
        for entry in yielding:
            self._end(entry, Kind.CLAIM_DEMOTED)
        self._report_again(request)
        self._running[request.arrival.request_id] = request

    def _bound(self, request: _Request, blocks: int) -> None:
        """Let a request run whose output is bounded so that it uses no more than these blocks."""
        self._report(Kind.REQUEST_BOUNDED, request)
        request.arrival, request.bounded = replace(request.arrival, blocks=blocks), True
        self._running[request.arrival.request_id] = request

    def _refuse(self, request: _Request) -> Refusal:
        self._refused[request.arrival.request_id] = request
        movable = request.arrival.elsewhere and not request.arrival.asks
        if movable and not self.never_fits(request.arrival):
            found = self._report(Kind.REQUEST_ROUTED_ELSEWHERE, request)
            return dataclasses.replace(found, elsewhere=True)
        return self._report(Kind.REQUEST_REFUSED, request)

    # What is reported of it.

    def _state(self, request: _Request) -> None:
        """State what a request needs."""
        self._emitter.fact(
            Kind.REQUEST_ARRIVED,
            request_id=name_of(request.arrival.request_id),
            needed=request.needed,
            usable=self._usable,
        )

    def _report(self, action: Kind, request: _Request) -> Refusal:
        """Report the action on a request that does not fit, and the claims that block it."""
        request.reported_at, request.reported = self._registry.version, action
        refusal, fields = self._blame(request)
        if refusal.never_fits:
            fields["reason"] = f"it needs {request.needed} of {self._usable} blocks"
        self._emitter.report(action, **fields)
        return refusal

    def _blame(self, request: _Request) -> tuple[Refusal, dict[str, Any]]:
        """The claims that block a request as they are now, and the fields of the report."""
        request_id, needed = request.arrival.request_id, request.needed
        declared = len(self._registry.declared)
        blocking: Iterable[Entry] = (e for e in self._registry.live.values() if not e.watched)
        named = blockers(blocking, self._registry.declared, declared + needed - self._usable)
        ids, sums = tuple(e.claim_id for e in named), proof(declared, needed, self._usable)
        fields = {"request_id": name_of(request_id), "blocking_claim_ids": ids, "proof": sums}
        return Refusal(request_id, ids, sums, owners_of(named)), fields

    def _report_again(self, request: _Request) -> None:
        """Report the last action on a request once more if other claims block it by now."""
        declared = len(self._registry.declared)
        conflict = in_conflict(declared, request.needed, self._usable)
        if conflict and request.reported and request.reported_at != self._registry.version:
            self._report(request.reported, request)
