"""Decisions on the pool, by streams that tell two sides apart: conflicts, room, blocks, facts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from monitor.core import Streams
from monitor.input.records import Record, Stamp, at_line
from spec.claims.states import Mode
from spec.events.canonical import Event
from tests.monitor.traces import CLAIM, OTHER, Line, Trace, claim_of, having, judge
from tests.monitor.traces_canonical import about, canonical
from tests.monitor.traces_promises import (
    BLOCKS,
    GONE,
    HARD,
    OFFLOADABLE,
    accepted,
    arrives,
    broken,
    cached,
    looked_up,
    named,
    of,
    proof,
    released,
    reused,
    there,
    verdict,
)

EXPIRING = Mode.EXPIRING


def contradicts(mode: Mode, *lines: Line, claim: str = CLAIM) -> str:
    """What is said of a claim about which facts contradict each other."""
    report = judge(list(lines), mode)
    assert "inconclusive" == report.verdict
    (why,) = {f.why for f in claim_of(report, claim).obligations.values()}
    return why.removeprefix("facts contradict: ") if "facts contradict: " in why else ""


class TestConflicts:
    """Standing: beside the claims alone. Transient: beside what other requests occupy."""

    blame = "blocking_claim_ids"

    def test_silent(self) -> None:
        """A transient conflict may wait in silence; a standing one may not."""
        both = [arrives("q", 10), arrives("r", 10), of("finished", "q"), of("finished", "r")]
        assert "kept" == verdict(HARD, *there(), *both)
        standing = [arrives("q", 17), of("finished", "q")]
        assert {"explicit_conflict_action"} == broken(HARD, *there(), *standing)

    @pytest.mark.parametrize(
        ("others", "named_ids", "right"),
        [
            ((), [CLAIM], False),
            ((7,), [CLAIM], True),
            ((6,), [CLAIM], False),
            ((3, 4), [CLAIM], True),
            ((3, 4), [], True),
            ((3, 4), ["claim:x"], False),
            ((3, 3), [CLAIM], False),
        ],
    )
    def test_named(self, others: tuple[int, ...], named_ids: list[str], right: bool) -> None:
        """Of 20 blocks the claim has 4 and the request needs 10: names are truthful if some amount
        of what the others need keeps it out, and the claim's room lets it in."""
        hand = [arrives(f"r{n}", needed) for n, needed in enumerate(others)]
        refused = of("refused", "q", blocking_claim_ids=named_ids)
        trace = [*there(), *hand, arrives("q", 10), refused, of("finished", "q")]
        assert ({self.blame} if not right else set()) == broken(HARD, *trace)

    @pytest.mark.parametrize(("active", "right"), [(10, True), (14, True), (19, True), (20, False)])
    def test_active(self, active: int, right: bool) -> None:
        """A stated `active` is what the request needs, and some of what the others need."""
        hand = [arrives("r", 6), arrives("s", 3)]
        said = {"blocking_claim_ids": [CLAIM], "proof": proof(4, active, 20)}
        trace = [*there(), *hand, arrives("q", 10), of("refused", "q", **said)]
        assert ({"footprint_accounting"} if not right else set()) == broken(HARD, *trace)

    def test_standing(self) -> None:
        """In a standing conflict nothing counts but the claims: two are named, and one will do."""
        claims = [*there(), *there(OTHER, 500)]
        hand = [arrives("r", 9), arrives("q", 15)]
        one = of("refused", "q", blocking_claim_ids=[CLAIM])
        both = of("refused", "q", blocking_claim_ids=[CLAIM, OTHER])
        nobody = of("refused", "q", blocking_claim_ids=[])
        assert set() == broken(HARD, *claims, *hand, one)
        assert {self.blame} == broken(HARD, *claims, *hand, both)
        assert {self.blame} == broken(HARD, *claims, *hand, nobody)

    def test_unknown_need(self) -> None:
        """Where nobody states what another request needs, what rests on it is not known."""
        refused = of("refused", "q", blocking_claim_ids=[CLAIM])
        hand = canonical("request_arrived", request_id="r")
        streams = Streams(HARD)
        for line, said in enumerate([*there(), hand, arrives("q", 10), refused]):
            event, at = msgspec.convert(said, Event), at_line("f", line)
            streams.take(Record(at, Stamp("run", None, None), ((event, at),)))
        (stream,) = streams
        found = stream.judge.claims[CLAIM].findings()[self.blame]
        assert "inconclusive" == found.verdict
        assert found.reason is not None
        assert "next-step-unknown" == found.reason.code.title

    def test_who_was_there(self) -> None:
        """A silent end is judged by the claims that were there all along, an action by those at its
        own line."""
        late = [arrives("q", 17), *there(), of("finished", "q")]
        assert "kept" == verdict(HARD, *late)
        refused = of("refused", "q", blocking_claim_ids=[CLAIM])
        assert "kept" == verdict(HARD, *late[:-1], refused, late[-1])
        gone = [*there(), arrives("q", 17), *released(), of("finished", "q")]
        assert set() == broken(HARD, *gone)

    def test_owed_reports(self) -> None:
        """What is owed is due when any request of the pool is acted on, or ends."""
        for moment in (of("deferred", "q"), of("finished", "q")):
            owing = [*there(), named("claim_retired", by="tenant:1"), arrives("q"), moment]
            end = named("claim_released", by="tenant:1")
            assert "violated" == verdict(HARD, *owing, end)
            on_time = [*owing[:-1], end, moment]
            assert "kept" == verdict(HARD, *on_time)


