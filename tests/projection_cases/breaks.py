"""Streams that break off, go on, or state two things of one: gaps, marks, owners, caches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import msgspec

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event, Mark
from spec.projection.lines import Line
from tests.spec.projection.stories import begun, ended, event, lines

__all__ = ["hidden", "opened_again", "stated_twice"]


def _gone(*blocks: int) -> Event:
    return event(Kind.BLOCK_EVICTED, block_ids=blocks)


def hidden(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """A claim that comes where lines may be missing, and blocks that nobody is known to have."""
    nobodys = event(Kind.BLOCK_CACHED, object_id="p", block_ids=(80,), positions=(0,))
    old = [*begun("a", mode, block=10), *ended("a"), nobodys]
    claim = begun("c", mode, block=40)
    registered, committed, accepted, cached, said = claim
    starts = {
        "cached": claim,
        "not cached": [registered, committed, accepted, said],
        "neither cached nor said": [registered, committed, accepted],
        "not committed to": [registered, accepted, cached, said],
        "not registered": [accepted, cached, said],
        "accepted twice": [*claim, accepted],
        "rejected": [registered, event(Kind.CLAIM_REJECTED, "c")],
        "over": [*claim, *ended("c")],
    }
    other = event(Kind.BLOCK_CACHED, object_id="o", block_ids=(70,), positions=(0,))
    goes = {
        "nothing goes": [],
        "a strange block goes": [_gone(99)],
        "an old block goes": [_gone(10)],
        "an old block of nobody goes": [_gone(80)],
        "its own goes": [_gone(40)],
        "another's goes": [other, _gone(70)],
        "another's goes twice": [other, _gone(70), _gone(70)],
        "another's comes back": [other, _gone(70), other, _gone(70)],
        "another's goes with all": [other, event(Kind.BLOCK_LOST), _gone(70)],
    }
    every = product((0, len(old)), (0, 1, -2), starts.items(), goes.items())
    for begins, jump, (start, comes), (what, happens) in every:
        stream = lines(*old[:begins], *comes, *happens)
        numbered = [
            line._replace(sequence=max(0, number + jump * (number >= begins)))
            for number, line in enumerate(stream)
        ]
        yield f"{begins} lines, then {jump}: {start}, {what}", numbered


def opened_again(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """A stream that is opened in its middle: again, or for the first time."""
    claim = begun("a", mode)
    rests = {"it ends": ended("a"), "another comes": begun("b", mode, block=20)}
    every = product((True, False), (True, False), ("on", "anew", "none"), rests.items())
    for opened, closed, numbers, (rest, then) in every:
        first: list[Event | Mark] = [Mark.STREAM_OPENED] if opened else []
        first += [*claim, *([Mark.STREAM_CLOSED] if closed else [])]
        last = [Mark.STREAM_OPENED, *then, Mark.STREAM_CLOSED]
        before, after = _marked(first, 0, 0), _marked(last, len(first), len(first))
        if numbers == "anew":
            after = _marked(last, len(first), 0)
        stream = [*before, *after]
        if numbers == "none":
            stream = [line._replace(sequence=None) for line in stream]
        yield f"opened {opened}, closed {closed}, numbers {numbers}, {rest}", stream


def _marked(said: Sequence[Event | Mark], above: int, number: int) -> list[Line]:
    return [
        Line(above + place + 1, mark=each, sequence=number + place)
        if isinstance(each, Mark)
        else Line(above + place + 1, (each,), number + place)
        for place, each in enumerate(said)
    ]


def stated_twice(mode: Mode) -> Iterator[tuple[str, list[Line]]]:
    """Two owners of a claim, and two caches of its blocks."""
    claim = begun("a", mode)
    ends = {
        name: [e if e.by is None else _by(e, name) for e in ended("a")] for name in ("owner", "u")
    }
    for place, kind, owner, (who, over) in product(
        (1, 2, 3), (0, 1, 2), (None, "owner", "u"), ends.items()
    ):
        again = msgspec.structs.replace(claim[kind], owner_scope=owner)
        name = f"{claim[kind].kind} again before {place}, of {owner}, ended by {who}"
        yield name, lines(*claim[:place], again, *claim[place:], *over)
    abouts: list[dict[str, str]] = [{}, {"claim_id": "b"}]
    for about, object_id, cache in product(
        abouts, (None, "object of a", "q"), (None, "cache", "other")
    ):
        fields = {"object_id": object_id, "cache_identity": cache, **about}
        held = Event(kind=Kind.BLOCK_CACHED, block_ids=(10, 11), positions=(0, 1), **fields)
        yield f"cached for {about} {object_id} in {cache}", lines(*claim, held, *ended("a"))
        yield (
            f"cached for {about} {object_id} in {cache}, after a loss",
            lines(*claim, _gone(10, 11), held),
        )


def _by(end: Event, name: str) -> Event:
    return msgspec.structs.replace(end, by=name)
