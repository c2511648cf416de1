"""A claim whose owner is not answered, because the plugin failed, is ended."""

from functools import partial

import pytest

from runtime_hooks.claims.arrivals import Arrival
from runtime_hooks.claims.pins import Pins
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import TinyEngine, claim, keys_of

HARD = Mode.HARD_PROTECTED


def fail(*_: object, **__: object) -> None:
    raise RuntimeError("a fault of ours")


def arrive(engine: TinyEngine) -> None:
    """A request with a claim on what is cached already, of which the arrival fails."""
    arrival = Arrival("active", keys_of("active", 20), 20, 20, claim("claim:lost", 20))
    with pytest.raises(RuntimeError):
        engine.controller.undo_on_failure(engine.arrive, arrival)


@pytest.mark.parametrize(
    "place",
    ["_arbitration._state", "_arbitration._yielding_for", "tracker.find", "offloaded.add"],
    ids=str,
)
def test_arrival(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Wherever it fails its blocks are not held, and claims of others are; readers see a gap."""
    engine = TinyEngine()
    assert engine.serve("resident", 40, claim("claim:kept", 40))
    assert engine.serve("active", 20)
    with monkeypatch.context() as patch:
        owner, _, name = place.partition(".")
        patch.setattr(getattr(engine.controller, owner), name, fail)
        arrive(engine)
    assert ["claim:kept"] == list(engine.controller._registry.live)
    assert 40 == len(engine.pool.free)
    assert engine.serve("again", 20, claim("claim:new", 20), prompt="active")

    # The runtime may not demote this claim, which the claim's lifecycle notices.
    engine.expected_faults = {("claim lifecycle", "OwnershipError"): 1}
    judged = {c.claim_id: c.verdict for c in engine.judge(HARD).claims}
    assert ModeVerdict.VIOLATED not in judged.values()
    assert ModeVerdict.INCONCLUSIVE is judged["claim:lost"] is judged["claim:kept"]


def test_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an earlier request was told of stays, whatever fails later."""
    engine = TinyEngine()
    engine.controller.undo_on_failure(engine.serve, "resident", 40, claim("claim:kept", 40))
    monkeypatch.setattr(engine.controller, "_finish", fail)
    with pytest.raises(RuntimeError):
        engine.controller.undo_on_failure(engine.finish, "resident")
    assert ["claim:kept"] == list(engine.controller._registry.live)


def test_pin(monkeypatch: pytest.MonkeyPatch) -> None:
    """So is a pin that was made when its request ended."""
    engine, ended = TinyEngine(), Pins.finish

    def finish(self: Pins, request_id: str) -> None:
        assert "" == ended(self, request_id)
        fail()

    monkeypatch.setattr(Pins, "finish", finish)
    with pytest.raises(RuntimeError):
        engine.controller.undo_on_failure(
            partial(engine.serve, pin={"job_id": "agent"}), "turn", 20
        )
    assert 0 == engine.controller.claims
    assert 80 == len(engine.pool.free)