class TestRoom:
    """Room is made of blocks, each of which counts once."""

    whole = ("a/0", "a/1", "a/2", "a/3")

    def two(self, mine: Any, others: Any) -> Trace:
        """Two claims of four blocks each, that state their contents, or not."""
        return [*accepted(keys=mine), *accepted(OTHER, keys=others)]

    def judged(self, claims: Trace, resident: int, needed: int, *names: str) -> str:
        """A request is refused with these sums, in these names."""
        refused = {"blocking_claim_ids": list(names), "proof": proof(resident, needed, 20)}
        trace = [*claims, arrives("q", needed), of("refused", "q", **refused), of("finished", "q")]
        return verdict(HARD, *trace)

    def test_one_object(self) -> None:
        """Claims on one object have the same blocks: neither frees any without the other."""
        same = [*accepted(of="x"), *accepted(OTHER, of="x")]
        assert "kept" == self.judged(same, 4, 17, CLAIM, OTHER)
        assert "violated" == self.judged(same, 4, 17, CLAIM)
        assert "violated" == self.judged(same, 8, 17, CLAIM, OTHER)
        fits = [arrives("q", 16), of("finished", "q")]
        assert "kept" == verdict(HARD, *same, *fits)

    def test_content(self) -> None:
        """So do claims whose contents are the same by their keys."""
        same = self.two(self.whole, self.whole)
        assert "kept" == self.judged(same, 4, 17, CLAIM, OTHER)
        assert "violated" == self.judged(same, 8, 17, CLAIM, OTHER)

    def test_partly(self) -> None:
        """Claims that share two of four blocks: each frees the two that it has alone."""
        parts = self.two(self.whole, ("a/0", "a/1", "b/2", "b/3"))
        assert "kept" == self.judged(parts, 6, 15, CLAIM)
        assert "kept" == self.judged(parts, 6, 16, OTHER)
        assert "kept" == self.judged(parts, 6, 17, CLAIM, OTHER)
        assert "violated" == self.judged(parts, 6, 17, CLAIM)
        assert "violated" == self.judged(parts, 6, 15, CLAIM, OTHER)
        assert "violated" == self.judged(parts, 8, 15, CLAIM)

    def test_apart(self) -> None:
        """Different contents are different blocks."""
        apart = self.two(self.whole, ("b/0", "b/1", "b/2", "b/3"))
        assert "kept" == self.judged(apart, 8, 13, CLAIM)
        assert "violated" == self.judged(apart, 4, 17, CLAIM)

    def test_unknown(self) -> None:
        """Without keys two objects share nothing."""
        unknown = self.two((), ())
        assert "kept" == verdict(HARD, *unknown, arrives("q", 12), of("finished", "q"))
        assert "violated" == verdict(HARD, *unknown, arrives("q", 17), of("finished", "q"))
        assert "violated" == verdict(HARD, *unknown, arrives("q", 14), of("finished", "q"))
        assert "violated" == self.judged(unknown, 9, 17, CLAIM, OTHER)
        assert "kept" == self.judged(unknown, 8, 17, CLAIM, OTHER)

    def test_blocks(self) -> None:
        """Blocks that are held tell what is shared, and what is not."""
        unknown = self.two((), ())
        told = [named("claim_materialized"), named("claim_materialized", OTHER)]
        apart = [cached(CLAIM, 100, 0, 1, 2, 3), cached(OTHER, 500, 0, 1, 2, 3), *told]
        assert "violated" == verdict(HARD, *unknown, *apart, arrives("q", 14), of("finished", "q"))
        same = [cached(CLAIM, 100, 0, 1, 2, 3), cached(OTHER, 100, 0, 1, 2, 3), *told]
        assert "kept" == verdict(HARD, *unknown, *same, arrives("q", 14), of("finished", "q"))

    def test_other_cache(self) -> None:
        """Nothing is shared between caches."""
        unknown = self.two((), ())
        unknown[3:] = [{**line, "cache_identity": "cache:v2"} for line in unknown[3:]]
        assert "violated" == verdict(HARD, *unknown, arrives("q", 14), of("finished", "q"))


