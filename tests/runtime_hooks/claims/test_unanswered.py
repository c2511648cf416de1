"""Tests of claims.unanswered: what becomes of a claim whose request is aborted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_hooks.claims.arrivals import Arrival
from runtime_hooks.claims.metadata import TRY
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import TinyEngine, claim, keys_of


def arrives(engine: TinyEngine, name: str, stated: object, **more: Any) -> dict[str, str]:
    """The answers to a request with a claim on its prompt."""
    return engine.arrive(Arrival(name, keys_of("p", 20), 20, 20, stated, **more))[1]


@pytest.fixture
def engine() -> TinyEngine:
    return TinyEngine()


def live(engine: TinyEngine) -> list[str]:
    return list(engine.controller._registry.live)


def test_aborted(engine: TinyEngine) -> None:
    """The claim is released in its owner's name, which the trace reports, and all is kept."""
    assert {"claim": ""} == arrives(engine, "r", claim(blocks=20))
    engine.finish("r", aborted=True)
    assert [] == live(engine)
    assert ["tenant"] == [event.by for event in engine.kinds("claim_released")]
    assert ModeVerdict.VIOLATED is not engine.judge(Mode.HARD_PROTECTED).verdict


def test_answered(engine: TinyEngine) -> None:
    """A request that ended otherwise told its client; its claim stays."""
    arrives(engine, "r", claim(blocks=20))
    engine.finish("r")
    engine.finish("r", aborted=True)
    assert ["claim:a"] == live(engine)


def test_kept(engine: TinyEngine) -> None:
    """A claim that says so is kept."""
    assert {"claim": ""} == arrives(engine, "r", claim(blocks=20, on_abort="keep"))
    engine.finish("r", aborted=True)
    assert ["claim:a"] == live(engine)


@pytest.mark.parametrize("how", [None, 7, "kept", ["keep"], {}])
def test_wrong(engine: TinyEngine, how: object) -> None:
    """What it says must be one of two words, also where the claim is only tried."""
    stated = claim(blocks=20, on_abort=how)
    for answer in (arrives(engine, "r", stated), arrives(engine, "t", None, trial=stated)):
        assert "on_abort is neither keep nor release" in next(iter(answer.values()))
    assert [] == live(engine)


def test_tried(engine: TinyEngine) -> None:
    """A trial may say it, too."""
    assert {TRY: ""} == arrives(engine, "t", None, trial=claim(blocks=20, on_abort="keep"))


def test_retried(engine: TinyEngine) -> None:
    """A claim that was sent again stays as long as one of its requests may answer."""
    stated = claim(blocks=20)
    for name in ("first", "again"):
        assert {"claim": ""} == arrives(engine, name, stated)
    engine.finish("first", aborted=True)
    assert ["claim:a"] == live(engine)
    engine.finish("again", aborted=True)
    assert [] == live(engine)


def test_id_is_free(engine: TinyEngine) -> None:
    """Whoever was not told may send the claim again; in the trace each try has a name of its own,
    and the owner calls all of them by its id."""
    stated = claim(blocks=20)
    for number in range(3):
        assert {"claim": ""} == arrives(engine, f"r{number}", stated)
        engine.finish(f"r{number}", aborted=number < 2)
    accepted = [event.claim_id for event in engine.kinds("claim_accepted")]
    assert ["claim:a", "claim:a (try 2)", "claim:a (try 3)"] == accepted
    assert {"claim": ""} == arrives(engine, "again", stated)
    why = arrives(engine, "other", claim(blocks=10))["claim"]
    assert why.startswith("claim id claim:a is live with another ")
    assert "" == engine.release("claim:a", "tenant")
    assert "was used before" in arrives(engine, "late", stated)["claim"]
    assert ModeVerdict.VIOLATED is not engine.judge(Mode.HARD_PROTECTED).verdict


@pytest.mark.parametrize("name", ["a (try 2)", "a (rejected 1)"])
def test_reserved(engine: TinyEngine, name: str) -> None:
    """No claim has a name that another one may get."""
    assert "names of the trace" in arrives(engine, "r", claim(name, 20))["claim"]


def test_seen(engine: TinyEngine) -> None:
    """An owner who saw the claim live was told of it."""
    arrives(engine, "r", claim(blocks=20))
    assert "claim:a" == engine.controller.operator.show("claim:a", "tenant").shown.claim.claim_id
    engine.finish("r", aborted=True)
    assert ["claim:a"] == live(engine)


def test_no_claim(engine: TinyEngine) -> None:
    """What is no claim is rejected under a name that no claim has, however its request is named."""
    engine.serve("r1", 10, claim("claim of r2", 10), prompt="p")
    engine.serve("r2", 10, 5, prompt="q")
    assert ["claim of r2 (rejected 1)"] == [e.claim_id for e in engine.kinds("claim_rejected")]
    assert ModeVerdict.KEPT is engine.judge(Mode.HARD_PROTECTED).verdict


def test_other_ways_in(engine: TinyEngine) -> None:
    """A pin is its job's, and an aborted request does not end it."""
    engine.serve("job", 4, pin={"job_id": "j", "ttl": "60 s"})
    engine.finish("job", aborted=True)
    assert 1 == len(live(engine))


def test_told(engine: TinyEngine) -> None:
    """Who was told once is not told again: a later request that is aborted ends nothing."""
    stated = claim(blocks=20)
    arrives(engine, "first", stated)
    engine.finish("first")
    arrives(engine, "next turn", stated)
    engine.finish("next turn", aborted=True)
    assert ["claim:a"] == live(engine)


ACTS = st.lists(
    st.tuples(
        st.sampled_from("rst"), st.sampled_from(["arrive", "keep", "end", "abort", "release"])
    ),
    max_size=30,
)


@given(ACTS)
def test_any_order(acts: list[tuple[str, str]]) -> None:
    """A claim lives until its owner releases it, or until no request is left that may tell of it
    and none did; in the end nothing is remembered."""
    engine, running, told = TinyEngine(), dict[str, str](), set[str]()
    current = ""
    for number, (name, act) in enumerate(acts):
        if act in ("arrive", "keep") and name not in running:
            current = current or f"claim:{number}"
            more = {"on_abort": "keep"} if act == "keep" else {}
            assert {"claim": ""} == arrives(engine, name, claim(current, 20, **more))
            running[name] = current
            told |= {current} if act == "keep" else set()
        elif act in ("end", "abort") and name in running:
            of = running.pop(name)
            engine.finish(name, aborted=act == "abort")
            told |= {of} if act == "end" else set()
            if of == current and of not in told and of not in running.values():
                current = ""
        elif act == "release" and current:
            engine.release(current, "tenant")
            current = ""
        assert bool(current) == bool(live(engine))
    for name in running:
        engine.finish(name)
    unanswered = engine.controller._admission.unanswered
    assert ({}, {}) == (unanswered._claims, unanswered._requests)
