"""Tests of tracking.watched: soft_priority and best_effort, judged by the monitor."""

from itertools import permutations
from typing import Any

import pytest

from runtime_hooks.settings.config import Drill
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.language.verdicts import Verdict
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import NS, TinyEngine, claim, keys_of

SOFT, BEST = Mode.SOFT_PRIORITY, Mode.BEST_EFFORT
KEPT, VIOLATED = ModeVerdict.KEPT, ModeVerdict.VIOLATED
LOSSES = (Kind.CLAIM_BLOCK_LOST, Kind.CLAIM_UNMATERIALIZED)


def soft(name: str, priority: int, blocks: int = 20) -> dict[str, Any]:
    """A soft_priority claim."""
    return claim(f"claim:{name}", blocks, "soft_priority", priority=priority)


def pressed(ranks: dict[str, int], needed: int = 70, **settings: Any) -> TinyEngine:
    """Claims of 20 blocks each, one after the other, then 20 that nobody claims; then a request
    that finds no 70 free among 80.
    """
    engine = TinyEngine(**settings)
    for name, rank in ranks.items():
        assert engine.serve(name, 20, soft(name, rank))
        assert {"claim": ""} == engine.answers[-1]
    assert engine.serve("unclaimed", 20)
    assert engine.serve("active", needed)
    return engine


def left(engine: TinyEngine, *names: str) -> list[int]:
    """How many blocks of each prompt, of 20, are still cached from the first on."""
    there = set(engine.pool.content.values())
    found = [[key in there for key in keys_of(name, 20)] for name in names]
    assert all(each == sorted(each, reverse=True) for each in found)
    return [sum(each) for each in found]


def verdicts(engine: TinyEngine, mode: Mode) -> dict[str, ModeVerdict]:
    """What the monitor says of each claim."""
    return {c.claim_id: c.verdict for c in engine.judge(mode).claims}


class TestOrder:
    """Blocks go without a rank first, then of the lower priority, whichever was used last."""

    @pytest.mark.parametrize(
        ("ranks", "remain"), [({"a": 1, "b": 9}, [0, 0, 10]), ({"a": 9, "b": 1}, [0, 10, 0])]
    )
    def test_two(self, ranks: dict[str, int], remain: list[int]) -> None:
        """What nobody claims goes first, though it is the youngest; then the lower priority."""
        engine = pressed(ranks)
        assert remain == left(engine, "unclaimed", "a", "b")
        judged = engine.judge(SOFT)
        assert KEPT is judged.verdict
        assert Verdict.SATISFIED is judged.obligations["priority_influence"]

    def test_equal(self) -> None:
        """Of one priority the one goes first that was used longest ago, and nothing is compared."""
        engine = pressed({"a": 3, "b": 3})
        assert [0, 0, 10] == left(engine, "unclaimed", "a", "b")
        judged = engine.judge(SOFT)
        assert (KEPT, "not exercised: priority_influence") == (judged.verdict, judged.why)

    def test_one(self) -> None:
        """Little pressure takes the last blocks of the lowest claim, and nothing of the other."""
        engine = pressed({"a": 1, "b": 9}, 45)
        assert [0, 15, 20] == left(engine, "unclaimed", "a", "b")
        assert KEPT is engine.judge(SOFT).verdict

    @pytest.mark.parametrize("order", list(permutations((1, 2, 3))))
    def test_three(self, order: tuple[int, ...]) -> None:
        """Whatever the order of use, each loses all before a higher one loses any."""
        engine = TinyEngine()
        for rank in order:
            assert engine.serve(f"p{rank}", 20, soft(f"p{rank}", rank))
        for needed in (30, 45, 70):
            assert engine.serve(f"active {needed}", needed)
        lost = [event.claim_id for event in engine.kinds(*LOSSES)]
        assert sorted(lost) == lost
        assert [0, 0, 10] == left(engine, "p1", "p2", "p3")
        assert KEPT is engine.judge(SOFT).verdict

    def test_told_in_turn(self) -> None:
        """One allocation takes blocks of both: each loss is reported before the next one."""
        engine = pressed({"a": 1, "b": 9})
        gone = {Kind.BLOCK_EVICTED, *LOSSES}
        told = [(e.kind, e.claim_id or len(e.block_ids)) for e in engine.events() if e.kind in gone]
        assert [
            ("block_evicted", 20),
            ("block_evicted", 20),
            ("claim_unmaterialized", "claim:a"),
            ("block_evicted", 10),
            ("claim_unmaterialized", "claim:b"),
        ] == told

    def test_used_again(self) -> None:
        """A use changes nothing about the order, and what is computed again has its rank."""
        engine = pressed({"a": 1, "b": 9})
        assert engine.serve("again a", 20, prompt="a")
        assert engine.serve("more", 75)
        assert [0, 5] == left(engine, "a", "b")
        assert KEPT is engine.judge(SOFT).verdict


