"""Derives the instances of the plugin's model that a recorded stream may be about, from the stream.

The stream states the size of the pool, the claims, and which claims came with which request. What a
prompt holds is derived as for models of vLLM (`models.framework.lineage`). Of a request that never
got blocks the need is all that is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from models.framework.claims import Claim
from models.framework.joins import asked_by
from models.framework.lineage import Lineage, Parted, lineages_of
from models.runtimes.plugin.model import Plugin
from models.runtimes.plugin.state import Prompt
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.errors import SpecError

__all__ = ["INSTANCES", "plugins_of"]

INSTANCES: Final = {"enforcing": True, "reporting": False}
"""Whether promises are enforced, by the names of the instances."""
_NAMES: Final = " or ".join(INSTANCES)

_OF_TIER = frozenset({Kind.STORE_FINISHED, Kind.HOST_COPY_FOUND, Kind.LOAD_FINISHED})
_GETS = frozenset({Kind.BLOCK_CACHED, Kind.BLOCK_EVICTED, Kind.PREFIX_LOOKUP})
"""What is stated of a request only if it gets blocks."""
_STOPS = frozenset({Kind.REQUEST_REFUSED, Kind.REQUEST_DEFERRED})
"""What is reported of a request that may never get any."""


def plugins_of(events: Sequence[Event]) -> Iterator[tuple[str, Plugin]]:
    """The instances of the size of a stream, by what it leaves open: whether promises are enforced,
    and what prompts hold.

    Copies in a tier are of whole objects here, and in an engine of parts as well, as
    `models.runtimes.vllm_offload.of_trace` says. So with a tier nothing is rejected, unless an
    instance is named.

    Raises:
        Untried: there are more than were tried.
        Parted: copies may be of parts of objects.
        SpecError: the stream has no request, or a claim or a prompt cannot be told.
    """
    for lineage in lineages_of(events):
        for name, enforce in INSTANCES.items():
            yield name, _plugin(events, lineage, enforce=enforce)
    if _has_tier(events):
        raise Parted("the tier may have parts of objects", f"name the instance {_NAMES}")


def _plugin(events: Sequence[Event], lineage: Lineage, *, enforce: bool) -> Plugin:
    registered = [event for event in events if event.kind is Kind.CLAIM_REGISTERED]
    known = {event.claim_id for event in registered}
    objects = _objects(registered, lineage)
    claims = [_claim(event, objects) for event in registered]
    came, since = dict[str, tuple[str, ...]](), list[str]()
    for event in events:
        unread = event.kind is Kind.CLAIM_REJECTED and event.claim_id not in known
        if unread or event.kind is Kind.CLAIM_REGISTERED:
            since.append(event.claim_id or "")
        elif event.kind is Kind.REQUEST_ARRIVED:
            came[event.request_id or ""], since = tuple(since), []
    kinds = {event.kind for event in events}
    needs = {event.request_id: event for event in events if event.kind is Kind.REQUEST_ARRIVED}
    gets = {event.request_id for event in events if event.kind in _GETS}
    stopped = {event.request_id for event in events if event.kind in _STOPS} - gets
    return Plugin(
        lineage.usable,
        claims,
        [
            Prompt(each.name, own=needs[each.name].needed or 0, claims=came[each.name])
            if each.name in stopped
            else Prompt(
                *each[:5],
                came[each.name],
                admitted=each.start is not None,
                between=each.between,
            )
            for each in lineage.prompts
        ],
        defer=Kind.REQUEST_DEFERRED in kinds,
        enforce=enforce,
        tier=_has_tier(events),
    )


def _has_tier(events: Sequence[Event]) -> bool:
    """Whether a copy shows, an offloadable claim was accepted, or blocks came back without one.

    What a claim finds when it is registered is stated before its request arrives.
    """
    if any(event.kind in _OF_TIER for event in events):
        return True
    new = set[str | None]()
    for event in events:
        if event.kind is Kind.CLAIM_REGISTERED:
            new.add(event.claim_id)
        elif event.kind is Kind.REQUEST_ARRIVED:
            new.clear()
        accepted = event.kind is Kind.CLAIM_ACCEPTED and event.mode == Mode.OFFLOADABLE
        if accepted or (event.found and event.claim_id not in new):
            return True
    return False


def _objects(registered: Sequence[Event], lineage: Lineage) -> dict[str, str]:
    """The object that each claim is on, as the model names it; none for one of which it is unknown.

    An accepted claim is on what its request looked up. Of a rejected one nothing is looked up: it
    is on the object of an accepted one that the stream names alike.
    """
    objects = {each.claim_id: each.object_id for each in lineage.watches}
    named = {e.object_id: objects[e.claim_id] for e in registered if e.claim_id in objects}
    for each in registered:
        if each.claim_id and each.object_id in named:
            objects.setdefault(each.claim_id, named[each.object_id])
    return objects


def _claim(event: Event, objects: Mapping[str, str]) -> Claim:
    size, name = asked_by(event).size, event.claim_id or ""
    if size != (event.footprint or size):
        raise SpecError(f"claim {name} declares other blocks than its predicate needs")
    object_id = objects.get(name, event.object_id or name)
    terms = Mode(event.mode or ""), event.priority, event.duration, event.owner_scope or ""
    return Claim(name, object_id, size, *terms, named="" if name in objects else object_id)
