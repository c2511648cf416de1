"""Tests of restatements: what stands is stated again, and a reader that comes late goes on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from runtime_hooks.claims.arrivals import Arrival
from runtime_hooks.settings.config import TAKEN
from runtime_hooks.trace.journal import Line
from spec.claims.states import ClaimState, Mode
from spec.events.canonical import Event, Mark, StreamMark
from spec.language.verdicts import Verdict
from spec.stream.claim import outcome_of
from spec.stream.judge import Judge
from spec.stream.outcome import ClaimOutcome, ModeVerdict
from tests.runtime_hooks.requests import KEYS, RequestSteps, load, offloaded, on
from tests.runtime_hooks.tiny import NS, TinyEngine, TinyTier, claim, judged, keys_of, outcomes

KEPT, INCONCLUSIVE = ModeVerdict.KEPT, ModeVerdict.INCONCLUSIVE
MARK = Mark.STREAM_RESTATED


def begun(usable: int = 80, *, tier: TinyTier | None = None, **settings: Any) -> TinyEngine:
    """An engine whose first step has begun."""
    engine = TinyEngine(usable, tier=tier, **settings)
    engine.begin_step()
    return engine


def minute(engine: TinyEngine) -> None:
    """A step after a minute."""
    engine.now += 60 * NS
    engine.begin_step()


def marks(engine: TinyEngine) -> list[int]:
    """The places of the marks before what is restated."""
    lines = engine.lines()
    return [at for at, line in enumerate(lines) if line.kind is MARK]


def restated(engine: TinyEngine) -> list[Event]:
    """What was stated again."""
    return [event for event in engine.events() if event.restated]


def late(lines: list[Line], come: int) -> tuple[list[ClaimOutcome], list[ClaimOutcome]]:
    """The claims that a reader knows which comes at this line: of before the restatement, and of
    the period that began with it."""
    judge = judged(lines[come:])
    found = [*map(outcome_of, [*judge.past, *judge.claims.values()])]
    return [c for c in found if c.period == 0], [c for c in found if c.period == 1]


def exercised(claim: ClaimOutcome) -> bool:
    """Whether an obligation of it was exercised, where each that was is kept."""
    found = {finding.verdict for finding in claim.findings.values()}
    assert found <= {Verdict.SATISFIED, Verdict.UNEXERCISED}
    return Verdict.SATISFIED in found


def verdicts(found: list[ClaimOutcome]) -> dict[str, ModeVerdict]:
    """By claim."""
    return {claim.claim_id: claim.verdict for claim in found}


class TestWhen:
    def test_interval(self) -> None:
        """With the first step after a minute, and once a minute after that."""
        engine = begun()
        assert engine.serve("resident", 60, claim())
        for seconds in (0, 30, 30, 30, 30, 1):
            engine.now += seconds * NS
            engine.begin_step()
        assert 2 == len(marks(engine))

    def test_setting(self) -> None:
        """The interval is a setting; 0 is never."""
        for seconds, expected in ((0, 0), (5, 3)):
            engine = begun(restate_seconds=seconds)
            for _ in range(3):
                engine.now += 5 * NS
                engine.begin_step()
            assert expected == len(marks(engine))

    def test_dropped(self) -> None:
        """After events were dropped, as soon as there is space in the queue."""
        engine = begun(restate_seconds=0)
        assert engine.serve("resident", 60, claim())
        engine.journal.dropped += 1
        engine.journal._number += 1
        engine.now += NS
        engine.begin_step()
        engine.now += NS
        engine.begin_step()
        (mark,) = marks(engine)
        first, second = outcomes(judged(engine.lines())).claims
        assert [(0, INCONCLUSIVE), (1, False)] == [
            (first.period, first.verdict),
            (second.period, exercised(second)),
        ]
        assert mark < len(engine.lines()) - 1

    def test_failed(self) -> None:
        """Never after a hook failed: it may have left the books half written, and a judge would
        begin with them."""
        engine = begun()
        assert engine.serve("resident", 60, claim())
        engine.controller.fail()
        minute(engine)
        engine.journal.dropped += 1
        minute(engine)
        assert [] == marks(engine)
        (known,) = outcomes(judged(engine.lines())).claims
        assert INCONCLUSIVE is known.verdict


class TestWhat:
    def test_claims(self) -> None:
        """Claims are stated with their keys, and with what is left of their duration."""
        engine = begun(200)
        for seconds in (90, 100_000_000):
            stated = claim(f"{seconds} s", 30, "expiring", duration=f"{seconds} s")
            assert engine.serve("p", 30, stated)
        assert engine.serve("q", 30, claim("steps", 30, "expiring", duration="5 steps"))
        engine.now += 123
        minute(engine)
        again = [e for e in restated(engine) if e.kind in ("claim_registered", "claim_committed")]
        left = {"90 s": "29.999999877 s", "100000000 s": "99999939.9999998 s", "steps": "4 steps"}
        assert [(name, left[name]) for name in left for _ in range(2)] == [
            (event.claim_id, event.duration) for event in again
        ]
        first = {e.claim_id: e.keys for e in engine.kinds("claim_registered") if not e.restated}
        assert first == {e.claim_id: e.keys for e in again if e.keys}
        assert all(len(keys) == 30 for keys in first.values())

    def test_blocks(self) -> None:
        """A block that claims share is stated once; those that nobody claims are not."""
        engine = begun(200)
        assert engine.serve("p", 40, claim("a", 20))
        assert engine.serve("p", 40, claim("b", 30))
        minute(engine)
        cached = [event for event in restated(engine) if event.kind == "block_cached"]
        stated = [(e.claim_id, b) for e in cached for b in e.block_ids]
        assert ([("a", b) for b in range(1, 21)] + [("b", b) for b in range(21, 31)]) == stated

    def test_copies(self) -> None:
        """Of a content that is in two blocks, both are stated, in events that can be read."""
        engine = begun(200)
        assert engine.serve("p", 40, claim("a", 20))
        assert engine.serve("again", 40, prompt="p", looks=False)
        minute(engine)
        cached = [event for event in restated(engine) if event.kind == "block_cached"]
        assert [tuple(range(20))] * 2 == [event.positions for event in cached]
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_requests(self) -> None:
        """Requests in hand are stated with their needs, and with what was done about them."""
        engine = begun(defer_s=600)
        assert engine.serve("resident", 60, claim())
        engine.arrive(Arrival("runs", keys_of("runs", 10), 10, 10))
        engine.arrive(Arrival("waits", keys_of("waits", 70), 70, 70))
        minute(engine)
        told = [(e.kind, e.request_id, e.needed) for e in restated(engine) if e.request_id]
        assert [
            ("request_arrived", "runs", 10),
            ("request_arrived", "waits", 70),
            ("request_deferred", "waits", None),
        ] == told

    def test_not_counted(self) -> None:
        """What is stated again is not counted again."""
        engine = begun()
        assert engine.serve("resident", 60, claim())
        before = dict(engine.controller._emitter.reports)
        minute(engine)
        assert before == engine.controller._emitter.reports
        assert restated(engine)

    def test_skipped(self) -> None:
        """A reader that missed nothing concludes the same without them."""
        engine = begun(200)
        assert engine.serve("resident", 60, claim())
        minute(engine)
        assert engine.serve("again", 61, prompt="resident")
        lines = engine.lines()
        bare = [line for line in lines if line.kind is not MARK]
        bare = [line for line in bare if isinstance(line, StreamMark) or not line.restated]
        unnumbered = [_without_number(line) for line in bare]
        found = verdicts([*outcomes(judged(lines)).claims])
        assert found == verdicts([*outcomes(judged(unnumbered)).claims])
        assert [0] == [c.period for c in outcomes(judged(lines)).claims]


def _without_number(line: Line) -> Line:
    return replace(line, sequence=None)


def stated(mode: Mode, name: str = "claim:a") -> dict[str, Any]:
    """A claim that lasts for longer than a test."""
    return {**on(mode, name), "duration": "600 s"}


class TestLate:
    """A reader comes in the middle: what it knows before the restatement is inconclusive, and the
    claims that stand are judged from there on."""

    @pytest.mark.parametrize("mode", TAKEN)
    def test_every_mode(self, mode: Mode) -> None:
        """A claim that is materialized, and later reused and released."""
        engine = begun(200, tier=TinyTier())
        assert engine.serve("resident", 60, stated(mode), "p")
        assert engine.serve("second", 60, stated(mode, "claim:b"), "p")
        come = engine.journal.used - 4
        minute(engine)
        assert engine.serve("again", 61, prompt="p")
        assert engine.serve("large", 140)
        assert engine.serve("third", 61, stated(mode, "claim:c"), prompt="p")
        for name in ("claim:a", "claim:b", "claim:c"):
            assert "" == engine.release(name, "tenant")
        before, after = late(engine.lines(), come)
        assert set(verdicts(before).values()) <= {INCONCLUSIVE}
        names = ("claim:a", "claim:b", "claim:c")
        tested = {c.claim_id for c in after if exercised(c)}
        assert {"claim:c"} == tested if mode is Mode.SOFT_PRIORITY else {*names} == tested
        due = {name: KEPT if name in tested else INCONCLUSIVE for name in names}
        assert due == verdicts(after)
        found = verdicts([*outcomes(judged(engine.lines()), mode).claims])
        assert dict.fromkeys(names, KEPT) == found

    @pytest.mark.parametrize("mode", TAKEN)
    def test_violated(self, mode: Mode) -> None:
        """What is broken after it is found."""
        engine = begun(enforce=(), tier=TinyTier())
        assert engine.serve("resident", 60, stated(mode))
        come = engine.journal.used - 1
        minute(engine)
        hidden = ("claim_unmaterialized", "claim_block_lost")
        assert engine.serve("active", 70)
        lines = [line for line in engine.lines() if line.kind not in hidden]
        lines = [*map(_without_number, lines)]
        judge = _judge_late(lines, come)
        assert {1: ModeVerdict.VIOLATED} == {
            c.period: c.verdict for c in map(outcome_of, judge.claims.values())
        }

    def test_refusal(self) -> None:
        """A request that does not fit is refused after it, with the claim's name."""
        engine = begun()
        assert engine.serve("resident", 60, claim())
        minute(engine)
        assert not engine.serve("active", 70)
        _, (mine,) = late(engine.lines(), 3)
        assert (KEPT, ClaimState.MATERIALIZED) == (mine.verdict, mine.state)

    def test_expired(self) -> None:
        """What is left of a duration ends when it ended."""
        engine = begun()
        assert engine.serve("resident", 60, claim(mode="expiring", duration="90.5 s"))
        minute(engine)
        engine.now += 31 * NS
        assert engine.serve("active", 70)
        _, (mine,) = late(engine.lines(), 3)
        assert (KEPT, ClaimState.EXPIRED) == (mine.verdict, mine.state)

    def test_offloaded(self) -> None:
        """A copy is stated again, and what is loaded from it restores the claim."""
        engine = begun(200, tier=TinyTier())
        offloaded(engine)
        minute(engine)
        hand = RequestSteps(engine, "one")
        hand.look()
        engine.controller.offloaded.loading("one", KEYS)
        load(engine, hand)
        hand.end()
        _, (mine,) = late(engine.lines(), 5)
        assert (KEPT, ClaimState.MATERIALIZED) == (mine.verdict, mine.state)

    @pytest.mark.parametrize("fails", [False, True])
    def test_restoring(self, fails: bool) -> None:
        """A restore that is under way comes out in the period that begins meanwhile."""
        engine = begun(200, tier=TinyTier())
        offloaded(engine)
        hand = RequestSteps(engine, "one")
        hand.look()
        engine.controller.offloaded.loading("one", KEYS)
        minute(engine)
        if fails:
            assert ("claim:a",) == engine.controller.offloaded.failed("one")
        else:
            load(engine, hand)
        hand.end()
        _, (mine,) = late(engine.lines(), 5)
        assert KEPT is mine.verdict, mine.why

    def test_harmed(self) -> None:
        """Harm that was reported is stated again; it violates nothing, and nor does the return."""
        engine = begun(enforce=())
        assert engine.serve("resident", 60, claim())
        assert engine.serve("active", 70)
        minute(engine)
        _, (mine,) = late(engine.lines(), 3)
        assert (False, ClaimState.HARMED) == (exercised(mine), mine.state)
        assert engine.kinds("claim_harmed")[-1].restated


