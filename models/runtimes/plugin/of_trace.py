"""Derives the instance of the plugin's model that a recorded stream is about, from the stream.

The stream states the size of the pool, the claims, and which claims came with which request. What a
prompt holds follows from the blocks that were cached or looked up for it: a request that looked up
a claim begins with the claim's object, and is taken to hold nothing else; any other one shares
nothing. Of a request that never got blocks the need is all that is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from models.framework.claims import Claim
from models.runtimes.plugin.model import Plugin
from models.runtimes.plugin.state import Prompt
from spec.claims.claim import Mode
from spec.claims.predicates import parse_predicate
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.errors import SpecError

__all__ = ["plugin_of", "plugins_of"]


def plugins_of(events: Sequence[Event]) -> Mapping[str, Plugin]:
    """The instances of the size of a stream; what it leaves open is whether promises are enforced.

    Raises:
        SpecError: the stream has no request, or a claim without what the model needs.
    """
    named = {"enforcing": True, "reporting": False}
    return {name: plugin_of(events, enforce=enforce) for name, enforce in named.items()}


def plugin_of(events: Sequence[Event], *, enforce: bool = True) -> Plugin:
    """The instance of the model of the size of a stream.

    Args:
        enforce: whether the plugin enforced promises, which no stream states.

    Raises:
        SpecError: the stream has no request, or a claim without what the model needs.
    """
    arrivals = [event for event in events if event.kind is Kind.REQUEST_ARRIVED]
    if not arrivals:
        raise SpecError("no request arrives in the stream", "give a trace that the plugin wrote")
    claims = [_claim(event) for event in events if event.kind is Kind.CLAIM_REGISTERED]
    came, since = dict[str, tuple[str, ...]](), list[str]()
    for event in events:
        if event.kind is Kind.CLAIM_REGISTERED:
            since.append(event.claim_id or "")
        elif event.kind is Kind.REQUEST_ARRIVED:
            came[event.request_id or ""], since = tuple(since), []
    objects = {claim.holder: claim.object_id for claim in claims}
    kinds = {event.kind for event in events}
    return Plugin(
        max(event.usable or 0 for event in arrivals),
        claims,
        [_prompt(event, events, objects, came) for event in arrivals],
        defer=Kind.REQUEST_DEFERRED in kinds,
        enforce=enforce,
        tier=not kinds.isdisjoint({Kind.STORE_FINISHED, Kind.HOST_COPY_FOUND}),
    )


def _claim(event: Event) -> Claim:
    predicate = parse_predicate(event.predicate or "")
    if event.claim_id is None or event.mode not in set(Mode) or predicate.start:
        raise SpecError(f"claim {event.claim_id} is not on a leading prefix in a mode of its own")
    size = event.footprint or predicate.end
    if size != predicate.end:
        raise SpecError(f"claim {event.claim_id} declares other blocks than its predicate needs")
    named = event.claim_id, event.object_id or event.claim_id, size, Mode(event.mode)
    return Claim(*named, event.priority, event.duration, event.owner_scope or "")


def _prompt(
    arrival: Event,
    events: Sequence[Event],
    objects: dict[str, str],
    came: dict[str, tuple[str, ...]],
) -> Prompt:
    name, needed = arrival.request_id or "", arrival.needed or 0
    own = [event for event in events if event.request_id == name]
    looked = [event for event in own if event.kind is Kind.PREFIX_LOOKUP]
    cached = [at + 1 for event in own if event.kind is Kind.BLOCK_CACHED for at in event.positions]
    if not looked:
        return Prompt(name, own=max(cached, default=needed), claims=came[name])
    claim = looked[0].claim_id or ""
    if claim not in objects:
        raise SpecError(f"a look-up of {name} is for no claim that the stream registers")
    asked = max(event.asked or 0 for event in looked)
    return Prompt(name, objects[claim], max([asked + 1, *cached]), claims=came[name])
