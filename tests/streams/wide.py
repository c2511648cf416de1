"""Streams over all modes: an honest runtime's story, and a few things in it that are not so.

`told` makes one from any source of chance; `streams` is the Hypothesis strategy over it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

import msgspec
from hypothesis import strategies as st

from spec.claims.states import Mode
from spec.events.alphabet import CONFLICT_ACTIONS, FACTS, REPORTS, Kind
from spec.events.canonical import CapacityProof, Event, Mark, StreamMark
from spec.stream.breaks import Line
from tests.streams.honest import CLAIMS, OWNER, REQUESTS, USABLE
from tests.streams.honest_requests import Server

__all__ = ["streams", "told"]

_LIES: Final = (0, 0, 0, 1, 1, 2, 3, 5)
_HONEST: Final = (
    1,
    1,
    0.95,
    0.9,
    0.7,
    0.5,
)  # how likely a thing is done as it must be, in a stream
_UNSEEN: Final = (
    *((Kind.REQUEST_FINISHED,), (Kind.REQUEST_ARRIVED,), (Kind.BLOCK_EVICTED, Kind.BLOCK_LOST)),
    *((Kind.LOAD_FAILED,), (Kind.STORE_FINISHED, Kind.HOST_COPY_FOUND), (Kind.BLOCK_CACHED,)),
    *((Kind.CLAIM_RETIRED,), (Kind.REQUEST_ROUTED, Kind.REUSE_SERVED)),
)
"""Kinds of facts that hooks may not observe."""
_NAMES: Final = (*CLAIMS, *CLAIMS, "claim:unheard-of")
_ABOUT_CLAIM: Final = sorted(REPORTS - CONFLICT_ACTIONS)
_OUTCOMES: Final = ("refusal", "demotion", "expiry", "harm", "fallback_recompute")
_CACHE: Final = "model/16"


def streams(mode: Mode, lies: int | None = None) -> st.SearchStrategy[list[Line]]:
    """Streams that are mostly about claims of one mode."""
    return st.randoms(use_true_random=False).map(lambda chance: told(chance, mode, lies))


def told(
    chance: Random, mode: Mode, lies: int | None = None, runtime: type[Server] = Server
) -> list[Line]:
    """One stream, in lines of one canonical event or mark each.

    Args:
        lies: how many things are reported otherwise than they were; by default mostly none.
        runtime: whose story it is.
    """
    keyed, timed = chance.random() < 0.7, chance.random() < 0.6
    honest = 1 if lies == 0 else chance.choice(_HONEST)
    server = runtime(chance, mode, keyed=keyed, timed=timed, honest=honest)
    server.begin()
    for _ in range(chance.randint(3, 35)):
        server.act_once()
    hanging = lies is None and chance.random() < 0.04
    if not hanging and chance.random() < 0.8:
        server.end()
    many = chance.choice(_LIES) if lies is None else lies
    events = server.told
    for _ in range(many):
        _lie(chance, events, mode)
    before = len(events)
    if hanging:
        server.leave_hanging()
    again = [event for event in events[before:] if event.kind is Kind.REQUEST_ARRIVED][1:]
    return _stamped(chance, events, spoilt=many > 0, gap=events.index(again[0]) if again else None)


def _stamped(
    chance: Random, events: list[Event], *, spoilt: bool, gap: int | None = None
) -> list[Line]:
    """The events as lines, in order; where anything is spoilt the order may be, too.

    Args:
        gap: the event before which a line is missing.
    """
    if gap is not None:
        return [
            Line(at, (event,), at - 1 + (at > gap), event.time_ns)
            for at, event in enumerate(events, 1)
        ]
    closed, observes = chance.random() < 0.1, None
    if spoilt and chance.random() < 0.1:
        unseen = chance.choice(_UNSEEN)
        events = [event for event in events if event.kind not in unseen]
        observes = frozenset(FACTS - set(unseen))
    lines = [Line(0, (event,), None, event.time_ns) for event in events]
    if closed or observes is not None:
        where = 0 if observes is None or chance.random() < 0.6 else chance.randint(0, len(lines))
        lines.insert(where, Line(0, mark=StreamMark(kind=Mark.STREAM_OPENED), observes=observes))
    if closed or (observes is not None and chance.random() < 0.8):
        lines.append(Line(0, mark=StreamMark(kind=Mark.STREAM_CLOSED)))
    jump = chance.choice((0, 0, 0, 0, 0, 0, 0, 1, 1, -2)) if spoilt else 0
    where = chance.randint(0, len(lines))
    if spoilt and lines and chance.random() < 0.04:
        at = chance.randrange(len(lines))
        events = tuple(msgspec.structs.replace(e, time_ns=None) for e in lines[at].events)
        lines[at] = lines[at]._replace(time_ns=None, events=events)
    numbers = (max(0, n + (jump if n >= where else 0)) for n in range(len(lines)))
    return [
        line._replace(at=at, sequence=number)
        for at, (line, number) in enumerate(zip(lines, numbers, strict=True), 1)
    ]


# What is not so.


def _lie(chance: Random, events: list[Event], mode: Mode) -> None:
    """One thing is left out, said twice, too late, otherwise, or without having happened."""
    if not events:
        return
    where = chance.randrange(len(events))
    how = 1 if mode is Mode.SOFT_PRIORITY and chance.random() < 0.5 else chance.random()
    if how < 0.2:
        said = [n for n, event in enumerate(events) if event.kind in REPORTS]
        del events[chance.choice(said) if said and chance.random() < 0.8 else where]
    elif how < 0.3:
        moved = events.pop(where)
        events.insert(min(len(events), where + chance.choice((1, 1, 2, 3, 8))), moved)
    elif how < 0.35:
        again = events[where]
        events.insert(min(len(events), where + chance.choice((1, 2, 5, 12))), again)
    elif how < 0.65:
        for _ in range(4):  # until something is there to be altered
            where = chance.randrange(len(events))
            if (altered := _altered(chance, events[where])) is not events[where]:
                events[where] = altered
                break
    else:
        made_up = chance.choice(_MADE_UP_IN.get(mode, _MADE_UP))
        where = _while_held(chance, events, where) if made_up in _OF_HELD else where
        made = made_up(chance, events, where)
        time = events[where].time_ns
        events[where:where] = [msgspec.structs.replace(event, time_ns=time) for event in made]


def _held(events: list[Event]) -> list[str]:
    """The claims that a registry holds after these events."""
    begun = (e.claim_id for e in events if e.kind is Kind.CLAIM_COMMITTED and e.claim_id)
    over = {e.claim_id for e in events if e.kind is Kind.CLAIM_RETIRED}
    return [name for name in begun if name not in over]


def _while_held(chance: Random, events: list[Event], where: int) -> int:
    """A place where a registry holds a claim, if there is one among some."""
    places = [chance.randrange(len(events)) for _ in range(6)]
    return next((place for place in places if _held(events[:place])), where)


def _altered(chance: Random, event: Event) -> Event:
    """The event with one of the fields that it states stated otherwise."""
    stated = [name for name in _OTHERWISE if getattr(event, name) not in (None, (), False)]
    stated += ["from_tier", "found", "echo"] if chance.random() < 0.2 else []
    if not stated:
        return event
    name = chance.choice(stated)
    return msgspec.structs.replace(event, **{name: _OTHERWISE[name](chance, event)})


def _some_proof(chance: Random, event: Event) -> CapacityProof | None:
    if (right := event.proof) is None or chance.random() < 0.2:
        return None
    name = chance.choice(("resident", "active", "total", "usable", "shortfall"))
    number = max(0, getattr(right, name) + chance.choice((-1, 1, 2)))
    return msgspec.structs.replace(right, **{name: number})


def _names(chance: Random, event: Event) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chance.choices(_NAMES, k=chance.randint(0, 3))))


def _count(chance: Random, event: Event) -> int:
    return chance.randint(0, USABLE)


_OTHERWISE: Final[dict[str, Callable[[Random, Event], Any]]] = {
    "by": lambda chance, event: chance.choice((None, OWNER, "runtime", "somebody")),
    "footprint": _count,
    "needed": _count,
    "held": _count,
    "asked": lambda chance, event: chance.choice((None, 0, 2, 4)),
    "cost": _count,
    "worker": lambda chance, event: "w:3",
    "hit": lambda chance, event: not event.hit,
    "found": lambda chance, event: not event.found,
    "echo": lambda chance, event: not event.echo,
    "restore": lambda chance, event: not event.restore,
    "from_tier": lambda chance, event: not event.from_tier,
    "outcome": lambda chance, event: chance.choice(_OUTCOMES),
    "outcome_claim_id": lambda chance, event: chance.choice((None, *_NAMES)),
    "blocking_claim_ids": _names,
    "proof": _some_proof,
    "lowest_priority": lambda chance, event: chance.choice((None, 0, 1, 5)),
    "priority": lambda chance, event: chance.choice((None, 1, 5, 9)),
    "claim_id": lambda chance, event: chance.choice(_NAMES),
    "request_id": lambda chance, event: chance.choice(REQUESTS),
    "object_id": lambda chance, event: chance.choice(("o:x", "o:y", "o:z")),
    "cache_identity": lambda chance, event: "model/32",
    "mode": lambda chance, event: str(chance.choice(tuple(Mode))),
    "owner_scope": lambda chance, event: chance.choice((None, "somebody")),
    "duration": lambda chance, event: chance.choice((None, "3 s", "60 steps")),
    "content_keys": lambda chance, event: (),
}
"""Another value of a field."""


def _report(chance: Random, events: list[Event], where: int) -> list[Event]:
    """Something is said of a claim for no reason."""
    kind = chance.choice(_ABOUT_CLAIM)
    claim, request = chance.choice(_NAMES), chance.choice(REQUESTS)
    fields: dict[str, Any] = {"claim_id": claim, "request_id": request}
    if kind in (Kind.CLAIM_DEMOTED, Kind.CLAIM_EXPIRED, Kind.CLAIM_RELEASED):
        fields["by"] = chance.choice((OWNER, OWNER, "runtime", "somebody"))
    if kind is Kind.CLAIM_RESTORATION_FAILED:
        fields |= {"outcome": chance.choice(_OUTCOMES), "outcome_claim_id": claim}
    more = {"cost": 3, "worker": "w:1", "hit": True, "footprint": 2, "from_tier": True}
    return [Event(kind=kind, **fields, **more)]


def _action(chance: Random, events: list[Event], where: int) -> list[Event]:
    """A request is acted on for no reason."""
    kind, names = chance.choice(sorted(CONFLICT_ACTIONS)), _names(chance, events[where])
    restore = chance.random() < 0.3 and kind is Kind.REQUEST_REFUSED
    request = chance.choice(REQUESTS)
    return [Event(kind=kind, request_id=request, blocking_claim_ids=names, restore=restore)]


def _foreign(chance: Random, events: list[Event], where: int) -> list[Event]:
    """Something is said of an object in the name of nobody's claim."""
    about = {"object_id": chance.choice(("o:x", "o:y", "o:z")), "cache_identity": _CACHE}
    return [Event(kind=Kind.CLAIM_MATERIALIZED, claim_id="claim:unheard-of", **about)]