class TestBlocks:
    """Blocks belong to the object, and copies of one position are alike."""

    def test_later_claim(self) -> None:
        """A claim on an object has what is held of it: that it is there must be told at once."""
        first = there(of="x")
        second = accepted(OTHER, of="x")
        assert "kept" == verdict(HARD, *first, *second, named("claim_materialized", OTHER))
        gone = [named("claim_materialized", OTHER), GONE]
        report = judge([*first, *second, *gone], HARD)
        for claim in (CLAIM, OTHER):
            assert "victim_exclusion_before_violation" in having(report, "violated", claim)

    def test_later_blocks(self) -> None:
        """So has one that was there before they were cached under the other's name."""
        both = [*accepted(of="x"), *accepted(OTHER, of="x"), cached(CLAIM, 100, 0, 1, 2, 3)]
        told = [named("claim_materialized"), named("claim_materialized", OTHER)]
        assert "kept" == verdict(HARD, *both, *told)
        silent = [*both, told[0], arrives("q"), of("finished", "q")]
        report = judge(silent, HARD)
        assert "claim_materialized_event" in having(report, "violated", OTHER)

    def test_nameless_load(self) -> None:
        """A load that names no blocks brings them back for every claim on the object."""
        asks = {"of": "x", "mode": OFFLOADABLE}
        claims = [*there(**asks), *accepted(OTHER, **asks), named("claim_materialized", OTHER)]
        stored = canonical("store_finished", cache_identity="cache:v1", object_id="object:x")
        load = [named("load_finished", CLAIM, "q", held=4), named("claim_restored", CLAIM, "q")]
        load[1]["from_tier"] = True
        need = [arrives("q"), named("claim_restore_required", CLAIM, "q")]
        both = [*load, reused("q"), reused("q", OTHER), of("finished", "q")]
        assert "offload_restorability" not in having(
            judge([*claims, stored, GONE, *need, *both], OFFLOADABLE), "violated"
        )

    def test_copies(self) -> None:
        """The eviction of the last copy of a position counts, and of no other."""
        copy = cached(CLAIM, 700, 0)
        one = canonical("block_evicted", block_ids=[700])
        two = canonical("block_evicted", block_ids=[100])
        for first in (one, two):
            assert "kept" == verdict(HARD, *there(), copy, first)
        assert {"victim_exclusion_before_violation"} == broken(HARD, *there(), copy, one, two)
        both = canonical("block_evicted", block_ids=[100, 700])
        assert {"victim_exclusion_before_violation"} == broken(HARD, *there(), copy, both)


