"""Has claims followed by others on the same blocks: renewals, and changes of the mode.

By the contract the terms of a claim are fixed when it is accepted. So another claim follows: it is
accepted first, and then the owner's first claim is released; both in one moment of the engine's
thread (docs/decisions/0018, docs/decisions/0034).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from runtime_hooks.claims.entry import WATCHED
from runtime_hooks.claims.metadata import claim_of, mode_change_of, renewal_of
from spec.claims.durations import Duration
from spec.claims.lifecycle import is_escalation
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.language.errors import ClaimError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime_hooks.claims.arrivals import Arrival
    from runtime_hooks.claims.entry import Entry
    from runtime_hooks.claims.metadata import ModeChange, Renewal
    from runtime_hooks.claims.registry import Registry
    from spec.claims.claim import ResidentClaim

__all__ = ["NO_CLAIM", "Successors"]

NO_CLAIM: Final = "there is no live claim of that id that the caller owns"


class _Accept(Protocol):
    def __call__(self, claim: ResidentClaim, keys: tuple[bytes, ...], why: str) -> Entry:
        """Accept a claim for this reason."""


class Successors:
    """Decides on claims that follow others.

    `followed` is called with a claim and the one that its owner has follow it.

    Args:
        closed: why no claim of this id is accepted, or none at all; empty while it is.
        prepare: drops cached blocks that a claim on these contents could not use.
        accept: accepts a claim.
        reject: reports that a claim is rejected for this reason.
        end: ends a claim in the given way.
        largest_need: the most blocks that any unfinished request needs besides those of claims.
        tick: called when something happens outside of a request's arrival.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        closed: Callable[[ResidentClaim], str],
        prepare: Callable[[Sequence[bytes]], None],
        accept: _Accept,
        reject: Callable[[ResidentClaim, str], None],
        end: Callable[[Entry, Kind], None],
        largest_need: Callable[[], int],
        tick: Callable[[], None],
    ) -> None:
        self._registry, self._names = registry, registry.names
        self._closed, self._prepare = closed, prepare
        self._accept, self._reject, self._end = accept, reject, end
        self._largest_need, self._tick = largest_need, tick
        self.followed: Callable[[Entry, Entry], None] = lambda first, second: None

    def renew(self, arrival: Arrival) -> str:
        """Decide on a renewal that came with a request; returns why it is rejected, or empty.

        The successor has the same terms but for its id and its duration.
        """
        try:
            asked = renewal_of(arrival.renewal, arrival.scope)
            entry, follower = (self._own(i, asked.owner) for i in (asked.claim_id, asked.successor))
            if entry is None:
                return "" if self._was_renewed(follower, asked) else NO_CLAIM
            if entry.claim.duration is None:
                return "it has no duration"
            duration = asked.duration or str(entry.claim.duration)
            claim = self._successor(entry, asked.successor, arrival.scope, duration=duration)
        except ClaimError as error:
            return str(error)
        return self._follow(entry, claim, releases=True)

    def change_with(self, arrival: Arrival, own_need: int) -> str:
        """Decide on a change of the mode that came with a request; returns why it is rejected, or
        empty.

        Args:
            own_need: the blocks that the request needs besides those of claims.
        """
        try:
            asked = mode_change_of(arrival.mode_change, arrival.scope)
        except ClaimError as error:
            return str(error)
        return self._change(asked, arrival.scope, own_need)

    def change_mode(self, asked: ModeChange) -> str:
        """Decide on a change of the mode that came without a request; the same answer."""
        self._tick()
        return self._change(asked, asked.owner if self._names.qualified else None, 0)

    def _change(self, asked: ModeChange, scope: str | None, own_need: int) -> str:
        """Decide on a change of the mode.

        The owner's first claim is released. Anybody else may only add a claim of a stronger mode,
        in their own name: the first claim is not theirs to end.
        """
        engine_id = self._names.engine_id(asked.claim_id, asked.owner)
        if self._was_changed(self._own(asked.successor, asked.owner), engine_id, asked):
            return ""
        entry = self._registry.live.get(engine_id)
        if entry is None:
            return NO_CLAIM
        mode, owned = entry.claim.protection_mode, entry.claim.owner_scope == asked.owner
        if mode is asked.mode:
            return f"it is {mode} already"
        if not owned and not is_escalation(mode, asked.mode):
            return f"only its owner may change it from {mode} to {asked.mode}"
        terms: dict[str, Any] = {"owner_scope": asked.owner, "protection_mode": asked.mode}
        terms["duration"] = asked.duration or self._registry.left_exactly(entry)
        terms["priority"] = asked.priority
        try:
            claim = self._successor(entry, asked.successor, scope, **terms)
        except ClaimError as error:
            return str(error)
        return self._follow(entry, claim, own_need, releases=owned)

    def _follow(
        self, entry: Entry, claim: ResidentClaim, own_need: int = 0, *, releases: bool
    ) -> str:
        """Accept a claim that follows another one, which is then released if its owner asks.

        It takes no block that is not claimed. So what requests need is a reason against it only if
        the first claim did not keep its blocks from them.
        """
        counts = claim.protection_mode not in WATCHED and not self._keeps(entry, claim)
        need = max(own_need, self._largest_need()) if counts else 0
        if reason := self._rejection(entry, claim, need, releases=releases):
            self._reject(claim, reason)
            return reason
        if counts:
            self._prepare(entry.keys)
        first = self._names.owners_id(entry.claim_id, entry.claim.owner_scope)
        why = f"it follows {first}, which is {entry.claim.protection_mode}"
        follower = self._accept(claim, entry.keys, why)
        follower.follows = entry.claim_id
        if releases:
            self.followed(entry, follower)
            self._end(entry, Kind.CLAIM_RELEASED)
        return ""

    def _keeps(self, entry: Entry, claim: ResidentClaim) -> bool:
        """Whether a claim keeps its blocks from requests as well as this one would."""
        mode = entry.claim.protection_mode
        if mode is claim.protection_mode:
            return True
        return not entry.watched and mode is not Mode.OFFLOADABLE and self._registry.enforces(entry)

    def _rejection(self, entry: Entry, claim: ResidentClaim, need: int, *, releases: bool) -> str:
        """Why a claim cannot follow another one.

        A claim that is released counts no more for its owner's quota.
        """
        if claim.claim_id in self._registry.live:
            shown = self._names.owners_id(claim.claim_id, claim.owner_scope)
            return f"claim id {shown} is live; a new promise needs a new id"
        if why := self._closed(claim):
            return why
        owners = self._registry.owners
        if releases:
            owners.remove(entry)
        try:
            return self._registry.rejection(claim, entry.keys, need)
        finally:
            if releases:
                owners.add(entry)

    def _successor(
        self, entry: Entry, claim_id: str, scope: str | None, **terms: Any
    ) -> ResidentClaim:
        """The claim of this id by the terms of another one and these; None takes a term away.

        Raises:
            ClaimError: there is no such claim.
        """
        of_first = entry.claim.model_dump(mode="json", exclude_none=True)
        stated = {**of_first, "claim_id": claim_id, **terms}
        stated = {name: term for name, term in stated.items() if term is not None}
        claim = claim_of(stated, entry.claim.cache_identity, entry.keys, scope)
        return self._names.of_engine(claim)

    def _was_renewed(self, follower: Entry | None, asked: Renewal) -> bool:
        """Whether this renewal was made already: its owner tries again."""
        first = self._names.engine_id(asked.claim_id, asked.owner)
        return _follows(follower, first) and _lasts(follower, asked.duration)

    def _was_changed(self, follower: Entry | None, first: str, asked: ModeChange) -> bool:
        """Whether this change was made already: who asked for it tries again."""
        if follower is None or not _follows(follower, first):
            return False
        claim = follower.claim
        same = asked.mode is claim.protection_mode and asked.priority == claim.priority
        return same and _lasts(follower, asked.duration)

    def _own(self, claim_id: str, owner: str) -> Entry | None:
        """The live claim of this owner's id."""
        entry = self._registry.live.get(self._names.engine_id(claim_id, owner))
        return None if entry is None or entry.claim.owner_scope != owner else entry


def _follows(follower: Entry | None, first: str) -> bool:
    return follower is not None and follower.follows == first


def _lasts(entry: Entry | None, duration: str | None) -> bool:
    """Whether a claim was given this duration; None stands for any."""
    if duration is None or entry is None:
        return duration is None
    return Duration.parse(duration) == entry.claim.duration
