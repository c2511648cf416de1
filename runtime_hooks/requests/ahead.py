"""Claims registered ahead: each waits for the first request whose prompt begins with its prefix.

Then it is decided on as if it had come with that request. Registering, releasing and listing are
for any thread; what follows happens on the engine's, when it next has a request or a step.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from runtime_hooks.requests.metadata import PREFIX, claim_of, namespace_of, object_of
from spec.language.errors import ClaimError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runtime_hooks.requests.arrivals import Arrival
    from spec.claims.claim import CacheIdentity, Mode, ResidentClaim

__all__ = ["MOST", "Ahead", "Prompt", "Ticket"]

MOST: Final = 1_000
"""Claims that may wait at a time."""

WAITING: Final = "waiting"
ACCEPTED: Final = "accepted"
REJECTED: Final = "rejected"
OVER: Final = "over"
_MOST_TOKENS: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prefix that a claim is for, as token ids, and the salt of its cache.

    Raises:
        ClaimError: these are no token ids.
    """

    token_ids: tuple[int, ...]
    salt: str = ""

    def __post_init__(self) -> None:
        ids = self.token_ids
        if len(ids) > _MOST_TOKENS or not all(type(i) is int and 0 <= i < 2**31 for i in ids):
            raise ClaimError("these are no token ids", f"give at most {_MOST_TOKENS} numbers")


@dataclass(slots=True, eq=False)
class Ticket:
    """A claim registered ahead: `state` is waiting, accepted, rejected or over."""

    claim_id: str
    owner_scope: str
    mode: Mode
    state: str = WAITING
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Waiting:
    ticket: Ticket
    stated: dict[str, Any]
    on: str  # the name of its prefix
    footprint: int
    named: bool  # of the prefix nothing but the name is known