def _of_request(chance: Random, events: list[Event], where: int) -> list[Event]:
    """A request arrives or ends that is in hand already, or is not."""
    kind = chance.choice((Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED))
    needs = (_count(chance, events[where]), USABLE) if kind is Kind.REQUEST_ARRIVED else ()
    fields = dict(zip(("needed", "usable"), needs, strict=False))
    return [Event(kind=kind, request_id=chance.choice(REQUESTS), **fields)]


def _of_claim(chance: Random, events: list[Event], where: int) -> list[Event]:
    """A fact of a claim that nothing led to."""
    kind = chance.choice(
        (
            *(Kind.CLAIM_COMMITTED, Kind.CLAIM_RETIRED, Kind.DURATION_ELAPSED),
            *(Kind.STORE_FINISHED, Kind.HOST_COPY_LOST, Kind.HOST_COPY_FOUND),
            *(Kind.LOAD_FINISHED, Kind.LOAD_FAILED, Kind.LOAD_FAILED, Kind.PREFIX_REUSED),
            *(Kind.REQUEST_ROUTED, Kind.REUSE_SERVED),
        )
    )
    whose: dict[str, Any] = {"claim_id": chance.choice(CLAIMS)}
    if chance.random() < 0.1 and kind not in (Kind.CLAIM_COMMITTED, Kind.CLAIM_RETIRED):
        whose = {"object_id": chance.choice(("o:x", "o:y"))} if chance.random() < 0.7 else {}
    if kind is Kind.DURATION_ELAPSED and not whose.get("claim_id"):
        whose = {"claim_id": CLAIMS[0]}
    more = {"cost": 3, "worker": "w:1", "hit": True, "footprint": 3, "held": 2}
    by = chance.choice((OWNER, "runtime"))
    return [Event(kind=kind, request_id=chance.choice(REQUESTS), by=by, **whose, **more)]


