"""What `make fuzz` asks holds of the samples, and of samples that are cut and changed."""

from __future__ import annotations

from random import Random

import pytest

from tests.fuzz import TARGETS, seeds


@pytest.mark.parametrize("what", sorted(TARGETS))
def test_changed(what: str) -> None:
    """A sample with some of its bytes changed, or cut, is read or refused as it should be."""
    random, ask = Random(7), TARGETS[what]
    for seed in seeds(what)[:25]:
        ask(seed)
        for _ in range(8):
            changed = bytearray(seed[: random.randrange(1, len(seed) + 1)])
            for _ in range(random.randrange(4)):
                changed[random.randrange(len(changed))] = random.randrange(256)
            ask(bytes(changed))