class TestBroken:
    """Found from the facts."""

    def test_not_enforced(self) -> None:
        """The older prompt goes first, though its priority is the higher."""
        engine = pressed({"a": 9, "b": 1}, enforce=())
        assert [10, 0, 0] == left(engine, "unclaimed", "a", "b")
        judged = engine.judge(SOFT)
        assert VIOLATED is judged.verdict
        assert "priority_influence" in judged.why

    def test_suppressed(self) -> None:
        """A loss that is not reported."""
        engine = pressed({"a": 1, "b": 9}, drill=Drill(suppress=LOSSES))
        judged = engine.judge(SOFT)
        assert VIOLATED is judged.verdict
        assert "claim_scoped_telemetry" in judged.why

    def test_misattributed(self) -> None:
        """A loss that is told of another claim."""
        drill = Drill(misattribute=dict.fromkeys(LOSSES, "claim:b"))
        engine = pressed({"a": 1, "b": 9}, 45, drill=drill)
        assert engine.serve("again", 20, prompt="a")
        assert {"claim:a": VIOLATED, "claim:b": VIOLATED} == verdicts(engine, SOFT)


class TestNobodyKeptOut:
    """These claims take no room from anybody."""

    @pytest.mark.parametrize(
        "mode", [{"mode": "best_effort"}, {"mode": "soft_priority", "priority": 1}]
    )
    def test_accepted(self, mode: dict[str, Any]) -> None:
        """Several that together exceed the pool are taken, and a request is served beside them."""
        engine = TinyEngine()
        for name in "ab":
            assert engine.serve(name, 60, claim(f"claim:{name}", **mode))
            assert {"claim": ""} == engine.answers[-1]
        assert engine.serve("active", 80)
        assert [] == engine.kinds("claim_committed", "claim_accepted", "request_refused")
        assert KEPT is engine.judge(Mode(mode["mode"])).verdict

    def test_beside_hard(self) -> None:
        """The sum of a refusal counts the hard claim alone; the soft one is nobody to blame."""
        engine = TinyEngine()
        assert engine.serve("hard", 60, claim("claim:hard"))
        assert engine.serve("soft", 20, soft("soft", 1))
        assert not engine.serve("active", 30)
        (refused,) = engine.refusals
        assert ("claim:hard",) == refused.blocking_claim_ids
        assert refused.proof is not None
        assert (60, 10) == (refused.proof.resident, refused.proof.shortfall)
        assert KEPT is verdicts(engine, Mode.HARD_PROTECTED)["claim:hard"]

    def test_not_spared(self) -> None:
        """A request needs the room for a prefix that is only watched: nobody keeps it for it."""
        engine = TinyEngine()
        assert engine.serve("p", 20, soft("p", 1))
        assert engine.serve("hard", 60, claim("claim:hard"))
        assert not engine.serve("more", 30, prompt="p")
        assert [20, 0, 30] == [event.needed for event in engine.kinds("request_arrived")]