def _of_blocks(chance: Random, events: list[Event], where: int) -> list[Event]:
    """Blocks come or go that nobody spoke of, or at another position."""
    known = sorted({block for event in events[:where] for block in event.block_ids}) or [100]
    block, kind = chance.choice(known), chance.choice((Kind.BLOCK_EVICTED, Kind.BLOCK_LOST))
    if chance.random() < 0.6:
        whose = chance.choice(({}, {}, {"claim_id": chance.choice(CLAIMS)}))
        lowest = chance.choice((None, None, 1, 5)) if kind is Kind.BLOCK_EVICTED else None
        return [Event(kind=kind, block_ids=(block,), lowest_priority=lowest, **whose)]
    request = chance.choice((None, None, *REQUESTS))
    places = {"block_ids": (chance.choice((block, 150)),), "positions": (chance.randint(0, 2),)}
    claim = chance.choice(CLAIMS)
    return [Event(kind=Kind.BLOCK_CACHED, claim_id=claim, request_id=request, **places)]


def _fallback(chance: Random, events: list[Event], where: int) -> list[Event]:
    """A load fails, and the request goes on as if nothing had happened, or nearly."""
    held = _held(events[:where])
    claim, request = chance.choice(held or CLAIMS), "request:failed"
    about: dict[str, Any] = {"claim_id": claim, "request_id": request}
    said, named = chance.choice(("refusal", "harm", "demotion")), (claim, chance.choice(CLAIMS))
    refused = {"outcome": said, "outcome_claim_id": chance.choice((claim, *named))}
    names = tuple(dict.fromkeys(named[: chance.choice((0, 1, 1, 2, 2))]))
    blame: dict[str, Any] = {"blocking_claim_ids": names, "restore": True}
    often = chance.choice((0, 0.3, 0.6, 0.9))
    steps = [
        Event(kind=Kind.HOST_COPY_FOUND, claim_id=claim),
        Event(kind=Kind.REQUEST_ARRIVED, request_id=request, needed=0, usable=USABLE),
        Event(kind=Kind.CLAIM_RESTORE_REQUIRED, **about),
        Event(kind=Kind.LOAD_FAILED, **about),
        Event(kind=Kind.CLAIM_RESTORATION_FAILED, **about, **refused),
        Event(kind=Kind.REQUEST_REFUSED, request_id=request, **blame),
        Event(kind=Kind.PREFIX_REUSED, **about),
        Event(kind=Kind.CLAIM_HARMED, claim_id=claim),
        Event(kind=Kind.REQUEST_FINISHED, request_id=request),
    ]
    return [step for step in steps if chance.random() < (0.95 if step.kind in _SURE else often)]


