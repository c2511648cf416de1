"""What a stream means for a claim: the rules of spec.stream, one small stream each."""

from __future__ import annotations

import pytest

from spec.events.canonical import Event, StreamMark
from spec.language.verdicts import Verdict
from spec.stream.breaks import Limits
from spec.stream.claim import outcome_of
from spec.stream.codes import Code
from spec.stream.judge import Judge
from spec.stream.outcome import ModeVerdict
from tests.spec.stream.streams import claim, ended, event, judged, mark, numbered, of, verdict

KEPT, VIOLATED, INCONCLUSIVE = ModeVerdict.KEPT, ModeVerdict.VIOLATED, ModeVerdict.INCONCLUSIVE

HELD = [
    event("block_cached", claim_id="a", block_ids=(1, 2), positions=(0, 1)),
    event("claim_materialized", claim_id="a"),
]


def codes(judge: Judge) -> list[Code]:
    """The codes of the breaks of a stream."""
    return [reason.code for reason in judge.breaks]


class TestKeys:
    """A pool of content keys."""

    def test_block_ids_and_keys_of_any_form(self) -> None:
        """Block ids and keys may be text, hexadecimal, or integers of more than 64 bits."""
        keys = ("0xff", 2**70)
        lines = [
            *claim(keys=keys),
            event(
                "block_cached",
                keys=keys,
                cache_identity="cache",
                block_ids=("0x10", 2**65),
                positions=(0, 1),
            ),
            event("claim_materialized", claim_id="a"),
            event("block_evicted", block_ids=("0x10",)),
        ]
        found = of(judged(lines)).findings["victim_exclusion_before_violation"]
        assert found[:2] == (Verdict.VIOLATED, 6)

    def test_equal_keys_are_one_block(self) -> None:
        """Claims with a key in common hold it together, whoever states the block."""
        lines = [
            *claim("a", keys=("k", "l")),
            *claim("b", keys=("k", "l")),
            *HELD,
            event("claim_materialized", claim_id="b"),
            event("block_lost", block_ids=(2,)),
            event("claim_harmed", claim_id="a"),
            event("claim_harmed", claim_id="b"),
        ]
        judge = judged(lines)
        assert (verdict(judge, "a"), verdict(judge, "b")) == (KEPT, KEPT)

    def test_keys_of_another_identity(self) -> None:
        """One key under two cache identities is a contradiction, which is named."""
        lines = [*claim("a", keys=("k", "l")), *claim("b", cache_identity="other", keys=("k", "m"))]
        judge = judged(lines)
        assert codes(judge) == [Code.KEYS_CONTRADICT]
        assert "cache and other" in judge.breaks[0].text

    def test_keys_that_come_late(self) -> None:
        """Keys that are stated later rename positions, which is neither gain nor loss."""
        first, *rest = claim("a")
        lines = [
            first,
            event("block_cached", claim_id="a", block_ids=(1, 2), positions=(0, 1)),
            event("claim_committed", claim_id="a", footprint=2, keys=("k", "l")),
            rest[1],
            event("claim_materialized", claim_id="a"),
            *claim("b", keys=("k", "l")),
            event("claim_materialized", claim_id="b"),
            event("block_lost", block_ids=(1,)),
            event("claim_harmed", claim_id="a"),
            event("claim_harmed", claim_id="b"),
        ]
        judge = judged(lines)
        assert (verdict(judge, "a"), verdict(judge, "b")) == (KEPT, KEPT)

    def test_another_copy_stays(self) -> None:
        """Nothing is lost as long as another block holds the key."""
        lines = [
            *claim(),
            *HELD,
            event("block_cached", claim_id="a", block_ids=(9,), positions=(0,)),
            event("block_evicted", block_ids=(1,)),
        ]
        assert verdict(judged(lines)) is KEPT

    def test_a_block_that_holds_both(self) -> None:
        """A block that is stated for two objects holds the content of both."""
        lines = [
            *claim("a", keys=("k", "l")),
            *HELD,
            *claim("b", mode="best_effort"),
            event("block_cached", claim_id="b", block_ids=(1, 2), positions=(0, 1)),
            event("claim_materialized", claim_id="b"),
            event("block_lost", block_ids=(1,)),
            event("claim_harmed", claim_id="a"),
            event("claim_unmaterialized", claim_id="b"),
        ]
        judge = judged(lines)
        assert (verdict(judge, "a"), verdict(judge, "b")) == (KEPT, KEPT)