class TestShared:
    """One block under several claims."""

    def test_highest(self) -> None:
        """A shared block has the rank of the highest claim, and of the next when that is over."""
        engine = TinyEngine()
        assert engine.serve("low", 20, soft("low", 1), prompt="p")
        assert engine.serve("high", 10, soft("high", 9, 10), prompt="p")
        ranks = engine.pool.ranks
        assert [9] * 10 + [1] * 10 == [ranks[b] for _, b in engine.pool.find(keys_of("p", 20))]
        assert "" == engine.release("claim:high", "tenant")
        assert [1] * 20 == [ranks[b] for _, b in engine.pool.find(keys_of("p", 20))]
        assert "" == engine.release("claim:low", "tenant")
        assert {} == ranks

    def test_both_lose(self) -> None:
        """Two claims that lose by one event are reported after it, and neither went first."""
        engine = TinyEngine()
        assert engine.serve("low", 20, soft("low", 1), prompt="p")
        assert engine.serve("high", 20, soft("high", 9), prompt="p")
        assert engine.serve("active", 70)
        assert 2 == len(engine.kinds("claim_unmaterialized"))
        assert KEPT is engine.judge(SOFT).verdict

    def test_under_hard(self) -> None:
        """A hard claim on the same blocks keeps them; when it is over their rank is there."""
        engine = TinyEngine()
        assert engine.serve("soft", 20, soft("soft", 1), prompt="p")
        assert engine.serve("hard", 20, claim("claim:hard", 20), prompt="p")
        assert not engine.serve("active", 70)
        assert "" == engine.release("claim:hard", "tenant")
        assert engine.serve("other", 70)
        assert KEPT is verdicts(engine, SOFT)["claim:soft"]


class TestInUse:
    """What somebody uses cannot be taken, whatever its priority."""

    def pressed(self, **settings: Any) -> TinyEngine:
        """The lower claim is in use while the higher one loses blocks; then it loses its own."""
        engine = TinyEngine(**settings)
        assert engine.serve("low", 20, soft("low", 1))
        assert engine.serve("high", 20, soft("high", 9))
        used = [block for _, block in engine.pool.find(keys_of("low", 20))]
        engine.pool.hold(used)
        assert engine.serve("active", 50)
        assert [20, 10] == left(engine, "low", "high")
        engine.pool.release(used[::-1])
        assert engine.serve("more", 75)
        assert [0, 5] == left(engine, "low", "high")
        return engine

    def test_no_choice(self) -> None:
        """The higher one goes first, and the pool had no choice, which the fact states."""
        engine = self.pressed()
        lowest = [e.lowest_priority for e in engine.kinds("block_evicted")]
        assert [9, None, 1, 9] == lowest
        judged = engine.judge(SOFT)
        assert (KEPT, "every obligation exercised") == (judged.verdict, judged.why)

    def test_choice(self) -> None:
        """Where one of the lower could have been taken, the fact says so, and it is a breach."""
        engine = TinyEngine()
        assert engine.serve("low", 20, soft("low", 1))
        assert engine.serve("high", 20, soft("high", 9))
        engine.pool.next = (
            lambda count: sorted(  # type: ignore[method-assign]
                engine.pool.free, key=lambda b: -engine.pool.ranks.get(b, 99)
            )[:count]
        )
        assert engine.serve("active", 70)
        assert [1, 1] == [e.lowest_priority for e in engine.kinds("block_evicted")]
        judged = engine.judge(SOFT)
        assert VIOLATED is judged.verdict
        assert "priority_influence" in judged.why