def _conflict(chance: Random, events: list[Event], where: int) -> list[Event]:
    """A request that fits beside nobody comes, and is acted on in some way or not."""
    request, often = "request:large", chance.choice((0, 0.5, 0.9))
    names = chance.choice(((), _names(chance, events[where])))
    acted = {"kind": Kind.REQUEST_DEFERRED, "request_id": request, "blocking_claim_ids": names}
    steps = [
        Event(kind=Kind.REQUEST_ARRIVED, request_id=request, needed=USABLE, usable=USABLE),
        Event(**acted),
        Event(kind=Kind.REQUEST_FINISHED, request_id=request),
    ]
    return [step for step in steps if step.kind in FACTS or chance.random() < often]


def _renamed(chance: Random, events: list[Event], where: int) -> list[Event]:
    """A claim is spoken of under another identity than it was bound to."""
    name = chance.choice(("cache_identity", "object_id"))
    looked_up = {"request_id": chance.choice(REQUESTS), name: "another"}
    return [Event(kind=Kind.PREFIX_LOOKUP, claim_id=chance.choice(CLAIMS), **looked_up)]


def _restored(chance: Random, events: list[Event], where: int) -> list[Event]:
    """A claim leaves for the tier and is asked for, and comes back in some way or not."""
    claim, request = chance.choice(_held(events[:where]) or CLAIMS), "request:restored"
    about: dict[str, Any] = {"claim_id": claim, "request_id": request}
    places = {"block_ids": (160, 161, 162), "positions": (0, 1, 2)}
    begin = [
        Event(kind=Kind.HOST_COPY_FOUND, claim_id=claim),
        Event(kind=Kind.REQUEST_ARRIVED, request_id=request, needed=0, usable=USABLE),
        Event(kind=Kind.BLOCK_LOST, claim_id=claim),
        Event(kind=Kind.PREFIX_LOOKUP, **about, asked=4),
    ]
    steps = [
        Event(kind=Kind.CLAIM_RESTORE_REQUIRED, **about),
        Event(kind=Kind.BLOCK_CACHED, **about, **places),
        Event(kind=Kind.LOAD_FINISHED, **about, **places),
        Event(kind=Kind.CLAIM_RESTORED, **about, from_tier=True),
        Event(kind=Kind.CLAIM_RESTORED, **about, from_tier=True),
        Event(kind=Kind.REQUEST_REFUSED, request_id=request, blocking_claim_ids=()),
        Event(kind=Kind.PREFIX_REUSED, **about),
        Event(kind=Kind.REQUEST_FINISHED, request_id=request),
    ]
    often = chance.choice((0.3, 0.5, 0.8))
    return [*begin, *(step for step in steps if chance.random() < often)]


