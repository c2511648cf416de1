"""Tests of monitor.pool.owners: which claims hold each block, in a list or far from it."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest

from monitor.pool.owners import Owners

FAR: Final = 2**53
"""The highest number that a block may have."""


@pytest.mark.parametrize("seed", range(20))
def test_against_a_dictionary(seed: int) -> None:
    """Whatever comes and goes, each block has the owners that a plain dictionary has of it."""
    chance, owners, known = Random(seed), Owners(), dict[int, dict[str, set[int]]]()
    numbers = [*range(40), *range(1_000, 6_000, 500), FAR - 1, FAR]
    for step in range(400):
        some = tuple(chance.sample(numbers, chance.randint(1, 4)))
        match chance.randrange(6):
            case 0 | 1 | 2:
                if free := known.keys().isdisjoint(some):
                    places = tuple(range(len(some)))
                    run = owners.place(f"claim:{step}", some, places)
                    assert run is owners.run(some)
                    for block, place in zip(some, places, strict=True):
                        known[block] = {f"claim:{step}": {place}}
                assert free or not owners.are_free(some)
            case 3:
                assert known.pop(some[0], {}) == owners.pop(some[0])
            case 4:
                assert known.setdefault(some[0], {}) == owners.of(some[0])
                known[some[0]]["another"] = {7}
                owners.of(some[0])["another"] = {7}
            case _:
                if owners.run(some) is not None:
                    owners.drop_run(some)
                else:
                    for block in some:
                        owners.drop(block)
                for block in some:
                    known.pop(block, None)
        assert len(known) == len(owners)
        for block in numbers:
            assert known.get(block, {}).keys() == set(owners.names(block))
            assert (block not in known) is owners.are_free([block])
            holders = [(n, p) for n, places in known.get(block, {}).items() for p in places]
            assert (holders[0] if len(holders) == 1 else None) == owners.sole(block)


def test_many_blocks() -> None:
    """The blocks of one event may be many, in the list and far from it."""
    owners, some = Owners(), (*range(2_000), FAR)
    owners.place("claim", some, tuple(range(len(some))))
    assert 2_001 == len(owners)
    assert ("claim", 1_999) == owners.sole(1_999)
    assert ("claim", 2_000) == owners.sole(FAR)
    assert len(owners._runs) <= 2 * len(some) + 1_024
    owners.clear()
    assert 0 == len(owners)
    assert owners.are_free(some)


def test_growing() -> None:
    """Blocks that come one behind another make the list longer a few times, not once for each."""
    owners, lengths = Owners(), set[int]()
    for number in range(2_000):
        owners.place("claim", (FAR - number,), (0,))
    for _ in range(2_000):
        owners.place("claim", (len(owners._runs),), (0,))
        lengths.add(len(owners._runs))
    assert len(lengths) < 20
    assert len(owners._runs) <= 3 * len(owners) + 1_024