class TestEnds:
    """A claim that is over has no rank, and nothing is told of it."""

    def after(self, engine: TinyEngine) -> list[int]:
        """Pressure on what is left of a higher claim that is over, and of a lower one."""
        assert engine.serve("active", 70)
        return left(engine, "high", "low")

    def test_released(self) -> None:
        """Its blocks are as any that nobody claims; the order of losses is no breach."""
        engine = TinyEngine()
        assert engine.serve("low", 20, soft("low", 1))
        assert engine.serve("high", 20, soft("high", 9))
        assert "" == engine.release("claim:high", "tenant")
        assert [0, 10] == self.after(engine)
        assert ["claim:low"] == [event.claim_id for event in engine.kinds(*LOSSES)]
        assert KEPT is engine.judge(SOFT).verdict

    def test_expired(self) -> None:
        """The same at its duration."""
        engine = TinyEngine()
        assert engine.serve("low", 20, soft("low", 1))
        assert engine.serve("high", 20, {**soft("high", 9), "duration": "15 s"})
        engine.now += 15 * NS
        assert [0, 10] == self.after(engine)
        assert 1 == len(engine.kinds("claim_expired"))
        assert KEPT is engine.judge(SOFT).verdict

    def test_best_effort(self) -> None:
        """A best_effort claim that is given up is told of no more."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim(mode="best_effort"))
        assert "" == engine.release("claim:a", "tenant")
        assert engine.serve("active", 70)
        assert [] == engine.kinds(*LOSSES)
        assert KEPT is engine.judge(BEST).verdict

    def test_rejected(self) -> None:
        """A claim that was turned away is owed nothing, and shows nothing."""
        engine = TinyEngine()
        assert engine.serve("p", 20, soft("p", 1, 21))
        assert "the prompt has 20 whole blocks" in engine.answers[0]["claim"]
        judged = engine.judge(SOFT)
        assert (ModeVerdict.INCONCLUSIVE, "no claim") == (judged.verdict, judged.why)


class TestBestEffort:
    """Nothing is kept, and what happens is reported."""

    def lost(self, **settings: Any) -> TinyEngine:
        """A claim of 60 blocks, of which 50 go."""
        engine = TinyEngine(**settings)
        assert engine.serve("resident", 60, claim(mode="best_effort"))
        assert engine.serve("active", 70)
        return engine

    def test_told(self) -> None:
        """That the predicate came to hold, and that it holds no more; all of it is exercised."""
        engine = self.lost()
        told = [e.kind for e in engine.events() if e.kind in {"claim_materialized", *LOSSES}]
        assert ["claim_materialized", "claim_unmaterialized"] == told
        judged = engine.judge(BEST)
        assert (KEPT, "every obligation exercised") == (judged.verdict, judged.why)

    @pytest.mark.parametrize(
        ("kind", "broken"),
        [
            (Kind.CLAIM_MATERIALIZED, "claim_materialized_event"),
            (Kind.CLAIM_UNMATERIALIZED, "claim_scoped_telemetry"),
        ],
    )
    def test_untold(self, kind: Kind, broken: str) -> None:
        """A report that is kept back is missed."""
        engine = self.lost(drill=Drill(suppress=(kind,)))
        assert engine.serve("again", 60, prompt="resident")
        judged = engine.judge(BEST)
        assert VIOLATED is judged.verdict
        assert broken in judged.why

    def test_reset(self) -> None:
        """A reset takes every block, which is reported, and that they are there again."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim(mode="best_effort"))
        engine.controller.tracker.before_reset()
        engine.pool.content.clear()
        engine.controller.tracker.after_reset(done=True)
        assert engine.serve("again", 60, prompt="resident")
        assert 2 == len(engine.kinds("claim_materialized"))
        assert KEPT is engine.judge(BEST).verdict

    def test_expiry(self) -> None:
        """A claim that expires as blocks are evicted was there until then: the blocks that it kept
        from the pool were no choice."""
        engine = TinyEngine()
        assert engine.serve("low", 20, soft("low", 1))
        assert engine.serve("again", 20, claim("held", 20, "expiring", duration="1 s"), "low")
        assert engine.serve("high", 20, soft("high", 9))
        engine.now += 2 * NS
        engine.take("active", 50)
        assert [9] == [e.lowest_priority for e in engine.kinds("block_evicted")]
        assert VIOLATED is not engine.judge(SOFT).verdict