def _passed_over(chance: Random, events: list[Event], where: int) -> list[Event]:
    """Blocks of a claim are taken, and those of one of lower priority could be."""
    owned = [e for e in events[:where] if e.kind is Kind.BLOCK_CACHED and e.claim_id]
    if not owned:
        return []
    low: dict[str, Any] = {"claim_id": "claim:low"}
    terms: dict[str, Any] = {"predicate": "leading_prefix_at_least(1)", "object_id": "o:low"}
    terms |= {"cache_identity": _CACHE, "mode": str(Mode.SOFT_PRIORITY), "owner_scope": OWNER}
    return [
        Event(kind=Kind.CLAIM_REGISTERED, **low, **terms, priority=0, footprint=1),
        Event(kind=Kind.BLOCK_CACHED, **low, block_ids=(170,), positions=(0,)),
        Event(kind=Kind.CLAIM_MATERIALIZED, **low),
        Event(kind=Kind.BLOCK_EVICTED, block_ids=chance.choice(owned).block_ids, lowest_priority=0),
    ]


_SURE: Final = FACTS - {Kind.PREFIX_REUSED}
_OF_HELD: Final = (_fallback, _conflict, _restored)
_MADE_UP: Final = (
    *(_report, _report, _action, _foreign, _of_request, _fallback),
    *(_of_claim, _of_claim, _of_blocks, _of_blocks, _renamed, _conflict),
)
_MADE_UP_IN: Final = {
    Mode.HARD_PROTECTED: (*_MADE_UP, *(_fallback, _conflict) * 3),
    Mode.OFFLOADABLE: (*_MADE_UP, *(_fallback, _fallback, _restored) * 3),
    Mode.SOFT_PRIORITY: (*_MADE_UP, *(_passed_over,) * 12),
    Mode.EXPIRING: (*_MADE_UP, *(_of_claim, _fallback) * 2),
}
"""By mode: what its obligations ask for, more often."""
