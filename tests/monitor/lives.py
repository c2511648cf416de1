"""Lives of claims that end, and what may be said of them afterwards: streams for forgetting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from hypothesis import strategies as st

from spec.claims.states import Mode
from spec.events.alphabet import BLOCKS_GONE, CONFLICT_ACTIONS, FACTS, REPORTS, Kind
from spec.events.canonical import Event
from tests.streams import stories as told
from tests.streams.chains import STORIES
from tests.streams.stories import (
    CLAIMS,
    REQUESTS,
    Story,
    accepted,
    filled,
    finishes,
    registered,
    rejected,
    say,
    timed,
)

if TYPE_CHECKING:
    from tests.streams.strategies import Stamped

ENDING: Final = (Mode.HARD_PROTECTED, Mode.DEMOTABLE, Mode.EXPIRING, Mode.OFFLOADABLE)
"""The modes in which claims are accepted, and end."""

WATCHED: Final = (Mode.BEST_EFFORT, Mode.SOFT_PRIORITY, Mode.ROUTED_REUSE)
"""The others: a claim is over when its owner ends its registry entry."""


def harmed(claim: str, request: str) -> list[Event]:
    """Its blocks are lost to a reset, and that is reported."""
    return told.reset(claim, request) + told.harmed(claim, request)


def restored(claim: str, request: str) -> list[Event]:
    """It is copied, evicted, brought back for a request and reused."""
    away = (told.offloaded, told.evicted, told.required, told.loaded, told.restored, told.reused)
    return [event for story in away for event in story(claim, request)]


def failed(claim: str, request: str) -> list[Event]:
    """It is copied, a load of it fails, and the request is refused for it."""
    stories = (told.offloaded, told.required, told.load_failed, told.failure_answered)
    return [event for story in stories for event in story(claim, request)]


_MIDDLES: Final[tuple[Story, ...]] = (
    *(told.offloaded, told.conflict_ended, told.looked_up, told.reset, told.required, told.loaded),
    *(told.restored, told.reused, told.load_failed, told.failure_answered, told.refused),
    *(harmed, restored, failed),
)
_ENDS: Final[tuple[Story, ...]] = (
    *(told.demoted, told.demoted, told.expired, told.retired, told.released_by_a_stranger),
)
_WATCHED: Final[tuple[Story, ...]] = (
    *(told.thinned, told.evicted, told.unmaterialized, told.reset, told.looked_up, told.filled),
    *(told.routed, told.route_told, told.served, told.hit_told),
)
_FREE: Final = (FACTS - BLOCKS_GONE) - {Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED}


def lives(*claims: str) -> list[Event]:
    """Claims that come, are there and go, one after another."""
    return [
        event
        for claim in claims
        for story in (accepted, filled, told.demoted)
        for event in story(claim, REQUESTS[0])
    ]


def unwatched(claim: str, request: str) -> list[Event]:
    """The owner ends the registry entry."""
    return [say(Kind.CLAIM_RETIRED, claim, by="owner")]


def _life(draw: st.DrawFn, claim: str, request: str, *, watched: bool) -> list[Event]:
    """One claim, up to its end; most requests that it had a part in end before."""
    if draw(st.integers(0, 9)) == 0:
        return rejected(claim, request)
    middles = draw(st.lists(st.sampled_from(_WATCHED if watched else _MIDDLES), max_size=2))
    end = unwatched if watched else draw(st.sampled_from(_ENDS))
    begin = registered if watched else timed if end is told.expired else accepted
    events = [event for story in (begin, filled, *middles) for event in story(claim, request)]
    in_hand: list[Event] = []
    for event in events:
        if event.kind in (Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED):
            in_hand = [event] if event.kind is Kind.REQUEST_ARRIVED else []
    if in_hand and draw(st.integers(0, 4)):
        events += finishes(claim, request)
    return events + end(claim, request)


def _altered(draw: st.DrawFn, event: Event) -> Event:
    """The same event, about its claim in another way, or about another one."""
    claim, other = event.claim_id, draw(st.sampled_from(CLAIMS))
    change: dict[str, Any] = {}
    match draw(st.sampled_from(("as it is", "nameless", "misnamed", "rebound", "blame"))):
        case "nameless" if claim is not None and event.kind in _FREE:
            change = {"claim_id": None}
            if not (event.block_ids and draw(st.booleans())):
                change["object_id"] = f"object of {claim}"
        case "misnamed" if claim is not None and event.kind in REPORTS:
            change = {"claim_id": "claim:unheard-of", "object_id": f"object of {claim}"}
        case "rebound" if claim is not None:
            change = {"object_id": f"object of {other}"}
        case "blame" if event.kind in CONFLICT_ACTIONS:
            change = {"blocking_claim_ids": tuple(sorted({other, draw(st.sampled_from(CLAIMS))}))}
    return msgspec.structs.replace(event, **change)


@st.composite
def ended_lives(draw: st.DrawFn, *, watched: bool = False) -> list[Stamped]:
    """Some claims live and end, side by side or one after another; then a little more is stated."""
    events: list[Event] = []
    claims = draw(st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=3, unique=True))
    for claim, request in zip(claims, draw(st.permutations(REQUESTS)), strict=False):
        life, before = _life(draw, claim, request, watched=watched), events
        events = []
        for turn in draw(st.lists(st.booleans(), max_size=20)):
            source = life if turn else before
            events += [source.pop(0)] if source else []
        events += before + life
    for _ in range(draw(st.integers(0, 4))):
        story = draw(st.sampled_from(STORIES))
        late = story(draw(st.sampled_from(CLAIMS)), draw(st.sampled_from(REQUESTS)))
        events += [_altered(draw, event) for event in late]
    numbers = list(range(len(events)))
    if draw(st.integers(0, 9)) == 9:  # a gap, or a step back
        where, jump = draw(st.integers(0, len(events) - 1)), draw(st.sampled_from((-2, 1)))
        numbers = [max(0, n + jump) if i >= where else n for i, n in enumerate(numbers)]
    return list(zip(numbers, events, strict=True))