class TestGroups:
    """Several KV cache groups: a hit needs the last blocks of a group with a window."""

    OPENED = mark("stream_opened", groups=((0, "full", 0), (1, "window", 1)))
    CACHED = (
        event("block_cached", claim_id="a", block_ids=(1, 2, 3, 4), positions=(0, 1, 2, 3)),
        event("block_cached", claim_id="a", group=1, block_ids=(5, 6), positions=(2, 3)),
        event("claim_materialized", claim_id="a"),
    )

    def test_the_window_block_is_needed(self) -> None:
        """The one block that the window needs is evicted in silence: no request can hit."""
        lines: list[Event | StreamMark] = [
            self.OPENED,
            *claim(blocks=4, footprint=5),
            *self.CACHED,
            event("block_evicted", block_ids=(6,)),
            mark("stream_closed"),
        ]
        judge = judged(lines)
        assert verdict(judge, obligation="victim_exclusion_before_violation") is Verdict.VIOLATED
        assert verdict(judge, obligation="claim_harm_attribution") is Verdict.PENDING

    def test_outside_the_window(self) -> None:
        """A block of the window group outside the window may be evicted."""
        lines: list[Event | StreamMark] = [
            self.OPENED,
            *claim(blocks=4, footprint=5),
            *self.CACHED,
            event("block_evicted", block_ids=(5,)),
            mark("stream_closed"),
        ]
        assert verdict(judged(lines)) is KEPT

    def test_sums_count_every_group(self) -> None:
        """A claim takes what a hit needs in each group: all of a full one, the end of a window."""
        keys = tuple(f"k{at}" for at in range(6))
        lines: list[Event | StreamMark] = [
            self.OPENED,
            *claim(blocks=4, footprint=5, keys=keys[:4]),
        ]
        assert self.total(lines) == 4 + 1
        lines += claim("b", blocks=6, footprint=7, keys=keys)
        assert self.total(lines) == 6 + 2  # the ends are in different blocks

    @pytest.mark.parametrize("evicted", [True, False])
    def test_blocks_of_two_positions(self, evicted: bool) -> None:
        """A block of a group may cover two positions; it is at the last one of them."""
        lines: list[Event | StreamMark] = [
            mark("stream_opened", groups=((0, "full"), (1, "window", 1, 2))),
            *claim(blocks=4, footprint=5, keys=("k0", "k1", "k2", "k3")),
            event("block_cached", claim_id="a", block_ids=(1, 2, 3, 4), positions=(0, 1, 2, 3)),
            event("block_cached", claim_id="a", group=1, block_ids=(5,), positions=(3,)),
            event("claim_materialized", claim_id="a"),
        ]
        assert self.total(lines) == 4 + 1
        if evicted:
            lines.append(event("block_evicted", block_ids=(5,)))
        judge = judged([*lines, mark("stream_closed")])
        found = verdict(judge, obligation="victim_exclusion_before_violation")
        assert (Verdict.VIOLATED is found) is evicted

    WINDOW_ALONE = mark("stream_opened", groups=((0, "window", 2),))
    LAST = (
        event("block_cached", claim_id="a", block_ids=(1, 2, 3), positions=(1, 2, 3)),
        event("claim_materialized", claim_id="a"),
    )

    @pytest.mark.parametrize(("block", "found"), [(1, KEPT), (2, VIOLATED)])
    def test_window_alone(self, block: int, found: ModeVerdict) -> None:
        """Where every group has a window, a claim is the last window before its end: it takes fewer
        blocks than its predicate has positions, and one before the window may be evicted."""
        lines: list[Event | StreamMark] = [
            self.WINDOW_ALONE,
            *claim(blocks=4, footprint=2, keys=("k0", "k1", "k2", "k3")),
            *self.LAST,
        ]
        assert 2 == self.total(lines)
        lines += [event("block_evicted", block_ids=(block,)), mark("stream_closed")]
        judge = judged(lines)
        assert not judge.breaks
        obligation = "victim_exclusion_before_violation"
        assert (found is VIOLATED) is (verdict(judge, obligation=obligation) is Verdict.VIOLATED)
        assert (found is KEPT) is (verdict(judge) is KEPT)

    @pytest.mark.parametrize(
        ("opened", "fewest"), [(OPENED, 5), (WINDOW_ALONE, 2), (mark("stream_opened"), 4)]
    )
    def test_room(self, opened: StreamMark, fewest: int) -> None:
        """A commitment to fewer blocks than the predicate needs in all groups contradicts it."""
        for footprint in (fewest - 1, fewest):
            terms = claim(blocks=4, footprint=footprint)
            judge = judged([opened, *terms, mark("stream_closed")])
            broken = [Code.ENTRY_CONTRADICTS] if footprint < fewest else []
            assert broken == codes(judge)

    @pytest.mark.parametrize("footprint", [5, 6])
    def test_unknown_blocks(self, footprint: int) -> None:
        """Without keys, or with another footprint, it is unknown which blocks a claim takes."""
        keys = () if footprint == 5 else ("k0", "k1", "k2", "k3")
        lines = [self.OPENED, *claim(blocks=4, footprint=footprint, keys=keys)]
        assert self.total(lines) is None

    @staticmethod
    def total(lines: list[Event | StreamMark]) -> int | None:
        """The blocks that claims take after these lines."""
        judge = Judge()
        for line in numbered(lines):
            judge.take(line)
        return judge.run.capacity.total


