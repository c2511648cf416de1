"""Tests of runtime_hooks.claims.owners: a claim beyond a quota is rejected with the sum."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_hooks.settings.quotas import Quota, Quotas
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import NS, TinyEngine, TinyTier, claim

KEPT = ModeVerdict.KEPT
SCOPES = {"key-a": "a", "key-b": "b"}


def ask(engine: TinyEngine, name: str, blocks: int, owner: str = "a", **more: Any) -> str:
    """The answer to a claim of this owner on a prompt of its own."""
    stated = claim(f"claim:{name}", blocks, owner_scope=owner, **more)
    engine.serve(name, blocks, stated, scope=owner)
    return engine.answers[-1]["claim"]


def limited(usable: int = 80, **each: Any) -> TinyEngine:
    """An engine in which every owner has this quota."""
    return TinyEngine(usable, quotas=Quotas(each=Quota(**each)))


class TestBlocks:
    def test_exceeded(self) -> None:
        """The sum of an owner's blocks is limited; another owner has a quota of its own."""
        engine = limited(blocks=40)
        assert "" == ask(engine, "first", 30)
        assert "a would hold 30 + 11 = 41 blocks, and 40 of 80 are the most" == (
            ask(engine, "second", 11)
        )
        assert "" == ask(engine, "third", 10)
        assert "" == ask(engine, "fourth", 40, "b")
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_shared(self) -> None:
        """Blocks that two claims of one owner share count once."""
        engine = limited(blocks=40)
        assert "" == ask(engine, "first", 40)
        engine.serve("again", 41, claim("claim:b", 40, owner_scope="a"), "first")
        assert "" == engine.answers[-1]["claim"]
        assert "" == engine.release("claim:first", "a")
        assert "" != ask(engine, "other", 1)
        assert "" == engine.release("claim:b", "a")
        assert "" == ask(engine, "other", 40, claim_id="claim:c")

    def test_watched(self) -> None:
        """A claim that needs no capacity takes none of the quota."""
        engine = limited(blocks=10)
        assert "" == ask(engine, "first", 30, protection_mode="best_effort")
        assert "" == ask(engine, "second", 10)

    def test_half(self) -> None:
        """With authenticated callers an owner has half of the pool, unless its quota says more."""
        engine = TinyEngine(81, scopes=SCOPES)
        assert "a would hold 0 + 41 = 41 blocks, and 40 of 81 are the most" == (
            ask(engine, "first", 41)
        )
        assert "" == ask(engine, "second", 40)
        engine = TinyEngine(81, scopes=SCOPES, quotas=Quotas(owners={"a": Quota(blocks=60)}))
        assert "" == ask(engine, "first", 60)
        assert "" != ask(engine, "second", 41, "b")

    def test_whole(self) -> None:
        """Without them one owner may hold the whole pool less the floor."""
        engine = TinyEngine(quotas=Quotas(floor=8))
        assert "" == ask(engine, "first", 60)
        last = "of which no claim may take the last 8"
        assert f"it needs 13 blocks, and 20 of 80 are not claimed, {last}" == (
            ask(engine, "second", 13)
        )
        assert "" == ask(engine, "third", 12)
        assert engine.serve("active", 8)
        assert not engine.serve("active", 9)
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict


