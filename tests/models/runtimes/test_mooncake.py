"""The model of Mooncake's master: pins, their TTL, and events that are dropped."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.framework.explore import reach
from models.framework.model import Signal
from models.runtimes.mooncake import INFERENCES, VARIANTS, Ask, Mooncake, Pin, State
from proofs.product.search import Answer
from tests.models.runtimes.inferred import find, found, made, run

BY_NAME = {inference.name: inference for inference in INFERENCES}
V, X = "victim_exclusion_before_violation", "explicit_conflict_action"
E, H = "claim_expired_boundary", "claim_harm_attribution"
M, T = "claim_materialized_event", "claim_scoped_telemetry"
SOFT = BY_NAME["soft pin -> hard_protected"]
HARD = BY_NAME["hard pin -> hard_protected"]
LOSS = BY_NAME["removed event -> loss reported"]


@pytest.mark.parametrize(
    ("variant", "size"),
    [
        ("soft", (119, 288)),
        ("hard", (9, 12)),
        ("recovery", (473, 1207)),
        ("revives", (151, 364)),
        ("full_queue", (237, 691)),
    ],
)
def test_size(variant: str, size: tuple[int, int]) -> None:
    """Each variant has so many states and transitions, and its properties hold."""
    reached = reach(VARIANTS[variant]())
    assert size == (reached.states, reached.transitions)
    assert reached.broken == reached.missed == ()


BROKEN = {
    "soft pin -> expiring": {E: 7, H: 9},
    "soft pin -> hard_protected": {V: 10, H: 11, M: 6},
    "hard pin -> hard_protected": {X: 7, M: 6},
    "removed event -> loss reported": {M: 5, T: 10},
}


@pytest.mark.parametrize("name", BROKEN)
def test_breaks_what_is_inferred(name: str, tmp_path: Path) -> None:
    """Each inference is refuted by just these obligations, in runs of so many events."""
    assert BROKEN[name] == found(BY_NAME[name], tmp_path)


def test_every_inference_is_judged_here() -> None:
    """No inference of the model is left out of the table."""
    assert set(BY_NAME) == set(BROKEN)


def test_hard_pins_exclude(tmp_path: Path) -> None:
    """A hard-pinned object is no victim: what is pinned stays, and a put fails."""
    assert find(HARD, V, tmp_path).answer is Answer.KEPT
    for each in made(VARIANTS["hard"]()):
        assert {*each.before.hard} <= {*dict(each.after.stored)}
    assert find(HARD, X, tmp_path).actions == ("ask", "ask", "finish")


def test_recovery_forgets_soft_pins(tmp_path: Path) -> None:
    """Without recovery a soft pin lasts for its TTL where another object can be evicted."""
    assert find(SOFT, V, tmp_path).actions == ("ask", "recover", "ask", "ask")
    asks = (Ask("r1", "a", Pin.SOFT), Ask("r2", "b"), Ask("r3", "c"))
    assert "tick" in find(SOFT, V, tmp_path, Mooncake(2, asks)).actions
    steps = [each for each in made(VARIANTS["recovery"]()) if each.action.name == "recover"]
    assert steps
    assert not any(each.after.soft or each.emits for each in steps)


def test_reads_do_not_extend() -> None:
    """A read leaves the steps to the end of a pin as they are; a put that pins sets them."""
    asks = (Ask("r1", "a", Pin.SOFT), Ask("r2", "a"), Ask("r3", "a", Pin.SOFT))
    steps = run(Mooncake(1, asks), ("ask", "r1"), ("tick",), ("ask", "r2"), ("ask", "r3"))
    assert [2, 1, 1, 2] == [dict(each.after.soft)["a"] for each in steps]


@pytest.mark.parametrize(("revives", "soft"), [(False, ()), (True, (("a", 2),))])
def test_revival(revives: bool, soft: tuple[tuple[str, int], ...]) -> None:
    """In the older version a read of an object whose pin has expired pins it again."""
    model = Mooncake(revives=revives)
    last = run(model, ("ask", "r1"), ("tick",), ("tick",), ("ask", "r3"))[-1].after
    assert soft == last.soft


def test_a_full_queue_drops_the_oldest_event(tmp_path: Path) -> None:
    """The removal is dropped for the store that follows; sent at once, both are reported."""
    model = VARIANTS["full_queue"]()
    steps = run(model, ("ask", "r1"), ("send",), ("ask", "r2"), ("send",))
    assert (("stored", "b"),) == steps[2].after.news
    sent = [[(e.name, e.holder) for e in s.emits if isinstance(e, Signal)] for s in steps]
    assert [[("stored", "r1")], [("stored", "r2")]] == sent[1::2]
    assert find(LOSS, T, tmp_path, Mooncake()).answer is Answer.KEPT


def test_no_event_is_about_a_pin() -> None:
    """As time passes the master publishes no event: `ttl_elapsed` is by the client's clock."""
    steps = [each for each in made(Mooncake()) if each.action.name == "tick"]
    assert {"ttl_elapsed"} == {said.name for s in steps for said in s.emits}  # type: ignore[union-attr]


class _Blind(Mooncake):
    """Planted: eviction does not look at pins."""

    def _victim(self, state: State) -> str | None:
        return next((name for name, _ in state.stored), None)


def test_blind_eviction(tmp_path: Path) -> None:
    """Planted: where eviction does not look at pins, no hard pin excludes its object."""
    asks = (Ask("r1", "a", Pin.HARD), Ask("r2", "b"))
    assert find(HARD, V, tmp_path, _Blind(1, asks)).actions == ("ask", "ask")