class TestTiers:
    """Copies in several tiers."""

    def test_a_lost_tier(self) -> None:
        """A tier that is lost as a whole takes the copies of every claim in it."""
        lines = [
            *claim(mode="offloadable"),
            *HELD,
            event("store_finished", claim_id="a", tier="cpu"),
            event("block_lost", tier="cpu"),
            event("claim_offloaded", claim_id="a"),
        ]
        found = of(judged(lines)).findings["offload_restorability"]
        assert found[:2] == (Verdict.VIOLATED, 8)

    def test_a_load_needs_a_copy(self) -> None:
        """A load from tiers that hold no copy contradicts what was stated."""
        lines = [
            *claim(mode="offloadable"),
            *HELD,
            event("store_finished", claim_id="a"),
            event("block_lost", block_ids=(1, 2)),
            event("host_copy_lost", claim_id="a"),
            event("claim_harmed", claim_id="a"),
            event("request_arrived", request_id="r", needed=3, usable=9),
            event("load_finished", claim_id="a", request_id="r", held=2),
        ]
        assert codes(judged(lines)) == [Code.COPY_NOT_THERE]


class TestBreaks:
    """One rule for everything that is missing or contradictory."""

    @pytest.mark.parametrize(
        ("line", "code"),
        [
            (event("block_evicted", claim_id="a", block_ids=(7,)), Code.BLOCK_NOT_HELD),
            (event("request_finished", request_id="r"), Code.REQUEST_CONTRADICTS),
            (
                event("request_refused", request_id="r", blocking_claim_ids=("a",)),
                Code.REQUEST_CONTRADICTS,
            ),
            (event("claim_committed", claim_id="a", footprint=2), Code.ENTRY_CONTRADICTS),
            (event("claim_materialized", claim_id="a", sequence=9), Code.LINES_MISSING),
            (event("claim_materialized", claim_id="a", sequence=2), Code.OUT_OF_ORDER),
            (
                event("block_cached", claim_id="b", block_ids=(1,), positions=(4,)),
                Code.BLOCK_HOLDS_TWO,
            ),
            (
                event("store_finished"),
                Code.NOTHING_NAMED,
            ),
            (event("store_finished", claim_id="a", tier="gpu"), Code.COPY_ON_GPU),
            (event("block_evicted", block_ids=(1,), group=3), Code.GROUPS_CONTRADICT),
            (event("duration_elapsed", claim_id="a"), Code.DURATION_CONTRADICTS),
        ],
    )
    def test_each(self, line: Event, code: Code) -> None:
        """Each break has its code, and nothing more is concluded of a claim that is alive."""
        judge = judged([*claim(), *HELD, line])
        assert codes(judge) == [code]
        assert verdict(judge) is INCONCLUSIVE
        reasons = {found.reason and found.reason.code for found in of(judge).findings.values()}
        assert reasons == {code}

    def test_time_goes_backwards(self) -> None:
        """A time before that of the last line breaks the stream, by a reason of its own."""
        arrives, ends = (
            event(f"request_{what}", request_id="r", needed=1, usable=9, time_ns=time)
            for what, time in (("arrived", 5), ("finished", 4))
        )
        assert codes(judged([*claim(), arrives, ends])) == [Code.TIME_BACKWARDS]

    def test_what_was_violated_stays(self) -> None:
        """A claim that was violated before a break stays violated."""
        evicted = event("block_evicted", block_ids=(1,))
        judge = judged([*claim(), *HELD, evicted, event("request_finished", request_id="r")])
        assert verdict(judge) is VIOLATED
        assert codes(judge) == [Code.REQUEST_CONTRADICTS]

    def test_what_is_final_keeps_its_verdict(self) -> None:
        """A claim that had ended well keeps its verdict; the break is stated all the same."""
        late = event("request_finished", request_id="r", sequence=99)
        judge = judged([*claim(), *HELD, *ended(), late])
        assert (verdict(judge), codes(judge)) == (KEPT, [Code.LINES_MISSING])

    def test_claims_that_begin_after_it(self) -> None:
        """A claim that begins after a break is inconclusive, until a run begins."""
        judge = judged([event("request_finished", request_id="r"), *claim(), *HELD])
        assert of(judge).findings["claim_identity"].reason is not None
        assert verdict(judge) is INCONCLUSIVE

    def test_numbers_begin_again(self) -> None:
        """Numbers that begin again begin a run: it is judged, and the run before is not."""
        lines = [*claim(), *HELD]
        again = [*claim("b", sequence=0), *ended("b")]
        judge = judged([*lines, *again])
        assert [each.claim_id for each in judge.past] == ["a"]
        assert outcome_of(judge.past[0]).verdict is INCONCLUSIVE
        assert (verdict(judge, "b"), of(judge, "b").period) == (KEPT, 1)