class Ahead:
    """The claims that wait, and those of them that were decided on.

    Args:
        identity: of the engine's cache.
        keys_of: the contents of a prompt's whole blocks.
        take: decides on the claim that comes with an arrival; why it is turned away, or empty.
        release: gives a live claim up in its owner's name; why not, or empty.
    """

    def __init__(
        self,
        identity: CacheIdentity,
        keys_of: Callable[[Prompt], Sequence[bytes]],
        take: Callable[[Arrival], str],
        release: Callable[[str, str], str],
    ) -> None:
        self._identity, self._keys_of, self._take, self._release = identity, keys_of, take, release
        self._lock = threading.Lock()  # of the tickets, and of how many come
        self._tickets: dict[str, Ticket] = {}
        self._inbox: deque[tuple[Callable[[], str], Future[str]]] = deque()
        self._on: dict[str, dict[str, _Waiting]] = {}  # by prefix, then by claim
        self._footprints: Counter[int] = Counter()
        self._named = 0  # claims of which it is not known how long their prefix is

    # Any thread.

    def register(self, stated: Mapping[str, Any], prompt: Prompt | None = None) -> Ticket:
        """Have a claim wait for a request with its prefix.

        Args:
            stated: the claim as a request would state it.
            prompt: its prefix, where the claim does not name its object.

        Raises:
            ClaimError: it is no claim for this engine, says not of what, or one too many waits.
        """
        salt = "" if prompt is None else prompt.salt
        identity = self._identity.model_copy(update={"namespace": namespace_of(salt)})
        claim = claim_of(dict(stated), identity, ())
        if prompt is None and "object_id" not in stated:
            raise ClaimError("it does not say of which prompt", "give token ids, or its object_id")
        if prompt is None and not claim.object_id.startswith(PREFIX):
            raise ClaimError("its object_id is none of this engine's", "give token ids")
        ticket = Ticket(claim.claim_id, claim.owner_scope, claim.protection_mode)
        with self._lock:
            if ticket.claim_id in self._tickets:
                raise ClaimError(f"claim {ticket.claim_id} is registered already", "use a new id")
            if sum(each.state == WAITING for each in self._tickets.values()) >= MOST:
                raise ClaimError(f"{MOST} claims wait already", "release some of them")
            self._tickets[ticket.claim_id] = ticket
        self._inbox.append((partial(self._wait, ticket, dict(stated), claim, prompt), Future()))
        return ticket

    def release(self, claim_id: str, scope: str) -> Future[str]:
        """Give a claim up, whether it waits or lives; the result says why not, or is empty."""
        done: Future[str] = Future()
        self._inbox.append((partial(self._give_up, claim_id, scope), done))
        return done

    def tickets(self) -> tuple[Ticket, ...]:
        """The claims that wait, and those that live."""
        with self._lock:
            return tuple(self._tickets.values())

    # The engine's thread.

    @property
    def waiting(self) -> bool:
        """Whether any claim waits, or is about to."""
        return bool(self._on or self._inbox)

    def waits(self, claim_id: str) -> bool:
        """Whether a claim of this id waits: nobody else may use it."""
        ticket = self._tickets.get(claim_id)
        return ticket is not None and ticket.state == WAITING

    def drain(self) -> None:
        """Do what other threads asked for."""
        while self._inbox:
            act, done = self._inbox.popleft()
            if not done.set_running_or_notify_cancel():
                continue
            try:
                done.set_result(act())
            except Exception as fault:  # of what was asked for; the requests in hand go on
                done.set_exception(fault)

    def serve(self, arrival: Arrival) -> None:
        """A request came: decide on the claims that wait for its prefix."""
        self.drain()
        if arrival.no_admit or not self._on:
            return
        most = len(arrival.keys)
        sizes = range(1, most + 1) if self._named else [n for n in self._footprints if n <= most]
        found = [
            (size, each)
            for size in sizes
            for each in self._on.get(object_of(arrival.keys[size - 1]), {}).values()
        ]
        for size, each in found:
            self._forget(each)
            if size != each.footprint:
                reason = f"its object has {size} blocks, and the claim is for {each.footprint}"
                self._over(each.ticket, REJECTED, reason)
                continue
            each.ticket.state = ACCEPTED
            reason = self._take(replace(arrival, claim=each.stated, scope=None))
            if reason:
                self._over(each.ticket, REJECTED, reason)

    def ended(self, claim_id: str) -> None:
        """A claim is over, whosever it was."""
        ticket = self._tickets.get(claim_id)
        if ticket is not None and ticket.state == ACCEPTED:
            self._over(ticket, OVER)

    def close(self) -> None:
        """Nothing will be done any more of what was asked for."""
        while self._inbox:
            self._inbox.popleft()[1].cancel()

    def _wait(
        self, ticket: Ticket, stated: dict[str, Any], claim: ResidentClaim, prompt: Prompt | None
    ) -> str:
        size, on = claim.footprint_blocks, claim.object_id
        if prompt is not None:
            try:
                keys = self._keys_of(prompt)
            except Exception:
                self._over(ticket, REJECTED, "the engine cannot tell the blocks of its prompt")
                raise
            if size > len(keys):
                reason = f"the prompt has {len(keys)} whole blocks, and the claim is for {size}"
                self._over(ticket, REJECTED, reason)
                return reason
            on = object_of(keys[size - 1])
        each = _Waiting(ticket, stated, on, size, prompt is None)
        self._on.setdefault(on, {})[claim.claim_id] = each
        self._footprints[size] += 1
        self._named += each.named
        return ""

    def _give_up(self, claim_id: str, scope: str) -> str:
        if not self.waits(claim_id):
            return self._release(claim_id, scope)
        if self._tickets[claim_id].owner_scope != scope:
            return "the claim is not owned by who gives it up"
        (each,) = (waiting[claim_id] for waiting in self._on.values() if claim_id in waiting)
        self._forget(each)
        self._over(each.ticket, OVER)
        return ""

    def _forget(self, each: _Waiting) -> None:
        """The claim waits no more."""
        waiting = self._on[each.on]
        del waiting[each.ticket.claim_id]
        if not waiting:
            del self._on[each.on]
        self._named -= each.named
        self._footprints[each.footprint] -= 1
        if not self._footprints[each.footprint]:
            del self._footprints[each.footprint]

    def _over(self, ticket: Ticket, state: str, reason: str = "") -> None:
        with self._lock:
            del self._tickets[ticket.claim_id]
        ticket.reason, ticket.state = reason, state
