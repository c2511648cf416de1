"""Registers claims before their requests: each waits for the first prompt with its prefix.

The claim is then decided on as if it had come with that request. Any thread may register, release
and list claims. The engine's thread carries this out when the next request arrives or the next step
begins.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from runtime_hooks.claims.metadata import aside_ahead, claim_of, resume_of
from runtime_hooks.trace.names import PREFIX, namespace_of, object_of
from spec.language.errors import ClaimError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future

    from runtime_hooks.claims.arrivals import Arrival, Prompt
    from runtime_hooks.claims.inbox import Inbox
    from runtime_hooks.claims.metadata import ModeChange
    from runtime_hooks.claims.qualified import ClaimNames
    from spec.claims.claim import CacheIdentity, ResidentClaim
    from spec.claims.states import Mode

__all__ = ["MOST", "Preregistration", "Ticket"]

MOST: Final = 1_000
"""The most claims that may wait at a time."""

WAITING: Final = "waiting"
ACCEPTED: Final = "accepted"
REJECTED: Final = "rejected"
OVER: Final = "over"


@dataclass(slots=True, eq=False)
class Ticket:
    """A claim that was registered ahead: `state` is waiting, accepted, rejected or over.

    `claim_id` is the engine's id, `reason` says why it was rejected.
    """

    claim_id: str
    owner_scope: str
    mode: Mode
    state: str = WAITING
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Waiting:
    ticket: Ticket
    stated: dict[str, Any]
    object_id: str  # of its prefix
    footprint: int
    named: bool  # only the object id of its prefix is known
    changed: Callable[[], dict[str, str]]  # the terms that are others when it is decided on


class Preregistration:
    """The claims that wait, and the live claims that waited.

    `over` is called with the id of each that waits or lives no more.

    Args:
        identity: of the engine's cache.
        names: of its claims.
        keys_of: computes the contents of a prompt's whole blocks.
        admit: decides on the claim of an arrival; returns why it was rejected, or empty.
        release: releases a live claim in its owner's name; returns why not, or empty.
        change_mode: has a claim of another mode follow a live one; returns why not, or empty.
        inbox: hands the calls of other threads to the engine's.
    """

    def __init__(
        self,
        identity: CacheIdentity,
        names: ClaimNames,
        keys_of: Callable[[Prompt], Sequence[bytes]],
        admit: Callable[[Arrival], str],
        release: Callable[[str, str], str],
        change_mode: Callable[[ModeChange], str],
        inbox: Inbox,
    ) -> None:
        self._identity, self._names, self._keys_of = identity, names, keys_of
        self._admit, self._release, self._inbox = admit, release, inbox
        self._change_mode = change_mode
        self.over: Callable[[str], None] = lambda claim_id: None
        self._lock = threading.Lock()  # guards the tickets
        self._tickets: dict[str, Ticket] = {}
        self._waiting: dict[str, dict[str, _Waiting]] = {}  # by object id, then by claim id
        self._footprints: Counter[int] = Counter()
        self._named = 0  # waiting claims whose prefix is of unknown length

    # Any thread.

    @property
    def closed(self) -> bool:
        """Whether the engine has ended, or is not hooked any more."""
        return self._inbox.closed

    def parse(self, stated: Mapping[str, Any], prompt: Prompt | None) -> ResidentClaim:
        """The claim of this engine that is stated on a prompt.

        Raises:
            ClaimError: this is not a claim for this engine.
        """
        terms, _ = resume_of(aside_ahead(dict(stated)))
        salt = "" if prompt is None else prompt.salt
        identity = self._identity.model_copy(update={"namespace": namespace_of(salt)})
        return self._names.of_engine(claim_of(terms, identity, ()))

    def register(self, stated: Mapping[str, Any], prompt: Prompt | None = None) -> Ticket:
        """Register a claim, which waits for a request with its prefix.

        Args:
            stated: the claim as a request would state it.
            prompt: its prompt; None where the claim names its object id.

        Raises:
            ClaimError: this is not a claim for this engine, it names no prompt, or too many wait.
        """
        about = self._ticket(stated, prompt)
        self._inbox.put(partial(self._add, *about, prompt))
        return about[0]

    def _ticket(
        self, stated: Mapping[str, Any], prompt: Prompt | None
    ) -> tuple[Ticket, dict[str, Any], ResidentClaim]:
        """A claim that is registered; with its ticket, and what is stated of it."""
        terms, claim = aside_ahead(dict(stated)), self.parse(stated, prompt)
        if prompt is None and "object_id" not in terms:
            raise ClaimError("it names no prompt", "give token ids, or its object_id")
        if prompt is None and not claim.object_id.startswith(PREFIX):
            raise ClaimError("its object_id is not one of this engine", "give token ids")
        ticket = Ticket(claim.claim_id, claim.owner_scope, claim.protection_mode)
        with self._lock:
            if ticket.claim_id in self._tickets:
                raise ClaimError(f"claim {ticket.claim_id} is registered already", "use a new id")
            if sum(each.state == WAITING for each in self._tickets.values()) >= MOST:
                raise ClaimError(f"{MOST} claims wait already", "release some of them")
            self._tickets[ticket.claim_id] = ticket
        return ticket, terms, claim

    def release(self, claim_id: str, scope: str) -> Future[str]:
        """Release a waiting or live claim, by its owner's id; the result is empty, or why not."""
        return self._inbox.put(partial(self._release_now, claim_id, scope))

    def change_mode(self, asked: ModeChange) -> Future[str]:
        """Have a claim of another mode follow a live one; the result is empty, or why not."""
        return self._inbox.put(partial(self._change_mode, asked))

    def tickets(self) -> tuple[Ticket, ...]:
        """The claims that wait, and the live ones that waited."""
        with self._lock:
            return tuple(self._tickets.values())

    # The engine's thread.

    @property
    def waiting(self) -> bool:
        """Whether any claim waits, or a call of another thread does."""
        return bool(self._waiting or self._inbox)

    def is_waiting(self, claim_id: str) -> bool:
        """Whether a claim of this id waits: no other claim may use the id."""
        ticket = self._tickets.get(claim_id)
        return ticket is not None and ticket.state == WAITING

    def serve(self, arrival: Arrival) -> None:
        """A request arrived: decide on the claims that wait for its prefix."""
        self._inbox.drain()
        if arrival.no_admit or not self._waiting:
            return
        most = len(arrival.keys)
        sizes = range(1, most + 1) if self._named else [n for n in self._footprints if n <= most]
        found = [
            (size, each)
            for size in sizes
            for each in self._waiting.get(object_of(arrival.keys[size - 1]), {}).values()
        ]
        for size, each in found:
            if each.ticket.state != WAITING:
                continue  # its duration was over while another one was decided on
            self._forget(each)
            if size != each.footprint:
                reason = f"its object has {size} blocks, and the claim is for {each.footprint}"
                self._end(each.ticket, REJECTED, reason)
                continue
            each.ticket.state = ACCEPTED
            stated = {**each.stated, **each.changed()}
            reason = self._admit(replace(arrival, claim=stated, scope=None))
            if reason:
                self._end(each.ticket, REJECTED, reason)

    def ended(self, claim_id: str) -> None:
        """A claim ended, a preregistered one or not."""
        ticket = self._tickets.get(claim_id)
        if ticket is not None and ticket.state == ACCEPTED:
            self._end(ticket, OVER)

    def withdraw(self, claim_id: str, reason: str) -> None:
        """End the wait of a claim, for this reason."""
        (each,) = (waiting[claim_id] for waiting in self._waiting.values() if claim_id in waiting)
        self._forget(each)
        self._end(each.ticket, OVER, reason)

    def add(
        self, stated: Mapping[str, Any], prompt: Prompt, changed: Callable[[], dict[str, str]]
    ) -> None:
        """Register a claim at once.

        Args:
            changed: the terms that are others when it is decided on.

        Raises:
            ClaimError: as `register` does, or the prompt is too short.
        """
        if why := self._add(*self._ticket(stated, prompt), prompt, changed):
            raise ClaimError(why)

    def prefix(self, claim: ResidentClaim, prompt: Prompt) -> str:
        """The object id of the prefix of a claim on a prompt.

        Raises:
            ClaimError: the prompt is shorter.
        """
        keys, size = self._keys_of(prompt), claim.footprint_blocks
        if size > len(keys):
            raise ClaimError(
                f"the prompt has {len(keys)} whole blocks, and the claim is for {size}"
            )
        return object_of(keys[size - 1])

    def _add(
        self,
        ticket: Ticket,
        stated: dict[str, Any],
        claim: ResidentClaim,
        prompt: Prompt | None,
        changed: Callable[[], dict[str, str]] = dict,
    ) -> str:
        size, object_id = claim.footprint_blocks, claim.object_id
        if prompt is not None:
            try:
                object_id = self.prefix(claim, prompt)
            except ClaimError as error:
                self._end(ticket, REJECTED, str(error))
                return str(error)
            except Exception:
                self._end(ticket, REJECTED, "the engine cannot compute the blocks of its prompt")
                raise
        each = _Waiting(ticket, stated, object_id, size, prompt is None, changed)
        self._waiting.setdefault(object_id, {})[claim.claim_id] = each
        self._footprints[size] += 1
        self._named += each.named
        return ""

    def _release_now(self, claim_id: str, scope: str) -> str:
        engine_id = self._names.engine_id(claim_id, scope)
        if not self.is_waiting(engine_id):
            return self._release(claim_id, scope)
        if self._tickets[engine_id].owner_scope != scope:
            return "the claim is not owned by who gives it up"
        self.withdraw(engine_id, "")
        return ""

    def _forget(self, each: _Waiting) -> None:
        """Remove a claim that waited."""
        waiting = self._waiting[each.object_id]
        del waiting[each.ticket.claim_id]
        if not waiting:
            del self._waiting[each.object_id]
        self._named -= each.named
        self._footprints[each.footprint] -= 1
        if not self._footprints[each.footprint]:
            del self._footprints[each.footprint]

    def _end(self, ticket: Ticket, state: str, reason: str = "") -> None:
        with self._lock:
            del self._tickets[ticket.claim_id]
        ticket.reason, ticket.state = reason, state
        self.over(ticket.claim_id)
