"""Carries out the KV hints of requests: has claims made and released for them, and answers.

A `kv.retain` is decided on when its request arrives, a `vllm.set_priority` when its request has
completed. `runtime_hooks.claims.hints` says which claims a hint asks for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from runtime_hooks.claims.hints import (
    LONGEST,
    RETAIN,
    SET_PRIORITY,
    Declined,
    Outcome,
    Wanted,
    claim_stated,
    envelope_of,
    priority_of,
    retention_of,
    within,
)
from runtime_hooks.claims.metadata import ACTIONS, DEFAULT_OWNER, check_caller
from spec.language.errors import ClaimError

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_hooks.claims.arrivals import Arrival
    from runtime_hooks.claims.entry import Entry
    from runtime_hooks.claims.hints import Action, Envelope, Priority
    from runtime_hooks.claims.registry import Registry

__all__ = ["Hinted"]

_REVISIONS: Final = 10_000  # claim ids of which the last revision is remembered
_UNENFORCED: Final = "this engine does not enforce soft_priority"
_SENT: Final = "send it as a key of kv_transfer_params"


class _Scope(NamedTuple):
    """Whose hints replace each other: an owner's, of one scope that the hints name."""

    owner: str
    label: str


class _Id(NamedTuple):
    """An action: its owner, and the ids of its envelope and of itself."""

    owner: str
    message_id: str
    action_id: str


class _Set(NamedTuple):
    """What revisions are about: an owner's id."""

    owner: str
    claim_id: str


@dataclass(slots=True)
class _Waiting:
    """An action that is decided on when its request has completed, and the answer to it."""

    arrival: Arrival
    asked: Priority
    name: str
    owner: str
    answer: dict[str, Any]


@dataclass(slots=True)
class _Made:
    """What was asked for by an action, and the claims that were made for it, by their owner's ids.

    A `set_priority` has its `revision`.
    """

    asked: object
    owner: str
    claims: list[str] = field(default_factory=list)
    revision: int = 0