def _judge_late(lines: list[Line], come: int) -> Judge:
    """A judge that misses a line at first."""
    first = replace(lines[come], sequence=7)
    return judged([first, *lines[come + 1 :]])


OWN: dict[str, dict[str, Any]] = {
    "expiring": {"duration": "50 s"},
    "soft_priority": {"priority": 2},
}
ACTS = st.one_of(
    st.tuples(
        st.just("claim"), st.sampled_from("abcd"), st.integers(1, 30), st.sampled_from(TAKEN)
    ),
    st.tuples(st.just("request"), st.sampled_from("abcdefgh"), st.integers(1, 60), st.booleans()),
    st.tuples(st.just("arrive"), st.sampled_from("abcdefgh"), st.integers(1, 60)),
    st.tuples(st.just("finish")),
    st.tuples(st.just("release"), st.sampled_from("abcd")),
    st.tuples(st.just("wait"), st.integers(1, 40)),
    st.tuples(st.just("restate")),
    st.tuples(st.just("lose"), st.integers(1, 60)),
)


@settings(max_examples=150)
@given(
    st.lists(ACTS, max_size=25),
    st.sampled_from([(), TAKEN[:-1]]),
    st.sampled_from([0, 20]),
)
def test_any(acts: list[tuple[Any, ...]], enforce: tuple[Mode, ...], defer: int) -> None:
    """Whatever stands: a reader that comes before a restatement finds nothing violated after it
    that one finds kept which missed nothing."""
    engine = TinyEngine(60, tier=TinyTier(), restate_seconds=0, enforce=enforce, defer_s=defer)
    hands: list[str] = []
    for number, (act, *more) in enumerate(acts):
        match act:
            case "claim":
                name, blocks, mode = more
                stated = claim(f"{name}{number}", blocks, mode, **OWN.get(mode, {}))
                engine.serve(f"r{number}", blocks, stated, name)
            case "request":
                engine.serve(f"r{number}", more[1], prompt=more[0], looks=more[2])
            case "arrive":
                hands.append(f"r{number}")
                engine.arrive(Arrival(hands[-1], keys_of(*more), more[1], more[1]))
            case "finish" if hands:
                engine.finish(hands.pop(0))
            case "release":
                for entry in [*engine.controller._registry.live.values()]:
                    if entry.claim_id.startswith(more[0]):
                        engine.release(entry.claim_id, "tenant")
            case "wait":
                engine.now += more[0] * NS
                engine.begin_step()
            case "restate":
                engine.controller.tick()
                engine.controller._restatement.write()
            case "lose" if more[0] in engine.pool.content:
                del engine.pool.content[more[0]]
                engine.controller.tracker.lost([more[0]])
    for name in hands:
        engine.finish(name)
    engine.controller.tick()
    lines = engine.lines()
    whole = verdicts([*outcomes(judged(lines)).claims])
    for mark in marks(engine):
        _, after = late(lines, mark - 1) if mark > 1 else ([], [])
        for mine in after:
            if ModeVerdict.VIOLATED is mine.verdict:
                assert ModeVerdict.VIOLATED is whole[mine.claim_id], mine
