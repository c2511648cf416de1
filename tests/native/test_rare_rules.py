"""Rules that hardly any stream needs: both judges agree on what they mean."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from spec.events.canonical import Event, StreamMark
from spec.language.verdicts import Verdict
from spec.stream.breaks import Limits
from spec.stream.codes import Code
from spec.stream.outcome import ModeVerdict
from tests.native.differential import USUAL, differs
from tests.native.mutated import HONEST, mutated
from tests.native.test_native_judge import agreed
from tests.spec.stream.streams import claim, ended, event, of

HELD = (
    event("block_cached", claim_id="a", block_ids=(1, 2), positions=(0, 1)),
    event("claim_materialized", claim_id="a"),
)
LOST = event("claim_harmed", claim_id="a")


def broken(lines: list[Event | StreamMark]) -> list[Code]:
    """The codes of the breaks that both judges find."""
    return [each.code for each in agreed(lines)[""].judge.breaks]


def looked_up(name: str) -> list[Event]:
    """A request that looks the claim up, and ends."""
    return [
        event("request_arrived", request_id=name, needed=1, usable=9),
        event("prefix_lookup", claim_id="a", request_id=name, held=2, asked=2),
        event("request_finished", request_id=name),
    ]


class TestRequests:
    def test_a_report_on_a_forgotten_request(self) -> None:
        """What a request came to is kept while 32 later ones of the claim end; then a late report
        leaves the obligations on requests open."""
        late = event("claim_restore_required", claim_id="a", request_id="q0")
        for later, code in ((31, None), (32, Code.REQUEST_FORGOTTEN)):
            lines: list[Event | StreamMark] = [*claim(mode="offloadable"), *HELD]
            for number in range(later + 1):
                lines += looked_up(f"q{number}")
            found = of(agreed([*lines, late])[""].judge).findings["offload_restorability"]
            assert code is (found.reason and found.reason.code)

    def test_a_forgotten_id_again(self) -> None:
        """The id of a request that the claim forgot begins another one."""
        lines: list[Event | StreamMark] = [*claim(mode="offloadable"), *HELD]
        for name in [*range(34), 0]:
            lines += looked_up(f"q{name}")
        assert [] == broken([*lines, *ended()])


class TestObjects:
    OTHERS = (*claim("a", object_id="o"), *claim("b", object_id="o", cache_identity="other"))

    def test_two_of_one_id(self) -> None:
        """A fact about one of two objects with one id must say which."""
        stored = event("store_finished", object_id="o")
        assert [Code.OBJECT_AMBIGUOUS] == broken([*self.OTHERS, stored])

    def test_a_claim_on_either(self) -> None:
        """So must a claim of which the object is stated late."""
        late = (
            event("claim_registered", claim_id="c", mode="best_effort"),
            event("claim_committed", claim_id="c", object_id="o", footprint=2),
        )
        assert [Code.OBJECT_AMBIGUOUS] == broken([*self.OTHERS, *late])


class TestBlocks:
    def test_gone_with_another_content(self) -> None:
        """A block that is gone held what is stated to be gone."""
        lines = [*claim(keys=("k", "l")), *HELD, event("block_lost", block_ids=(1,), keys=("l",))]
        assert [Code.BLOCK_NOT_HELD] == broken(lines)

    def test_gone_by_an_id_that_was_not_stated(self) -> None:
        """A block that was cached without an id is lost by its content, whatever its id."""
        cached = event("block_cached", claim_id="a", positions=(0, 1))
        gone = event("block_lost", claim_id="a", block_ids=(7,), positions=(1,))
        lines = [*claim(), cached, HELD[1], gone, LOST]
        assert ModeVerdict.KEPT is of(agreed(lines)[""].judge).verdict

    def test_reused_in_silence(self) -> None:
        """A block that a claim counts on holds its content until an event states that it is gone,
        though the block is stated again without content."""
        lines = [*claim(), *HELD, event("block_cached", block_ids=(1,))]
        assert ModeVerdict.KEPT is of(agreed([*lines, *ended()])[""].judge).verdict
        found = of(agreed([*lines, LOST])[""].judge).findings["materialization_predicate"]
        assert Verdict.VIOLATED is not found.verdict

    def test_late_keys_of_a_block_without_an_id(self) -> None:
        """Blocks without ids keep their content where its keys are stated late."""
        registered, committed, accepted = claim(mode="best_effort")
        stated = {"keys": ("k", "l"), "cache_identity": "cache"}
        lines = [
            registered,
            event("block_cached", claim_id="a", positions=(0, 1)),
            replace(committed, **stated),
            accepted,
            event("claim_materialized", claim_id="a"),
            event("block_lost", keys=("l",), cache_identity="cache"),
            event("claim_unmaterialized", claim_id="a"),
        ]
        found = of(agreed(lines)[""].judge)
        assert Verdict.SATISFIED is found.findings["materialization_predicate"].verdict


class TestPriorities:
    @pytest.mark.parametrize(
        ("gone", "verdict"), [((1, 2, 3, 4), Verdict.UNEXERCISED), ((1, 3), Verdict.INCONCLUSIVE)]
    )
    def test_all_of_the_lower_one_go(self, gone: tuple[int, ...], verdict: Verdict) -> None:
        """A claim loses a block rightly together with the last block of a lower priority; it is
        unknown where the lower one has blocks left."""
        lines = [
            *claim("a", mode="soft_priority", priority=5),
            *claim("b", mode="soft_priority", priority=1),
            *HELD,
            event("block_cached", claim_id="b", block_ids=(3, 4), positions=(0, 1)),
            event("block_evicted", block_ids=gone, lowest_priority=1),
        ]
        found = of(agreed(lines)[""].judge).findings
        assert verdict is found["priority_influence"].verdict


OBJECT = "object of a"


def others(number: int) -> list[Event]:
    """Blocks of so many other objects are cached, and gone."""
    found: list[Event] = []
    for block in range(100, 100 + number):
        about = {"object_id": f"other {block}", "block_ids": (block,), "positions": (0,)}
        found += [event("block_cached", **about), event("block_lost", **about)]
    return found


class TestForgottenObjects:
    FEW = USUAL._replace(objects=3)

    def test_held(self) -> None:
        """An object is not forgotten while it alone has a key of a block or of a copy, and a claim
        on it finds what is held."""
        cached = event("block_cached", object_id=OBJECT, block_ids=(1, 2), positions=(0, 1))
        lines = [cached, *others(20), *claim(), HELD[1], *ended()]
        found = agreed(lines, self.FEW)[""].judge
        assert ModeVerdict.KEPT is of(found).verdict
        assert len(found.run.objects._by_id) <= self.FEW.objects + 1

    def test_held_by_its_keys(self) -> None:
        """So it is where keys were stated for its positions, by a claim before."""
        keyed = {"keys": ("k", "l"), "cache_identity": "cache"}
        cached = event("block_cached", block_ids=(1, 2), **keyed)
        lines = [*claim("b", object_id=OBJECT, **keyed), cached, *ended("b"), *others(20)]
        found = agreed([*lines, *claim(), HELD[1], *ended()], self.FEW)[""].judge
        assert ModeVerdict.KEPT is of(found).verdict

    def test_forgotten_keys(self) -> None:
        """Keys are forgotten of which nothing is held. From then on a claim that does not state its
        keys is inconclusive, and one that does is judged."""
        keyed = {"keys": ("k", "l"), "cache_identity": "cache"}
        cached = event("block_cached", block_ids=(1, 2), **keyed)
        lines = [*claim("b", object_id=OBJECT, **keyed), *ended("b"), *others(20), cached]
        found = agreed([*lines, *claim(), HELD[1]], self.FEW)[""].judge
        assert ModeVerdict.INCONCLUSIVE is of(found).verdict
        reasons = {each.reason.code for each in of(found).findings.values() if each.reason}
        assert {Code.KEYS_FORGOTTEN} == reasons
        found = agreed([*lines, *claim(**keyed), HELD[1], *ended()], self.FEW)[""].judge
        assert ModeVerdict.KEPT is of(found).verdict

    def test_blocks_and_copies(self) -> None:
        """More blocks and copies than are followed break the stream; those that end make room."""
        few = USUAL._replace(blocks=4)
        block = event("block_cached", object_id="o", positions=(0,))
        tiers = [event("store_finished", object_id="o", positions=(0,), tier=t) for t in "xyx"]
        named = event("block_cached", block_ids=(1,))
        lines = [block, *tiers, named, *others(3)]
        limited = agreed(lines, few)[""].judge
        assert [Code.BLOCKS_LIMIT] == [each.code for each in limited.breaks]
        lost = event("host_copy_lost", object_id="o", positions=(0,), tier="y")
        assert [] == agreed([block, *tiers, named, lost, *others(3)], few)[""].judge.breaks

    @pytest.mark.parametrize("kind", ["store_finished", "host_copy_found"])
    def test_tiers_of_a_claim(self, kind: str) -> None:
        """Copies of a claim that state no keys, in more tiers than are followed, break the stream;
        those that are lost make room, and so does a tier that lost all that it had."""
        few = USUAL._replace(tiers=2)
        x, y, z = (event(kind, claim_id="a", tier=tier) for tier in "xyz")
        breaks = agreed([*claim(), *HELD, x, y, x, z], few)[""].judge.breaks
        assert [(Code.BLOCKS_LIMIT, "a claim has copies in more than 2 tiers")] == [
            (each.code, each.text) for each in breaks
        ]
        lost = event("host_copy_lost", claim_id="a", tier="y")
        assert [] == agreed([*claim(), *HELD, x, y, x, lost, z], few)[""].judge.breaks
        emptied = event("host_copy_lost", tier="x")
        assert [] == agreed([*claim(), *HELD, x, y, emptied, z], few)[""].judge.breaks

    def test_tiers_of_an_ended_claim(self) -> None:
        """So it is of late copies, after a claim ended; they count for each claim anew."""
        few = USUAL._replace(tiers=2)
        late = [event("host_copy_found", claim_id="a", tier=tier) for tier in "xyz"]
        other = [event("host_copy_found", claim_id="b", tier=tier) for tier in "yz"]
        lines = [*claim(), *claim("b"), *late[:2], *ended(), *other, *late[:2]]
        assert [] == agreed(lines, few)[""].judge.breaks
        assert [Code.BLOCKS_LIMIT] == [
            each.code for each in agreed([*lines, late[2]], few)[""].judge.breaks
        ]

    def test_many_are_held(self) -> None:
        """The objects that are kept because something is held are as many as blocks."""
        cached = [
            event("block_cached", object_id=f"o{block}", block_ids=(block,), positions=(0,))
            for block in range(100)
        ]
        judge = agreed([*cached[:20], *others(60)], self.FEW._replace(blocks=30))[""].judge
        assert 2 * (20 + self.FEW.objects) >= len(judge.run.objects._by_id) >= 20
        judge = agreed(cached, self.FEW._replace(blocks=30))[""].judge
        assert [Code.BLOCKS_LIMIT] == [each.code for each in judge.breaks]
        assert not judge.run.objects._by_id


@pytest.mark.parametrize("seed", range(0, 300, 3))
def test_honest_in_little_room(seed: int) -> None:
    """No limit, however small, makes an honest stream violated, and both judges agree."""
    name, lines, mode = mutated(seed)
    assert name == HONEST
    chance = Random(seed)
    live, ended_, ids, requests, blocks = (chance.choice((few, 9, 1000)) for few in (2, 0, 0, 1, 9))
    objects, tiers = chance.randrange(3), chance.randrange(3)
    limits = Limits(live, ended_, ids, requests, objects=objects, blocks=blocks, tiers=tiers)
    assert differs(lines, mode, limits, honest=True) is None
