"""Claims on one object of which one states contents, that a claim on another object has, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations, product
from random import Random
from typing import Any

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection.lines import Line
from tests.spec.projection.stories import (
    arrives,
    begun,
    cached,
    ended,
    event,
    finishes,
    keyed,
    lines,
)

__all__ = ["adopted", "ahead", "past_the_end"]

_ON: dict[str, Any] = {"object_id": "object"}
_KEYS = ("k", "l")


def _comes(name: str, mode: Mode, keys: tuple[str, ...] = (), **terms: Any) -> list[Event]:
    """A claim that is registered, committed to and accepted, and holds nothing of its own."""
    return keyed(begun(name, mode, **terms), keys)[:3]


def _claims(mode: Mode) -> Iterator[tuple[str, dict[str, list[Event]]]]:
    """Claim a states contents, b is on its object, and c has these contents elsewhere."""
    a, b, c = _comes("a", mode, _KEYS, **_ON), _comes("b", mode, **_ON), _comes("c", mode, _KEYS)
    usual = {"a": a, "b": b, "c": c}
    yield "three claims", usual
    yield "b is best effort", usual | {"b": begun("b", Mode.BEST_EFFORT, **_ON)[:1]}
    yield "b is shorter", usual | {"b": _comes("b", mode, size=1, **_ON)}
    yield "b is longer", usual | {"b": _comes("b", mode, size=3, **_ON)}
    yield "a is shorter", usual | {"a": _comes("a", mode, ("k",), size=1, **_ON)}
    yield "c is longer", usual | {"c": _comes("c", mode, ("k", "l", "m"), size=3)}
    yield "c has one of them", usual | {"c": _comes("c", mode, ("k", "m"))}
    yield "b states the same", usual | {"b": _comes("b", mode, _KEYS, **_ON)}
    yield "b states less", usual | {"b": _comes("b", mode, ("k",), **_ON)}
    yield "b states more", usual | {"b": _comes("b", mode, (*_KEYS, "m"), size=3, **_ON)}
    yield "b states another", usual | {"b": _comes("b", mode, ("k", "m"), **_ON)}
    elsewhere = {**_ON, "cache_identity": "another"}
    yield "b is in another cache", usual | {"b": _comes("b", mode, **elsewhere)}
    yield "b is in no cache", usual | {"b": _comes("b", mode, **{**_ON, "cache_identity": None})}
    moves = event(Kind.CLAIM_ACCEPTED, "b", footprint=2, cache_identity="cache")
    late = _comes("b", mode, **{**_ON, "cache_identity": None})
    yield "b comes to its cache late", usual | {"b": [*late[:2], moves]}
    grows, longer = event(Kind.CLAIM_ACCEPTED, "b", footprint=3), (*_KEYS, "m")
    yield "b grows", usual | {"b": [*b[:2], grows], "c": _comes("c", mode, longer, size=3)}
    yield "b ends and grows", usual | {"b": [*b, *ended("b"), grows]}
    yield "b ends and moves", usual | {"b": [*late[:2], *ended("b"), moves]}
    yield (
        "b states another, ends and moves",
        usual | {"b": [*keyed(late[:2], ("k", "m")), *ended("b"), moves]},
    )
    yield "a is committed to again", usual | {"a": [a[0], _rejected("a"), *a[1:]]}
    yield "a comes again", usual | {"a": [*_comes("a", mode, **_ON), *ended("a"), *a[1:]]}
    other = _comes("d", mode, ("k", "m", "n"), size=3, **_ON)
    of_it = usual | {"b": _comes("b", mode, size=3, **_ON), "d": other}
    yield "two contents", of_it | {"c": _comes("c", mode, ("k", "m", "n"), size=3)}


def _orders(claims: dict[str, list[Event]]) -> Iterator[tuple[str, list[Event]]]:
    """In each order in which they may come, and where one is registered before the others."""
    for order in permutations(claims):
        yield " ".join(order), [each for name in order for each in claims[name]]
    for first in claims:
        rest = [each for name in claims if name != first for each in claims[name]]
        yield f"{first} first", [claims[first][0], *rest, *claims[first][1:]]
    yield "a ends", [*claims["a"], *claims["b"], *ended("a"), *claims["c"]]
    yield "a ends before b", [*claims["a"], *ended("a"), *claims["b"], *claims["c"]]
    yield "b ends", [*claims["b"], *claims["a"], *ended("b"), *claims["c"]]


def _reports() -> dict[str, list[Event]]:
    there = [event(Kind.CLAIM_MATERIALIZED, name) for name in "abc"]
    asks = [arrives("s", 1), event(Kind.PREFIX_LOOKUP, "b", request_id="s", asked=2, held=2)]
    first, second = (event(Kind.BLOCK_EVICTED, block_ids=ids) for ids in ((10,), (20, 11)))
    return {
        "there": there,
        "a use": [*asks, event(Kind.PREFIX_REUSED, "b", request_id="s"), finishes("s")],
        "gone": [*there, first, *(event(Kind.CLAIM_HARMED, name) for name in "bc")],
        "a copy": [cached("b", 20), *there, first, second, event(Kind.CLAIM_HARMED, "c")],
        "not named": [event(Kind.BLOCK_LOST, "c"), *there],
    }


def adopted(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """Blocks come to one of the claims, in the end or before, and one thing is said of it all."""
    chance, reports = Random(1), [*_reports().items()]
    load = event(Kind.LOAD_FINISHED, "c", request_id="r", held=2)
    brought: dict[str, Event] = {name: cached(name, 10, 11) for name in "abc"}
    brought |= {"c, not named": load, "c, three": cached("c", 10, 11, 12)}
    brought |= {"the object": cached("a", 10, 11)}
    about = {"cache_identity": "cache", "block_ids": (10, 11), "positions": (0, 1), **_ON}
    brought["the object"] = event(Kind.BLOCK_CACHED, **about)
    for kind, claims in _claims(mode):
        for (order, come), (by, blocks) in product(_orders(claims), brought.items()):
            report, said = chance.choice(reports)
            yield f"{kind}, {order}, by {by}, {report}", lines(*come, blocks, *said)
    usual = dict(_claims(mode))["three claims"]
    longer = (*_KEYS, "m")
    a, c = (_comes(n, mode, longer, size=3, **on) for n, on in (("a", _ON), ("c", {})))
    b = _comes("b", mode, _KEYS, size=3, **_ON)
    for report, said in reports:
        held = [*a, b[0], *ended("a"), *b[1:], *c, cached("c", 10, 11, 12)]
        yield f"b states less than a did, {report}", lines(*held, *said)
        held = [*usual["a"], cached("a", 10, 11), *ended("a"), *usual["b"], *usual["c"]]
        entered = [usual["a"][0], cached("a", 10, 11), *ended("a"), *usual["b"][:1]]
        yield f"a over is committed to, {report}", lines(*entered, *usual["a"][1:], *said)
        yield f"a over grows, {report}", lines(*held, _grows("a"), *said)
        yield f"a over comes again, {report}", lines(*held, *usual["a"][1:], *said)
    for (order, come), (by, blocks) in product(_orders(usual), brought.items()):
        for at in range(1, len(come)):
            report, said = chance.choice(reports)
            stream = [*come[:at], blocks, *come[at:], *said]
            yield f"{order}, by {by} before {at}, {report}", lines(*stream)


def past_the_end(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """Blocks come to a claim that is shorter than another one on its object, also past its end."""
    keys = (*_KEYS, "m")
    a, c = _comes("a", mode, ("k",), size=1, **_ON), _comes("c", mode, keys, size=3)
    b = _comes("b", mode, keys, size=3, **_ON)
    elsewhere = {**_ON, "cache_identity": "another"}
    others = {
        "b is longer": b,
        "b states as much": _comes("b", mode, ("k",), size=3, **_ON),
        "b states nothing": _comes("b", mode, size=3, **_ON),
        "b states another": _comes("b", mode, ("k", "n", "m"), size=3, **_ON),
        "b is in another cache": _comes("b", mode, keys, size=3, **elsewhere),
        "b is on another object": _comes("b", mode, keys, size=3),
        "b is not known": [b[2]],
        "b ends": [*b, *ended("b")],
        "b is turned away": [b[0], _rejected("b")],
        "b is only registered": b[:1],
    }
    ways = {
        "a keyed": (a, cached("a", 10, 11, 12)),
        "a bare": (_comes("a", mode, size=1, **_ON), cached("a", 10, 11, 12)),
        "a, not named": (a, event(Kind.LOAD_FINISHED, "a", request_id="r", held=3)),
        "a, two": (a, cached("a", 10, 11)),
    }
    for (kind, other), (way, (short, blocks)) in product(others.items(), ways.items()):
        for report, said in _reports().items():
            yield f"{kind}, {way}, {report}", lines(*short, *other, *c, blocks, *said)
            yield f"{kind}, {way}, c late, {report}", lines(*short, *other, blocks, *c, *said)


def _stories(mode: Mode) -> Iterator[tuple[str, list[Event]]]:
    """Claim h holds blocks before it is committed to, and b comes to its content."""
    for kind, (on, keys, other) in {
        "by an object": (_ON, (), ()),
        "by keys": (_ON, _KEYS, _KEYS),
        "by a claim between": (_ON, _KEYS, ()),
    }.items():
        # No claim is tracked later than it is registered where all are watched.
        late = Mode.HARD_PROTECTED if mode is Mode.BEST_EFFORT else mode
        h, b = _comes("h", late, **_ON), _comes("b", mode, other, **on)
        if keys:
            b = _comes("b", mode, keys)
        between = _comes("a", mode, keys, **_ON) if keys else []
        over = ended("a") if between else []
        for blocks in (
            cached("h", 10, 11),
            cached("h", 10),
            event(Kind.LOAD_FINISHED, "h", held=2),
        ):
            held = f"{kind}, {len(blocks.block_ids)} blocks"
            yield f"{held}, b later", [*between, h[0], blocks, *b]
            yield f"{held}, a over", [*between, h[0], *over, blocks, *b]
            yield f"{held}, a over, then h", [*between, h[0], *over, blocks, *b, *h[1:]]
            yield f"{held}, h first", [h[0], blocks, *between, *b]
            yield f"{held}, b with some", [*between, h[0], blocks, *b, cached("b", 20)]
            yield f"{held}, b with all", [*between, h[0], blocks, *b, cached("b", 20, 21)]
            yield f"{held}, b with more", [*between, h[0], blocks, *b, cached("b", 20, 21, 22)]
            yield f"{held}, b over", [*between, h[0], blocks, *b, *ended("b")]
            yield f"{held}, h grows", [*between, h[0], blocks, *b, _grows("h")]
            yield f"{held}, b late", [*between, h[0], blocks, b[0], *_gone(), *b[1:]]
            there = _comes("b", mode, **{**_ON, "object_id": "its"})
            states = _comes("c", mode, keys, **{**_ON, "object_id": "its"})
            both = [there[0], *states, *_gone(), *there[1:]]
            yield f"{held}, b later by c", [*between, h[0], blocks, *both]
            short = _comes("h", late, size=1, **_ON)
            yield f"{held}, h is shorter", [*between, short[0], blocks, *b]
            yield f"{held}, then h", [*between, h[0], blocks, *b, *h[1:]]
            yield f"{held}, h ends", [*between, h[0], blocks, *b, *ended("h")]
            yield f"{held}, h is turned away", [*between, h[0], blocks, *b, _rejected("h")]
            yield f"{held}, b before", [*between, *b, h[0], blocks]
            yield f"{held}, h alone", [*between, h[0], blocks, *h[1:]]
            yield f"{held}, b after h", [*between, *h, blocks, *ended("h"), *b]
            yield f"{held}, b in no mode", [*between, h[0], blocks, *_without_mode(b)]


def _rejected(name: str) -> Event:
    return event(Kind.CLAIM_REJECTED, name)


def _grows(name: str) -> Event:
    return event(Kind.CLAIM_ACCEPTED, name, footprint=3)


def _gone() -> list[Event]:
    """Blocks of the one are gone that another one may hold."""
    return [event(Kind.BLOCK_EVICTED, block_ids=(10, 11))]


def _without_mode(claim: Iterable[Event]) -> list[Event]:
    """The claim as one of best effort: nothing commits to it."""
    name = next(iter(claim)).claim_id or ""
    return begun(name, Mode.BEST_EFFORT, **_ON)[:1]


def ahead(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """What becomes of the blocks of the one, and what is said of the other."""
    goings = {
        "none goes": [],
        "they go": [event(Kind.BLOCK_EVICTED, block_ids=(10, 11))],
        "one goes": [event(Kind.BLOCK_EVICTED, block_ids=(10,))],
        "the last one goes": [event(Kind.BLOCK_EVICTED, block_ids=(11,))],
        "one goes, of another object": [
            event(Kind.BLOCK_LOST, "h", block_ids=(20,), object_id="another")
        ],
        "others go": [event(Kind.BLOCK_EVICTED, block_ids=(20, 21))],
        "all go": [event(Kind.BLOCK_EVICTED, block_ids=(10, 11, 20, 21))],
        "what is not named goes": [event(Kind.BLOCK_LOST, "h")],
        "those of the object go": [event(Kind.BLOCK_LOST, cache_identity="cache", **_ON)],
        "everything goes": [event(Kind.BLOCK_LOST)],
    }
    asks = [arrives("s", 1), event(Kind.PREFIX_LOOKUP, "b", request_id="s", asked=2, held=2)]
    shows = {
        "nothing": [],
        "there": [event(Kind.CLAIM_MATERIALIZED, "b"), finishes("s")],
        "harm": [event(Kind.CLAIM_HARMED, "b")],
        "a use": [*asks, event(Kind.PREFIX_REUSED, "b", request_id="s"), finishes("s")],
        "a use of the object": [
            arrives("s", 1),
            event(Kind.PREFIX_LOOKUP, cache_identity="cache", asked=2, held=2, **_ON),
            event(Kind.PREFIX_REUSED, cache_identity="cache", request_id="s", **_ON),
        ],
        "there, then harm": [event(k, "b") for k in (Kind.CLAIM_MATERIALIZED, Kind.CLAIM_HARMED)],
    }
    chance, first = Random(1), [event(Kind.CLAIM_MATERIALIZED, "b")]
    for (story, come), (going, gone) in product(_stories(mode), goings.items()):
        for before in ([], first):
            then, said = chance.choice([*shows.items()])
            there = f"{'there, ' if before else ''}{going}"
            yield f"{story}, {there}, {then}", lines(*come, *before, *gone, *said)