def restated(lines: list[Event | StreamMark]) -> list[Event | StreamMark]:
    """Lines that state what stands."""
    return [
        type(each)(**{f: getattr(each, f) for f in each.__struct_fields__} | {"restated": True})
        for each in lines
    ]


class TestRestatement:
    """What stands is stated again, for readers that missed it."""

    STANDS = restated([*claim(keys=("k", "l")), *HELD])

    def test_a_judge_that_missed_nothing(self) -> None:
        """A judge that missed nothing skips the restatement."""
        lines: list[Event | StreamMark] = [
            *claim(keys=("k", "l")),
            *HELD,
            mark("stream_restated"),
            *self.STANDS,
            *ended(),
        ]
        judge = judged(lines)
        assert (verdict(judge), judge.breaks) == (KEPT, [])

    def test_a_judge_that_comes_late(self) -> None:
        """A judge that comes late judges what stands from there on, in a period of its own."""
        lines = [
            event("block_evicted", block_ids=(7,), sequence=50),
            mark("stream_restated"),
            *self.STANDS,
            event("block_evicted", block_ids=(1,)),
        ]
        judge = judged(lines)
        assert (of(judge).period, verdict(judge)) == (1, VIOLATED)

    def test_restated_events_exercise_nothing(self) -> None:
        """What restated events alone exercise counts as not exercised."""
        lines = [
            event("block_evicted", block_ids=(7,), sequence=50),
            mark("stream_restated"),
            *self.STANDS,
            *ended(),
        ]
        judge = judged(lines)
        assert verdict(judge) is KEPT
        assert verdict(judge, obligation="explicit_acceptance") is Verdict.UNEXERCISED
        assert verdict(judge, obligation="ordered_lifecycle_events") is Verdict.SATISFIED

    def test_a_request_that_arrived_before(self) -> None:
        """Of a request that is restated nothing is owed that may have been reported before."""
        arrived = event("request_arrived", request_id="r", needed=9, usable=9)
        lines = [
            event("block_evicted", block_ids=(7,), sequence=50),
            mark("stream_restated"),
            *self.STANDS,
            *restated([arrived]),
            event("request_finished", request_id="r"),
        ]
        found = verdict(judged(lines), obligation="explicit_conflict_action")
        assert found is Verdict.UNEXERCISED

    def test_nothing_exercised(self) -> None:
        """A claim of which no obligation was exercised is not kept: nothing was put to the test."""
        registered = next(claim(mode="best_effort"))
        reported = event("claim_materialized", claim_id="a")
        cached = event("block_cached", claim_id="a", block_ids=(1, 2), positions=(0, 1))
        assert verdict(judged([registered])) is ModeVerdict.INCONCLUSIVE
        assert verdict(judged([registered, cached, reported])) is KEPT


