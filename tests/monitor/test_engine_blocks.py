"""Blocks that have names and blocks that have none: whose a block was that is gone."""

from __future__ import annotations

from monitor.report.verdict import Report
from spec.claims.states import Mode
from tests.monitor.traces import Line, having, judge, put, verdicts, without
from tests.monitor.traces_canonical import about, canonical, canonical_claim


def broken_by(report: Report) -> list[str]:
    """The codes of the breaks of the stream."""
    return [each.code for each in report.breaks]


class TestUnnamedBlocks:
    """A load that names no blocks: what is evicted later may be one of them."""

    back = (
        *canonical_claim(mode="offloadable"),
        about("store_finished"),
        about("claim_offloaded"),
        canonical("block_evicted", block_ids=[100, 101, 102, 103]),
        canonical("request_arrived", request_id="q", needed=1, usable=80),
        about("claim_restore_required", request_id="q"),
        about("load_finished", request_id="q", held=3),
        about("claim_restored", request_id="q", from_tier=True),
        about("prefix_reused", request_id="q"),
        canonical("request_finished", request_id="q"),
    )
    again = (
        canonical("request_arrived", request_id="r", needed=1, usable=80),
        about("prefix_reused", request_id="r"),
        canonical("request_finished", request_id="r"),
    )

    def restorable(self, *gone: Line) -> str:
        report = judge([*self.back, *gone, *self.again], Mode.OFFLOADABLE)
        return verdicts(report)["offload_restorability"]

    def test_still_there(self) -> None:
        """What was loaded may be reused again."""
        assert "satisfied" == self.restorable()

    def test_by_position(self) -> None:
        """An eviction that names the claim and its positions takes them, whatever block it was;
        one of a position that was never loaded breaks the stream."""
        gone = about("block_evicted", block_ids=[7], positions=[2])
        assert "violated" == self.restorable(gone)
        behind = about("block_evicted", block_ids=[7], positions=[3])
        report = judge([*self.back, behind, *self.again], Mode.OFFLOADABLE)
        assert ["RC112"] == broken_by(report)
        assert "inconclusive" == report.obligations["offload_restorability"]

    def test_by_name(self) -> None:
        """One that names the claim and a block never shown leaves open which it was."""
        assert "inconclusive" == self.restorable(about("block_evicted", block_ids=[7]))

    def test_by_block(self) -> None:
        """One that names nobody may have taken it too. One that says whose it was contradicts
        that no event stated that it was held. Both break the stream."""
        gone = canonical("block_evicted", block_ids=[7])
        for line in (gone, {**gone, "object_id": "another"}):
            report = judge([*self.back, line, *self.again], Mode.OFFLOADABLE)
            assert ["RC112"] == broken_by(report)
            assert "inconclusive" == report.obligations["offload_restorability"]

    def test_known_blocks(self) -> None:
        """Where the load named its blocks, others are others."""
        named = {"block_ids": [7, 8, 9], "positions": [0, 1, 2], "held": None}
        at = [line["kind"] for line in self.back].index("load_finished")
        trace = [*self.back[:at], {**self.back[at], **named}, *self.back[at + 1 :]]
        other = canonical("block_evicted", block_ids=[10])
        report = judge([*trace, other, *self.again], Mode.OFFLOADABLE)
        assert "satisfied" == report.obligations["offload_restorability"]
        mine = canonical("block_evicted", block_ids=[8])
        report = judge([*trace, mine, *self.again], Mode.OFFLOADABLE)
        assert "violated" == report.obligations["offload_restorability"]

    def test_victim(self) -> None:
        """An eviction that names a protected claim, and a block never shown, proves no victim."""
        loaded = about("load_finished", request_id="q", held=3)
        claim = [*canonical_claim(), about("store_finished")]
        reset = [canonical("block_lost"), about("claim_harmed")]
        back = [loaded, about("claim_materialized")]
        trace = [*claim, *reset, *back, about("block_evicted", block_ids=[7])]
        report = judge(trace, Mode.HARD_PROTECTED)
        assert ["RC112"] == broken_by(report)
        assert set(report.obligations) == having(report, "inconclusive")

    def test_second_copy(self) -> None:
        """Where every position is held in a named block, too, it may have been a copy."""
        loaded = about("load_finished", request_id="q", held=3)
        claim = [*canonical_claim(), about("store_finished")]
        trace = [*claim, loaded, about("block_evicted", block_ids=[7])]
        report = judge(trace, Mode.HARD_PROTECTED)
        assert "inconclusive" == report.verdict
        assert set() == having(report, "violated")

    def test_ended(self) -> None:
        """A claim that has ended is not touched by what happens to its blocks."""
        ended = [about("claim_retired"), about("claim_released", by="tenant:1")]
        gone = canonical("block_evicted", block_ids=[7])
        report = judge([*self.back, *ended, gone], Mode.OFFLOADABLE)
        assert "kept" == report.verdict

    def test_reset(self) -> None:
        """After a reset nothing unnamed is left to be evicted."""
        reset = canonical("block_lost")
        gone = canonical("block_evicted", block_ids=[7])
        report = judge([*self.back, reset, gone], Mode.OFFLOADABLE)
        assert "inconclusive" not in report.obligations.values()

    def test_how_many(self) -> None:
        """A load that does not say how many blocks came back restores nothing for certain."""
        trace = put(list(self.back), "load_finished", about("load_finished", request_id="q"))
        report = judge(without(trace[:-3], "claim_restored"), Mode.OFFLOADABLE)
        assert set(report.obligations) == having(report, "inconclusive")
        again = put(list(self.back), "claim_restored", about("load_finished", request_id="q"))
        report = judge(again, Mode.OFFLOADABLE)
        assert "satisfied" == report.obligations["offload_restorability"]

    def test_range(self) -> None:
        """What a load brought back is counted from the first block that the predicate needs."""
        ranged = [
            {**line, **({"predicate": "contiguous_range(1, 3)"} if "predicate" in line else {})}
            for line in self.back
        ]
        report = judge(ranged, Mode.OFFLOADABLE)
        assert "satisfied" == report.obligations["offload_restorability"]

    def test_all_of_one_claim(self) -> None:
        """Blocks that a claim lost by name are no longer its own."""
        lost = [about("block_lost"), about("claim_harmed")]
        gone = canonical("block_evicted", block_ids=[100])
        report = judge([*canonical_claim(), *lost, gone], Mode.HARD_PROTECTED)
        assert "kept" == report.verdict