class TestTerms:
    @pytest.mark.parametrize(
        ("most", "asked", "why"),
        [
            ("60 s", "60 s", ""),
            ("60 s", "60.1 s", "its duration is 60.1 s"),
            ("60 s", "5 steps", "its duration is in steps"),
            ("60 s", None, "it has no duration"),
            ("9 steps", "9 steps", ""),
            ("9 steps", "10 steps", "its duration is 10 steps"),
        ],
    )
    def test_duration(self, most: str, asked: str | None, why: str) -> None:
        """A claim lasts as long as its owner's quota says, at most, and says how long."""
        more = {} if asked is None else {"duration": asked}
        reason = ask(limited(duration=most), "first", 10, **more)
        assert reason == (why and f"{why}, and a claim of a lasts {most} at most")

    @pytest.mark.parametrize(("priority", "taken"), [(5, True), (6, False)])
    def test_priority(self, priority: int, taken: bool) -> None:
        """A claim has the owner's highest priority at most."""
        engine = limited(priority=5)
        reason = ask(engine, "first", 10, protection_mode="soft_priority", priority=priority)
        assert taken is (reason == "")
        assert taken or "its priority is 6, and a has 5 at most" == reason

    def test_claims(self) -> None:
        """An owner has as many live claims as its quota says; those of `claims` are the default."""
        engine = TinyEngine(claims=3, quotas=Quotas(owners={"a": Quota(claims=1)}))
        assert "" == ask(engine, "first", 1)
        assert "a has 1 live claims, and 1 are the most" == ask(engine, "second", 1)
        assert ["", "", ""] == [ask(engine, f"b{n}", 1, "b") for n in range(3)]
        assert "" != ask(engine, "last", 1, "b")

    def test_replaced(self) -> None:
        """Quotas that are replaced hold for what comes after; live claims stay."""
        engine = TinyEngine()
        assert "" == ask(engine, "first", 40)
        owners = engine.controller._registry.owners
        owners.quotas = Quotas(each=Quota(blocks=30))
        assert "a would hold 40 + 1 = 41 blocks, and 30 of 80 are the most" == (
            ask(engine, "second", 1)
        )
        assert (1, 40, ["a"]) == (owners.claims("a"), owners.blocks("a"), owners.names)
        assert "" == engine.release("claim:first", "a")
        assert (0, 0, []) == (owners.claims("a"), owners.blocks("a"), owners.names)


@settings(max_examples=60)
@given(
    st.integers(0, 40),
    st.integers(0, 40),
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(1, 30), st.sampled_from("xyz"), st.booleans()),
        max_size=12,
    ),
)
def test_never_exceeded(floor: int, blocks: int, asked: list[tuple[str, int, str, bool]]) -> None:
    """Whoever asks for what, no owner exceeds its quota and nobody takes the floor; a claim that
    fits is not rejected, and the trace is not violated."""
    engine = TinyEngine(60, quotas=Quotas(each=Quota(blocks=blocks), floor=floor))
    held: dict[str, dict[str, int]] = {"a": {}, "b": {}}
    ids: list[tuple[str, str]] = []
    for number, (owner, size, prompt, releases) in enumerate(asked):
        name = f"claim:{number}"
        engine.serve(name, size, claim(name, size, owner_scope=owner), prompt)
        mine = {**held[owner], prompt: max(size, held[owner].get(prompt, 0))}
        every = [{**held["a"]}, {**held["b"]}, mine]
        pool = sum(max(each.get(p, 0) for each in every) for p in "xyz")
        fits = sum(mine.values()) <= blocks and pool <= max(0, 60 - floor)
        assert fits is (engine.answers[-1]["claim"] == "")
        if fits:
            held[owner] = mine
            ids.append((name, owner))
        if releases:
            for each, whose in ids:
                assert "" == engine.release(each, whose)
            ids, held = [], {"a": {}, "b": {}}
    assert ModeVerdict.VIOLATED is not engine.judge(Mode.HARD_PROTECTED).verdict


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode != "routed_reuse"])
def test_every_claim_ends(mode: Mode) -> None:
    """With a longest duration the runtime may end every claim, in every mode, and is kept."""
    engine = TinyEngine(tier=TinyTier(), quotas=Quotas(each=Quota(duration="60 s")))
    more = {"priority": 1} if mode is Mode.SOFT_PRIORITY else {}
    assert "has no duration" in ask(engine, "first", 60, protection_mode=mode.value, **more)
    stated = {"protection_mode": mode.value, "duration": "60 s", **more}
    assert "" == ask(engine, "second", 60, **stated)
    engine.now += 61 * NS
    assert engine.serve("active", 70)
    assert 0 == engine.controller.claims
    accepted = [e.claim_id for e in engine.kinds("claim_registered") if e.duration]
    verdicts = {each.claim_id: each.verdict for each in engine.judge(mode).claims}
    assert [KEPT] == [verdicts[each or ""] for each in accepted]
