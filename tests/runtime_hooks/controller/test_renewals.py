"""Tests of renewals and of claims that are only tried: what they answer, and that traces hold."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_hooks.claims.metadata import NULL, RENEW, TRY
from runtime_hooks.claims.ownership import prepare, signed
from runtime_hooks.settings.config import Settings
from runtime_hooks.settings.quotas import Quota, Quotas
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import NS, TinyEngine, TinyTier, claim, keys_of

NONE = "there is no live claim of that id that the caller owns"
MODES = ("hard_protected", "demotable", "expiring", "offloadable", "soft_priority", "best_effort")


def expiring(name: str = "claim:a", blocks: int = 60, **more: Any) -> dict[str, Any]:
    """A claim for ten seconds."""
    return claim(name, blocks, **{"mode": "expiring", "duration": "10 s", **more})


def renewal(name: str = "claim:a", successor: str = "claim:a2", **more: Any) -> dict[str, Any]:
    """A renewal as a request states it."""
    return {"claim_id": name, "successor": successor, "owner_scope": "tenant", **more}


def said(engine: TinyEngine, key: str, **asked: Any) -> str:
    """The answer to a small request that asks for this."""
    assert engine.serve(f"r{len(engine.answers)}", 1, **asked)
    return engine.answers[-1][key]


class TestRenewal:
    def test_lasts(self) -> None:
        """Another claim follows on the same blocks, which are held without a break; both claims are
        kept."""
        engine = TinyEngine()
        engine.serve("resident", 60, expiring())
        engine.now += 9 * NS
        assert "" == said(engine, RENEW, renewal=renewal(duration="30 s"))
        (entry,) = engine.controller._registry.live.values()
        assert ("claim:a2", "30 s", 60) == (
            entry.claim_id,
            str(entry.claim.duration),
            len(entry.held),
        )
        assert 20 == len(engine.pool.free)
        engine.now += 29 * NS
        assert not engine.serve("active", 70)
        engine.now += 2 * NS
        assert engine.serve("active again", 70)
        report = engine.judge(Mode.EXPIRING)
        assert {"claim:a": ModeVerdict.KEPT, "claim:a2": ModeVerdict.KEPT} == {
            c.claim_id: c.verdict for c in report.claims
        }
        ends = {e.claim_id: e.kind for e in engine.kinds("claim_released", "claim_expired")}
        assert {"claim:a": "claim_released", "claim:a2": "claim_expired"} == ends

    def test_again(self) -> None:
        """The same renewal sent again is answered again, with no other claim; a second renewal
        needs another id."""
        engine = TinyEngine()
        engine.serve("resident", 60, expiring())
        for _ in range(3):
            assert "" == said(engine, RENEW, renewal=renewal())
        assert ["claim:a2"] == list(engine.controller._registry.live)
        assert NONE == said(engine, RENEW, renewal=renewal(duration="11 s"))
        assert NONE == said(engine, RENEW, renewal=renewal("claim:other"))
        used = said(engine, RENEW, renewal=renewal("claim:a2", "claim:a"))
        assert "claim id claim:a was used before" in used
        itself = said(engine, RENEW, renewal=renewal("claim:a2", "claim:a2"))
        assert "claim id claim:a2 is live; a new promise needs a new id" == itself
        assert "" == said(engine, RENEW, renewal=renewal("claim:a2", "claim:a3"))

    def test_late(self) -> None:
        """A claim that has expired is renewed no more, and one without a duration need not be."""
        engine = TinyEngine()
        engine.serve("resident", 30, expiring(blocks=30))
        engine.serve("other", 30, claim("claim:h", 30))
        engine.now += 10 * NS
        assert NONE == said(engine, RENEW, renewal=renewal())
        assert "it has no duration" == said(engine, RENEW, renewal=renewal("claim:h"))

    def test_full(self) -> None:
        """It needs no room: not in the pool, and not in a quota that the claim alone fills."""
        quota = Quotas(each=Quota(blocks=60, claims=1, duration="20 s"))
        engine = TinyEngine(quotas=quota, defer_s=60)
        engine.serve("resident", 60, expiring())
        engine.serve("active", 70)
        assert "" == said(engine, RENEW, renewal=renewal())
        too_long = said(engine, RENEW, renewal=renewal("claim:a2", "claim:a3", duration="21 s"))
        assert "its duration is 21 s, and a claim of tenant lasts 20 s at most" == too_long
        assert 1 == engine.controller._registry.owners.claims("tenant")
        assert ["claim:a2"] == list(engine.controller._registry.live)
        engine.controller.operator.drain()
        drained = said(engine, RENEW, renewal=renewal("claim:a2", "claim:a4"))
        assert "the operator drains this engine" in drained

    @pytest.mark.parametrize(
        "wrong",
        [
            NULL,
            [],
            {},
            {"claim_id": "claim:a"},
            renewal(priority=1),
            renewal(duration=7),
            renewal(duration="soon"),
            renewal(duration="0 s"),
            renewal("claim:a", "x" * 1025),
            renewal("claim:a", "a\nb"),
            renewal("claim:a", ""),
            renewal("claim:a", 7),  # type: ignore[arg-type]
            renewal("claim:a", "x (rejected 1)"),
            renewal("claim:a", "\ud800"),
        ],
        ids=lambda wrong: "null" if wrong is NULL else repr(wrong),
    )
    def test_wrong(self, wrong: Any) -> None:
        """What is no renewal is answered with the reason, and changes nothing."""
        engine = TinyEngine()
        engine.serve("resident", 60, expiring())
        assert said(engine, RENEW, renewal=wrong)
        assert ["claim:a"] == list(engine.controller._registry.live)
        assert ModeVerdict.VIOLATED is not engine.judge(Mode.EXPIRING).verdict

    def test_owner(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With scopes a claim is renewed by its owner alone; another's is as none."""
        monkeypatch.setenv("RESIDENT_CLAIMS_SECRET", "a secret")
        scopes = {"key-a": "tenant-a", "key-b": "tenant-b"}
        prepare(Settings(scopes=scopes))
        engine = TinyEngine(scopes=scopes)
        mine = {**expiring(blocks=20), "owner_scope": "tenant-a"}
        engine.serve("resident", 20, mine, caller=signed("tenant-a", {"resident_claim": mine}))
        asked = {"claim_id": "claim:a", "successor": "claim:a2"}
        hers = signed("tenant-b", {RENEW: asked})
        assert NONE == said(engine, RENEW, renewal=asked, caller=hers)
        assert "the caller is not known" in said(engine, RENEW, renewal=asked)
        other = signed("tenant-a", {RENEW: {**asked, "successor": "claim:a3"}})
        assert "the caller is not known" in said(engine, RENEW, renewal=asked, caller=other)
        own = signed("tenant-a", {RENEW: asked})
        assert "" == said(engine, RENEW, renewal=asked, caller=own)
        assert ["tenant-a/claim:a2"] == list(engine.controller._registry.live)