class TestUnknown:
    """Fields that are not stated leave open what depends on them, alone."""

    def test_needs(self) -> None:
        """A request that does not state its needs leaves open what rests on room for it."""
        lines = [
            *claim(),
            *HELD,
            event("request_arrived", request_id="r"),
            event("request_finished", request_id="r"),
        ]
        findings = of(judged(lines)).findings
        unknown = {name for name, found in findings.items() if found.reason is not None}
        assert unknown == {
            "explicit_conflict_action",
            "victim_exclusion_before_violation",
        }
        assert {found.reason.code for found in findings.values() if found.reason} == {
            Code.NEXT_STEP_UNKNOWN
        }

    def test_what_is_not_observed(self) -> None:
        """What a stream does not observe can be neither kept nor broken."""
        lines = [
            mark(
                "stream_opened", observes=("claim_registered", "claim_committed", "claim_retired")
            ),
            *claim(),
            mark("stream_closed"),
        ]
        findings = of(judged(lines)).findings
        assert findings["claim_identity"].verdict is Verdict.SATISFIED
        reason = findings["victim_exclusion_before_violation"].reason
        assert reason is not None
        assert reason.code is Code.NOT_OBSERVED


class TestOverTime:
    """Claims that end, and what is remembered of them."""

    def test_a_late_report(self) -> None:
        """A report after the end is judged: the lifecycle does not allow it."""
        late = event("claim_materialized", claim_id="a")
        judge = judged([*claim(), *HELD, *ended(), late])
        found = of(judge).findings["ordered_lifecycle_events"]
        assert (found.verdict, found.at) == (Verdict.VIOLATED, 8)

    def test_forgotten(self) -> None:
        """Of the claims that ended only so many are kept; a forgotten id is no new claim."""
        gone: list[str] = []
        lines = [line for n in range(4) for line in (*claim(f"c{n}"), *ended(f"c{n}"))]
        judge = judged(
            [*lines, *claim("c0")],
            limits=Limits(ended=2),
            forget=lambda each: gone.append(each.claim_id),
        )
        assert gone == ["c0", "c1"]
        assert verdict(judge, "c0") is INCONCLUSIVE

    @pytest.mark.parametrize(("most", "kept"), [(0, []), (1, ["c1"]), (9, ["c0", "c1"])])
    def test_past_runs(self, most: int, kept: list[str]) -> None:
        """Of the claims of past runs as many are kept as of those that ended, and perhaps none."""
        lines = [line for n in range(2) for line in (*claim(f"c{n}"), *ended(f"c{n}"))]
        again = event("request_arrived", request_id="r", needed=1, usable=9, sequence=0)
        judge = judged([*lines, again], limits=Limits(ended=most))
        assert [each.claim_id for each in judge.past] == kept

    def test_too_many(self) -> None:
        """One more claim than are followed breaks the stream."""
        judge = judged([*claim("a"), *claim("b")], limits=Limits(live=1))
        assert codes(judge) == [Code.CLAIMS_LIMIT]
