"""What begins alike in a trace, by what looked up or found what."""

from __future__ import annotations

from typing import Any

from models.framework.joins import Asked, Joins
from spec.events.alphabet import Kind
from spec.events.canonical import Event


def cached(request: str, *blocks: int, at: int = 0) -> Event:
    """A request computed these blocks, from a position on."""
    where = tuple(range(at, at + len(blocks)))
    return Event(kind=Kind.BLOCK_CACHED, request_id=request, block_ids=blocks, positions=where)


def found(claim: str, *blocks: int) -> Event:
    """A claim found these blocks, from its first position on."""
    where = tuple(range(len(blocks)))
    more: dict[str, Any] = {"block_ids": blocks, "positions": where, "found": True}
    return Event(kind=Kind.BLOCK_CACHED, claim_id=claim, **more)


def looked(request: str, claim: str, asked: int) -> Event:
    """A request can use so many blocks of a claim."""
    about = {"claim_id": claim, "request_id": request}
    return Event(kind=Kind.PREFIX_LOOKUP, **about, held=0, asked=asked)


def joined(*events: Event, **sizes: int) -> Joins:
    """What begins alike, with claims of these sizes."""
    return Joins(events, {name: Asked(size, spares=False) for name, size in sizes.items()})


class TestFound:
    """A claim finds what is cached of its prompt, all of it."""

    def test_less_than_is_cached(self) -> None:
        """Where the next block of the request is cached the claim is on another prompt behind."""
        assert {"r": (1, True)} == joined(cached("r", 1, 2), found("c", 1), c=2).limits

    def test_in_two_events(self) -> None:
        """What a claim finds is what all events state of it that follow each other."""
        more = Event(
            kind=Kind.BLOCK_CACHED, claim_id="c", block_ids=(2,), positions=(1,), found=True
        )
        joins = joined(cached("r", 1, 2, 3), found("c", 1), more, c=3)
        assert {"r": (2, True)} == joins.limits

    def test_all_that_the_request_has(self) -> None:
        """Where the request has no more there is no limit."""
        joins = joined(cached("r", 1, 2), found("c", 1, 2), c=3)
        assert ({}, "") == (joins.limits, joins.open)

    def test_all_that_the_claim_has(self) -> None:
        """Nor where the claim has no more."""
        joins = joined(cached("r", 1, 2), found("c", 1), c=1)
        assert ({}, "") == (joins.limits, joins.open)

    def test_what_was_evicted(self) -> None:
        """Where the next block of the request was evicted the claim may be on it, or not."""
        gone = Event(kind=Kind.BLOCK_EVICTED, request_id="s", block_ids=(2,))
        joins = joined(cached("r", 1, 2), gone, found("c", 1), c=2)
        assert "whether claim c is on all blocks of r does not show" == joins.open

    def test_a_report_joins_nothing(self) -> None:
        """Reports are on trial: that one names a claim and a request shows nothing of them."""
        told = Event(kind=Kind.CLAIM_RESTORED, claim_id="c", request_id="r", from_tier=True)
        joins = joined(cached("r", 1), told, c=1)
        assert joins.object_of("claim c") != joins.object_of("request r")

    def test_they_are_of_one_object(self) -> None:
        """The claim and the request whose block it found begin alike, and others do not."""
        joins = joined(cached("r", 1, 2), cached("s", 3), found("c", 1), c=2)
        claim, request, other = map(joins.object_of, ("claim c", "request r", "request s"))
        assert claim == request != other


class TestLookedUp:
    """A request looks up what it shares with a claim, but for the block with its last token."""

    def test_less_than_the_claim(self) -> None:
        """A longer request that asks for less than the claim has goes on otherwise."""
        assert {"r": (1, True)} == joined(looked("r", "c", 1), cached("r", 1, 2, 3), c=2).limits

    def test_the_last_block(self) -> None:
        """Of the last block it does not show whether it is the claim's."""
        assert {"r": (1, False)} == joined(looked("r", "c", 1), cached("r", 1, 2), c=2).limits

    def test_all_of_the_claim(self) -> None:
        """Behind the claim nothing shows."""
        assert {} == joined(looked("r", "c", 2), cached("r", 1, 2, 3), c=2).limits


class TestClaims:
    """Claims of one object are on the first blocks of one prompt, or it is open."""

    def test_one_request_shares_more_with_another(self) -> None:
        """They are not, where a request shares all of one, and less of the other."""
        joins = joined(looked("r", "c", 3), looked("r", "d", 1), c=3, d=2)
        assert "r shares more with others than with d" == joins.open

    def test_one_request_shares_all_of_the_smaller(self) -> None:
        """They are, where a request shares with both what the smaller one has."""
        assert "" == joined(looked("r", "c", 3), looked("r", "d", 2), c=3, d=2).open

    def test_names_of_contents(self) -> None:
        """They are, or are not, where the names of their contents are stated."""
        for keys, nested in ((("x", "y"), True), (("x", "z"), False)):
            events = [
                Event(kind=Kind.CLAIM_COMMITTED, claim_id="c", content_keys=("x", "y", "v")),
                Event(kind=Kind.CLAIM_COMMITTED, claim_id="d", content_keys=keys),
                *(looked(request, claim, 1) for request, claim in (("r", "c"), ("r", "d"))),
            ]
            assert nested == ("may be of different" not in joined(*events, c=3, d=2).open)

    def test_nothing_shows(self) -> None:
        """It is open where they only have a first block in common."""
        joins = joined(cached("r", 1), found("c", 1), found("d", 1), c=3, d=2)
        assert "claims c and d may be of different prompts" == joins.open