class TestContradictions:
    """Facts that contradict each other conclude nothing, and close no deadline."""

    elapses = named("duration_elapsed")
    expiring = there(mode=EXPIRING, duration="1 s")

    @pytest.mark.parametrize(
        ("mode", "lines", "why"),
        [
            (HARD, [*there(), named("claim_committed", footprint=4)], "already holds"),
            (HARD, accepted(footprint=2, threshold=3), "smaller than what the predicate needs"),
            (HARD, [*accepted(), named("store_finished")], "blocks that were never there"),
            (HARD, [*there(), named("host_copy_lost")], "a copy is lost that was not there"),
            (HARD, [*there(), named("load_finished", CLAIM, "q", held=4)], "no tier has a copy"),
            (HARD, [*there(), named("load_failed", CLAIM, "q")], None),
            (HARD, [*there(), of("finished", "q")], "a request ends that has not arrived"),
            (
                HARD,
                [*there(), arrives("q"), arrives("q")],
                "a request arrives that is still unfinished",
            ),
            (HARD, [*there(), cached(CLAIM, 100, 1)], None),
            (HARD, [*there(), cached(CLAIM, 101, 0)], "holds two contents"),
            (HARD, [*there(), elapses], "the duration of a claim elapses that has none"),
            (EXPIRING, [*expiring, elapses], "the duration elapses too early"),
            (HARD, [*there(), looked_up("q", 2)], "finds less than is held"),
        ],
    )
    def test_kinds(self, mode: Mode, lines: Trace, why: str | None) -> None:
        """Each kind says what contradicts; a block that is cached again where it is does not, and
        neither does a load that fails where no copy was."""
        if why is None:
            assert "kept" == verdict(mode, *lines)
        else:
            assert why in contradicts(mode, *lines)

    def test_ended(self) -> None:
        """A second end of an entry breaks the stream; the claim is final, and keeps its verdict."""
        report = judge([*there(), *released(), named("claim_retired")], HARD)
        assert ["RC110"] == [each.code for each in report.breaks]
        assert "had ended before" in report.why
        assert "kept" == claim_of(report).verdict

    def test_another_object(self) -> None:
        """One block at one position of two objects is sharing; at two positions, or with two
        contents, nobody knows."""
        there_too = [cached(OTHER, 100, 0, 1, 2, 3), named("claim_materialized", OTHER)]
        alike = accepted(OTHER, keys=[f"{CLAIM}/{position}" for position in range(4)])
        assert "kept" == verdict(HARD, *there(), *alike, *there_too)
        assert "inconclusive" == verdict(HARD, *there(), *accepted(OTHER), *there_too)
        moved = [*accepted(OTHER), cached(OTHER, 99, 1, 2, 3)]
        assert "inconclusive" == verdict(HARD, *there(), *moved)
        freed = [*there(), *released(), canonical("block_evicted", block_ids=BLOCKS)]
        assert "kept" == verdict(HARD, *freed, *accepted(OTHER), cached(OTHER, 99, 1, 2, 3))

    def test_closes_nothing(self) -> None:
        """The end of a request that never came is no end by which anything was due."""
        owing = [*there(), named("claim_retired", by="tenant:1"), of("finished", "q")]
        assert "inconclusive" == verdict(HARD, *owing)

    def test_after_a_breach(self) -> None:
        """What is broken stays broken."""
        assert "violated" == verdict(HARD, *there(), GONE, of("finished", "q"))

    def test_look_up(self) -> None:
        """Without what it asked for, finding less than is held shows nothing; finding as much as it
        asked for is right."""
        without_asked = named("prefix_lookup", CLAIM, "q", held=2)
        assert "inconclusive" == verdict(HARD, *there(), without_asked)
        assert "kept" == verdict(HARD, *there(), looked_up("q", 2, 2))
        assert "kept" == verdict(HARD, *there(), named("prefix_lookup", CLAIM, "q", held=4))

    def test_unobserved(self) -> None:
        """What the hooks of a stream do not observe contradicts nothing."""
        opened = canonical("stream_opened", observes=["claim_registered", "claim_committed"])
        closed = canonical("stream_closed")
        why = judge([opened, *there(), of("finished", "q"), closed], HARD).why
        assert "contradict" not in why


class TestPriority:
    """Judged where the choice was known."""

    def test_statement(self) -> None:
        """A claim of 9 loses while one of 1 holds blocks: by what could be taken."""
        low, high = ({"priority": p, "mode": "soft_priority"} for p in (1, 9))
        asks = {"predicate": "leading_prefix_at_least(3)", "owner_scope": "tenant:1"}
        claims = [
            about("claim_registered", CLAIM, **asks, **low),
            about("claim_registered", OTHER, **asks, **high),
            cached(CLAIM, 100, 0, 1, 2, 3),
            named("claim_materialized"),
            cached(OTHER, 500, 0, 1, 2, 3),
            named("claim_materialized", OTHER),
        ]
        told = named("claim_block_lost", OTHER)
        for lowest, said in ((None, "inconclusive"), (1, "violated"), (9, "kept")):
            gone = canonical("block_evicted", block_ids=[503], lowest_priority=lowest)
            assert said == verdict(Mode.SOFT_PRIORITY, *claims, gone, told)