class Hinted:
    """The hints of one engine.

    Args:
        block_size: tokens in a block.
        claim: decides on a claim on the prompt of a request that arrives; returns why it was
            rejected, or empty.
        pin: the same for a request that ended.
        cached: whether all whole blocks of a prompt are in the cache.
        release: releases a claim in its owner's name.
        decline: reports under a name why a hint, or a part of it, has no claim.
    """

    def __init__(
        self,
        registry: Registry,
        block_size: int,
        *,
        claim: Callable[[Arrival, dict[str, Any]], str],
        pin: Callable[[Arrival, dict[str, Any]], str],
        cached: Callable[[Arrival], bool],
        release: Callable[[str, str], str],
        decline: Callable[[str, str], None],
    ) -> None:
        self._registry, self._size = registry, block_size
        self._claim, self._pin, self._cached = claim, pin, cached
        self._release, self._decline = release, decline
        self._waiting: dict[str, list[_Waiting]] = {}  # by request
        self._retained: dict[_Scope, dict[str, None]] = {}  # live claims, by their owner's ids
        self._actions: dict[_Id, _Made] = {}  # of `kv.retain`, whose claims live
        self._priorities: dict[_Set, _Made] = {}  # of `vllm.set_priority`
        # Where a live claim is listed, by the engine's id.
        self._listed: dict[str, tuple[_Scope, _Id] | _Set] = {}

    def ask(self, arrival: Arrival) -> dict[str, Any]:
        """Decide on the hints of a request that arrives.

        Returns:
            The answer, which `finish` changes for what is decided on at the end of the request.
        """
        try:
            check_caller(arrival.scope)
            envelope = envelope_of(arrival.hints)
        except ClaimError as error:
            return self._none(arrival, Declined(Outcome.REJECTED, str(error)))
        except Declined as why:
            return self._none(arrival, why)
        answers = [self._ask(arrival, envelope, action) for action in envelope.actions]
        name = f"hint {envelope.message_id}"
        answers += [self._declined(name, why) for why in envelope.declined]
        return {"message_id": envelope.message_id, "actions": answers}

    def _none(self, arrival: Arrival, why: Declined) -> dict[str, Any]:
        """The answer to what is no envelope, or none of this caller."""
        return {"actions": [self._declined(f"hints of {arrival.request_id}", why)]}

    def _ask(self, arrival: Arrival, envelope: Envelope, action: Action) -> dict[str, Any]:
        name = f"hint {envelope.message_id}:{action.action_id}"
        answer: dict[str, Any] = {"action_id": action.action_id}
        try:
            if action.action_type == RETAIN:
                answer |= self._retain(arrival, envelope, action, name)
            elif action.action_type == SET_PRIORITY:
                self._defer(arrival, action, name, answer)
            else:
                sent = f"; {_SENT}" if action.action_type in ACTIONS else ""
                raise Declined(Outcome.UNSUPPORTED, f"no such action is mapped{sent}")
        except Declined as why:
            answer |= self._declined(name, why)
        return answer

    def _declined(self, name: str, why: Declined) -> dict[str, Any]:
        """The answer to a hint that has no claim, which the trace reports."""
        self._decline(name, f"{why.outcome}: {why.reason}")
        return {"outcome": why.outcome.value, "reason": why.reason}

    # kv.retain.

    def _retain(
        self, arrival: Arrival, envelope: Envelope, action: Action, name: str
    ) -> dict[str, Any]:
        """Make the claims of a `kv.retain`, and release those that it replaces: what its scope
        retained of this prompt by earlier requests.
        """
        asked = retention_of(action, self._size, len(arrival.keys))
        owner = arrival.scope or asked.scope or DEFAULT_OWNER
        scope = _Scope(owner, asked.scope or "")
        own = _Id(owner, envelope.message_id, action.action_id)
        made = self._actions.get(own)
        if made is not None and made.asked == asked and self._stand(made, arrival):
            return {"outcome": Outcome.DUPLICATE.value, "claims": [*made.claims]}
        if asked.lacks and not asked.wanted:
            raise Declined(Outcome.UNSUPPORTED, asked.lacks[0])
        end = f":{arrival.request_id[-LONGEST:]}"  # of the ids of claims of this request
        before = [
            claim_id
            for claim_id in self._retained.get(scope, ())
            if self._begins(claim_id, owner, arrival) and not claim_id.endswith(end)
        ]
        if not (asked.wanted or before):
            raise Declined(Outcome.MISSING, "its scope retains no part of this prompt")
        made, lacks, rejected = _Made(asked, owner), [*asked.lacks], list[str]()
        for number, wanted in enumerate(asked.wanted):
            claim_id = f"{RETAIN}:{own.message_id}:{own.action_id}:{number}{end}"
            why, less = self._make(arrival, wanted, claim_id, owner, self._claim)
            lacks += less
            if why:
                rejected.append(why)
            else:
                self._list(made, claim_id, (scope, own))
        if rejected and not made.claims:
            return {"outcome": Outcome.REJECTED.value, "reason": rejected[0]}
        if made.claims:
            self._actions[own] = made
            self._retained.setdefault(scope, {}).update(dict.fromkeys(made.claims))
        for claim_id in before:
            self._release(claim_id, owner)
        return self._made(name, made.claims, [*lacks, *rejected])

    def _begins(self, claim_id: str, owner: str, arrival: Arrival) -> bool:
        """Whether the prompt of a request begins with a claim's blocks.

        A key also names everything before it, so the last one decides.
        """
        entry = self._registry.live.get(self._registry.names.engine_id(claim_id, owner))
        if entry is None or entry.footprint > len(arrival.keys):
            return False
        return arrival.keys[entry.footprint - 1] == entry.keys[-1]

    def _stand(self, made: _Made, arrival: Arrival) -> bool:
        """Whether all claims of an action live, on this prompt."""
        return bool(made.claims) and all(
            self._begins(claim_id, made.owner, arrival) for claim_id in made.claims
        )

    # vllm.set_priority.

    def _defer(self, arrival: Arrival, action: Action, name: str, answer: dict[str, Any]) -> None:
        """Decide on a `vllm.set_priority` later, when its request has completed."""
        waiting = _Waiting(
            arrival, priority_of(action), name, arrival.scope or DEFAULT_OWNER, answer
        )
        self._waiting.setdefault(arrival.request_id, []).append(waiting)
        answer["outcome"] = Outcome.DEFERRED.value

    def finish(self, request_id: str, *, completed: bool) -> None:
        """A request ended: decide on what was deferred, and change the answers to it.

        Args:
            completed: it was served to its end.
        """
        for each in self._waiting.pop(request_id, ()):
            try:
                if not completed:
                    raise Declined(Outcome.MISSING, "its request did not complete")
                each.answer |= self._set(each)
            except Declined as why:
                each.answer |= self._declined(each.name, why)

    def _set(self, each: _Waiting) -> dict[str, Any]:
        """Have the prompt of a request claimed with a priority, in place of the revision before."""
        asked, owner = each.asked, each.owner
        key = _Set(owner, asked.claim_id)
        before = self._priorities.get(key)
        if before is not None and asked.revision <= before.revision:
            if asked == before.asked:
                return {"outcome": Outcome.DUPLICATE.value, "claims": [*before.claims]}
            raise Declined(Outcome.REJECTED, f"revision {before.revision} was decided on")
        made, lacks = _Made(asked, owner, [], asked.revision), list[str]()
        if asked.value is not None:
            claim_id = f"{asked.claim_id}@{asked.revision}"
            wanted = Wanted(len(each.arrival.keys), asked.value, asked.seconds)
            if not (wanted.blocks and self._cached(each.arrival)):
                raise Declined(Outcome.MISSING, "its prompt is not in the cache")
            why, lacks = self._make(each.arrival, wanted, claim_id, owner, self._pin)
            if why:
                return {"outcome": Outcome.REJECTED.value, "reason": why}
            self._list(made, claim_id, key)
        elif before is None or not before.claims:
            raise Declined(Outcome.MISSING, "it has no priority to take back")
        self._priorities.pop(key, None)
        self._priorities[key] = made
        if len(self._priorities) > _REVISIONS:
            del self._priorities[next(iter(self._priorities))]
        for claim_id in [*before.claims] if before is not None else ():
            self._release(claim_id, owner)
        return self._made(each.name, made.claims, lacks)

    # Both.

    def _make(
        self,
        arrival: Arrival,
        wanted: Wanted,
        claim_id: str,
        owner: str,
        claim: Callable[[Arrival, dict[str, Any]], str],
    ) -> tuple[str, list[str]]:
        """Have a claim made within the quota of its owner: why not, or empty, and what it lacks."""
        wanted, lacks = within(wanted, self._registry.owners.quota(owner))
        return claim(arrival, claim_stated(wanted, claim_id, owner)), [*lacks]

    def _made(self, name: str, claims: list[str], lacks: list[str]) -> dict[str, Any]:
        """The answer where claims were made, or released; what they lack is reported."""
        answer: dict[str, Any] = {"outcome": Outcome.ACCEPTED.value, "claims": [*claims]}
        if lacks:
            self._decline(name, f"{Outcome.CLIPPED}: {lacks[0]}")
            answer |= {"outcome": Outcome.CLIPPED.value, "reason": "; ".join(lacks)}
        elif claims and not self._registry.orders_victims:
            answer["reason"] = _UNENFORCED
        return answer

    def _list(self, made: _Made, claim_id: str, where: tuple[_Scope, _Id] | _Set) -> None:
        """Remember a claim that was made, by its owner's id, as long as it lives."""
        made.claims.append(claim_id)
        self._listed[self._registry.names.engine_id(claim_id, made.owner)] = where

    def ended(self, entry: Entry) -> None:
        """A claim ended, one of a hint or not."""
        where = self._listed.pop(entry.claim_id, None)
        if where is None:
            return
        claim_id = self._registry.names.owners_id(entry.claim_id, entry.claim.owner_scope)
        if isinstance(where, _Set):
            made = self._priorities.get(where)
            if made is not None and claim_id in made.claims:
                made.claims.remove(claim_id)
            return
        scope, own = where
        made = self._actions.get(own)
        if made is not None and claim_id in made.claims:
            del self._actions[own]
        if (retained := self._retained.get(scope)) is not None:
            retained.pop(claim_id, None)
            if not retained:
                del self._retained[scope]
