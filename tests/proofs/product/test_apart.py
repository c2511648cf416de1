"""What one run comes to never depends on the runs that were followed before it."""

from __future__ import annotations

from typing import Any

import pytest

from models.framework.model import CACHE
from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.verdicts import Verdict
from spec.projection.alone import Alone, Shared
from spec.projection.stepper import Followed, Stepper

TWO = Followed(Mode.OFFLOADABLE, "claim:a", ["claim_identity"], ["claim:a", "claim:b"], ["r"])


def _event(kind: Kind, name: str | None, **more: Any) -> Event:
    about = {} if name is None else {"object_id": name, "cache_identity": CACHE}
    return Event(kind=kind, **about, **more)


def _registered(name: str, on: str) -> Event:
    said: dict[str, Any] = {"predicate": "leading_prefix_at_least(1)", "mode": "offloadable"}
    return _event(Kind.CLAIM_REGISTERED, on, claim_id=f"claim:{name}", footprint=1, **said)


def test_track_is_lost_in_one_run_alone() -> None:
    """A report that names another claim by two objects leaves other runs as they were."""
    stepper = Stepper(TWO)
    first = stepper.frozen()
    stepper.take(_registered("b", "b"))
    stepper.take(_event(Kind.CLAIM_MATERIALIZED, "c", claim_id="claim:b"))
    assert stepper.frozen()[-1] is not None
    stepper.thaw(first)
    assert first == stepper.frozen()


def test_a_load_of_nobody() -> None:
    """A load that does not say what it is of leaves open what the mode leaves open."""
    stepper = Stepper(TWO)
    stepper.take(_registered("a", "a"))
    stepper.take(_event(Kind.LOAD_FINISHED, None, block_ids=(0,), positions=(0,)))
    assert stepper.verdicts()["claim_identity"] is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    "event",
    [
        _event(Kind.BLOCK_EVICTED, "b", block_ids=(0,)),
        _event(Kind.BLOCK_LOST, "b"),
        _event(Kind.CLAIM_MATERIALIZED, "b", claim_id="claim:a"),
    ],
)
def test_what_may_be_of_two(event: Event) -> None:
    """A claim is not followed by itself where a fact may be of its blocks and of another's."""
    alone = Alone(TWO, "a")
    alone.take(_registered("a", "a"))
    alone.take(_event(Kind.BLOCK_CACHED, "a", block_ids=(0,), positions=(0,)))
    with pytest.raises(Shared):
        alone.take(event)