class TestTrial:
    def test_changes_nothing(self) -> None:
        """The answer is that of the claim itself; nothing is claimed, and no event says so."""
        engine = TinyEngine()
        for name, blocks in (("a", 30), ("b", 60)):
            stated = claim(f"claim:{name}", blocks)
            engine.serve(f"try {name}", blocks, trial=stated, prompt=name)
            tried = engine.answers[-1][TRY]
            before = len(engine.controller._registry.live)
            engine.serve(name, blocks, stated)
            assert tried == engine.answers[-1]["claim"]
            assert (before + (tried == "")) == len(engine.controller._registry.live)
        assert "it needs 60 blocks, and 50 of 80 are not claimed" == tried
        assert ["claim:b (rejected 1)"] == [e.claim_id for e in engine.kinds("claim_rejected")]

    @pytest.mark.parametrize("wrong", [NULL, 7, {}, {"claim_id": "a"}])
    def test_wrong(self, wrong: Any) -> None:
        """What is no claim is answered as a claim is."""
        engine = TinyEngine()
        engine.serve("a", 2, wrong)
        engine.serve("b", 2, trial=wrong)
        assert engine.answers[0]["claim"] == engine.answers[1][TRY]
        assert 1 == len(engine.kinds("claim_rejected"))

    def test_stands(self) -> None:
        """A claim that stands is answered as it would be again."""
        engine = TinyEngine()
        engine.serve("resident", 60, claim())
        engine.serve("again", 60, trial=claim(), prompt="resident")
        assert {TRY: ""} == engine.answers[-1]


ACTS = st.one_of(
    st.tuples(
        st.just("claim"), st.integers(0, 5), st.integers(1, 30), st.sampled_from(MODES),
        st.sampled_from(["3 s", "4 steps", None]),
    ),
    st.tuples(st.just("renew"), st.integers(0, 9), st.sampled_from(["2 s", "9 s", None])),
    st.tuples(st.just("try"), st.integers(0, 9), st.integers(1, 70)),
    st.tuples(st.just("request"), st.integers(1, 60)),
    st.tuples(st.just("wait"), st.integers(1, 4)),
    st.tuples(st.just("step")),
    st.tuples(st.just("copied"), st.integers(0, 5)),
)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(ACTS, max_size=30))
def test_valid(acts: list[tuple[Any, ...]]) -> None:
    """Claims, renewals and trials in any order: the trace violates nothing in any mode, and no
    block stays held for nobody.

    This engine loads nothing. So where there are copies an offloadable claim is not judged: a
    request that computes what it could load has used the claim without a restore.
    """
    engine = TinyEngine(60, tier=TinyTier())
    live = engine.controller._registry.live
    for number, (act, *more) in enumerate(acts):
        match act:
            case "claim":
                at, blocks, mode, duration = more
                stated = claim(f"c{at}", blocks, mode)
                if mode == "expiring" or duration:
                    stated["duration"] = duration or "3 s"
                if mode == "soft_priority":
                    stated["priority"] = 1
                engine.serve(f"r{number}", blocks, stated, f"p{at % 3}")
            case "renew":
                named = sorted(live)[more[0] % len(live)] if live else "c0"
                successor = f"n{number}" if number % 3 else f"c{number % 6}"
                asked = renewal(named, successor, **({"duration": more[1]} if more[1] else {}))
                had = named in live
                if engine.serve(f"r{number}", 1, renewal=asked) and engine.answers[-1][RENEW] == "":
                    assert (True, True, False) == (had, successor in live, named in live)
            case "try":
                before = set(live)
                engine.serve(f"r{number}", more[1], trial=claim(f"t{more[0]}", more[1]))
                assert before >= set(live)
            case "request":
                engine.serve(f"r{number}", more[0])
            case "wait":
                engine.now += more[0] * NS
            case "step":
                engine.begin_step()
            case "copied":
                engine.controller.offloaded.stored(keys_of(f"p{more[0] % 3}", 30))
    for name in list(live):
        engine.release(name, "tenant")
    assert 60 == len(engine.pool.free)
    accepted = {e.claim_id: e.mode for e in engine.kinds("claim_registered")}
    copied = any(act == "copied" for act, *_ in acts)
    for mode in MODES:
        if mode == "offloadable" and copied:
            continue
        for concluded in engine.judge(Mode(mode)).claims:
            if accepted.get(concluded.claim_id) == mode:
                assert ModeVerdict.VIOLATED is not concluded.verdict
