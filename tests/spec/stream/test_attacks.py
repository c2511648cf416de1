"""Streams by which attackers showed a wrong verdict, each with the one that is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.__main__ import main
from spec.events.canonical import as_jsonl
from spec.language.verdicts import Verdict
from spec.stream.breaks import Limits
from spec.stream.claim import Claim, outcome_of
from spec.stream.codes import Code
from spec.stream.outcome import ModeVerdict
from tests.spec.stream.streams import claim, ended, event, judged, mark, of, verdict

TWO_GROUPS = ((0, "full"), (1, "window", 1))
SECOND = 10**9


def _request(name: str, *between: object, needed: int = 1) -> list[object]:
    arrived = event("request_arrived", request_id=name, needed=needed, usable=9)
    return [arrived, *between, event("request_finished", request_id=name)]


class TestRestated:
    def test_a_duration_ends_between_restated_lines(self) -> None:
        """What is restated after the end of a duration is taken in all the same."""
        expiring = claim("a", mode="expiring", blocks=1, duration="1 s")
        held = event("block_cached", claim_id="b", block_ids=(1, 2), positions=(0, 1))
        stands = [*expiring, *claim("b"), held, event("claim_materialized", claim_id="b")]
        times = [1] * 3 + [2 * SECOND] * 5
        restated = [
            type(each)(**{**_fields(each), "restated": True, "time_ns": time})
            for each, time in zip(stands, times, strict=True)
        ]
        late = 2 * SECOND
        lines = [
            event("request_arrived", request_id="x", needed=1, usable=9, sequence=0, time_ns=0),
            mark("stream_restated", sequence=5, time_ns=1),
            *restated,
            event("claim_expired", claim_id="a", by="runtime", time_ns=late),
            event("request_arrived", request_id="y", needed=1, usable=9, time_ns=late),
            event("block_evicted", block_ids=(1,), request_id="y", time_ns=late),
            event("request_finished", request_id="y", time_ns=late),
        ]

        assert ModeVerdict.VIOLATED is verdict(judged(lines), "b")

    @pytest.mark.parametrize("again", [True, False])
    def test_groups_stay(self, again: bool) -> None:
        """A restatement needs not repeat the groups of the stream."""
        held = [
            event("block_cached", claim_id="a", block_ids=(1, 2), positions=(0, 1)),
            event("block_cached", claim_id="a", block_ids=(3,), positions=(1,), group=1),
            event("claim_materialized", claim_id="a"),
        ]
        restated = [
            type(each)(**{**_fields(each), "restated": True})
            for each in [*claim(footprint=3), *held]
        ]
        lines = [
            mark("stream_opened", groups=TWO_GROUPS),
            mark("stream_restated", sequence=7, groups=TWO_GROUPS if again else ()),
            *restated,
            *_request("y", event("block_evicted", block_ids=(3,), request_id="y")),
            mark("stream_closed"),
        ]

        found = of(judged(lines)).findings["claim_harm_attribution"]
        assert Verdict.VIOLATED is found.verdict


def _fields(given: object) -> dict[str, object]:
    return {name: getattr(given, name) for name in type(given).__struct_fields__}  # type: ignore[attr-defined]


class TestWindow:
    def test_a_short_prompt(self) -> None:
        """A window holds the last blocks of a long prompt, and a shorter one finds none of its."""
        lines = [
            mark("stream_opened", groups=TWO_GROUPS),
            *claim(blocks=3, footprint=4, keys=("k0", "k1", "k2")),
            event("block_cached", claim_id="a", block_ids=(1, 2, 3), positions=(0, 1, 2)),
            event("block_cached", claim_id="a", block_ids=(4, 5, 6), positions=(0, 1, 2), group=1),
            event("claim_materialized", claim_id="a"),
            *_request("y", event("block_evicted", block_ids=(4, 5), request_id="y")),
            *_request("z", event("prefix_lookup", claim_id="a", request_id="z", held=0, asked=2)),
            mark("stream_closed"),
        ]
        judge = judged(lines)

        assert [] == judge.breaks
        assert ModeVerdict.KEPT is verdict(judge)

    @pytest.mark.parametrize("reported", [True, False])
    def test_a_long_prompt(self, reported: bool) -> None:
        """Where only the window of a longer prompt is there, its loss is one of the claim."""
        report = [event("claim_unmaterialized", claim_id="a")] if reported else []
        lines = [
            mark("stream_opened", groups=TWO_GROUPS),
            *claim(mode="best_effort", blocks=2, footprint=None),
            event("block_cached", claim_id="a", block_ids=(1, 2, 3), positions=(0, 1, 2)),
            event("block_cached", claim_id="a", block_ids=(4,), positions=(2,), group=1),
            event("claim_materialized", claim_id="a"),
            event("block_evicted", block_ids=(4,)),
            *report,
            *_request("r"),
            mark("stream_closed"),
        ]

        due = ModeVerdict.KEPT if reported else ModeVerdict.VIOLATED
        assert due is verdict(judged(lines))

    @pytest.mark.parametrize("kind", ["stream_opened", "stream_restated"])
    def test_other_groups(self, kind: str) -> None:
        """Groups that were not stated before the first event break the stream."""
        lines = [
            *claim(),
            event("block_cached", claim_id="a", block_ids=(1, 2), positions=(0, 1)),
            event("claim_materialized", claim_id="a"),
            mark(kind, groups=TWO_GROUPS),
            *_request("y", event("block_evicted", block_ids=(1,), request_id="y")),
        ]
        judge = judged([*lines, mark("stream_closed")])

        assert [Code.GROUPS_CONTRADICT] == [each.code for each in judge.breaks]
        (found,) = [outcome_of(each) for each in [*judge.past, *judge.claims.values()]]
        assert ModeVerdict.INCONCLUSIVE is found.verdict

    @pytest.mark.parametrize("before", [False, True])
    def test_the_same_groups(self, before: bool) -> None:
        """Groups that are stated again break nothing, nor others where nothing stands yet."""
        opened = mark("stream_opened", groups=TWO_GROUPS)
        again = mark("stream_restated", groups=TWO_GROUPS)
        life = [
            event("block_cached", claim_id="a", block_ids=(1, 2), positions=(0, 1)),
            event("block_cached", claim_id="a", block_ids=(3,), positions=(1,), group=1),
            event("claim_materialized", claim_id="a"),
            *_request("y", event("block_evicted", block_ids=(3,), request_id="y")),
        ]
        start = [opened, *claim(footprint=3), again] if before else [*_request("x"), again]
        rest = [] if before else claim(footprint=3)
        judge = judged([*start, *rest, *life, mark("stream_closed")])

        assert [] == judge.breaks
        assert ModeVerdict.VIOLATED is verdict(judge)

    def test_another_group(self) -> None:
        """Facts about a group that the stream does not have break it."""
        held = event("block_cached", claim_id="a", block_ids=(1, 2), positions=(0, 1), group=4)

        assert [Code.GROUPS_CONTRADICT] == [each.code for each in judged([*claim(), held]).breaks]


class TestUnclear:
    @pytest.mark.parametrize("stated", [{}, {"held": 2}])
    def test_a_load_of_an_object(self, stated: dict[str, int]) -> None:
        """A load that does not state which blocks of an object are back breaks the stream."""
        lines = [
            *claim(mode="offloadable"),
            event("block_cached", claim_id="a", block_ids=(1, 2), positions=(0, 1)),
            event("claim_materialized", claim_id="a"),
            event("store_finished", claim_id="a"),
            event("claim_offloaded", claim_id="a"),
            event("block_evicted", block_ids=(1, 2)),
            event("request_arrived", request_id="r", needed=2, usable=9),
            event("claim_restore_required", claim_id="a", request_id="r"),
            event("load_finished", object_id="object of a", block_ids=(3, 4), **stated),
            event("claim_restored", claim_id="a", request_id="r", from_tier=True),
        ]

        judge = judged(lines)
        assert [Code.UNCLEAR_AMOUNT] == [each.code for each in judge.breaks]
        assert ModeVerdict.INCONCLUSIVE is verdict(judge)

    def test_blocks_known_in_part(self) -> None:
        """Of a load that names blocks, all are known, or nothing is."""
        lines = [
            *claim(mode="offloadable"),
            event("block_cached", claim_id="a", block_ids=(1,), positions=(0,)),
            event("host_copy_found", claim_id="a"),
            event("load_finished", claim_id="a", block_ids=(3, 1)),
        ]

        assert [Code.UNCLEAR_AMOUNT] == [each.code for each in judged(lines).breaks]

    def test_keys_without_an_identity(self) -> None:
        """Keys of an object whose cache identity is not stated could be those of another cache."""
        lines = [
            *claim(mode="best_effort", cache_identity=None, keys=("x", "y")),
            event("block_cached", cache_identity="cache", keys=("x", "y"), block_ids=(1, 2)),
            event("claim_materialized", claim_id="a"),
        ]

        judge = judged(lines)
        assert [Code.KEYS_CONTRADICT] == [each.code for each in judge.breaks]
        assert ModeVerdict.INCONCLUSIVE is verdict(judge)


class TestSteps:
    def _stream(self, *, stated: bool) -> list[object]:
        lines = [*claim("a", mode="expiring", duration="5 steps")]
        if stated:
            lines += claim("b", mode="expiring", duration="2 steps")
            lines += [event("duration_elapsed", claim_id="b")]
            lines += [event("claim_expired", claim_id="b", by="runtime")]
        return [*lines, *ended("a")]

    def test_a_break_after_the_end(self) -> None:
        """A claim that is final keeps its verdict, where the stream states ends in steps."""
        broken = event("request_arrived", request_id="r", needed=1, usable=9, sequence=90)

        assert ModeVerdict.KEPT is verdict(judged([*self._stream(stated=True), broken]))

    def test_a_run_after_the_end(self) -> None:
        """Nothing is concluded where the stream states no such end, whatever follows."""
        again = event("request_arrived", request_id="r", needed=1, usable=9, sequence=0)
        judge = judged([*self._stream(stated=False), again])

        (claim_of_the_first_run,) = judge.past
        assert Code.DURATION_UNTIMED is claim_of_the_first_run.unclear.code  # type: ignore[union-attr]

    def test_forgotten(self) -> None:
        """A claim that is forgotten before it is known whether ends are stated is not kept."""
        forgotten: list[Claim] = []
        lines = [*self._stream(stated=False), *claim("b"), *ended("b")]
        judged(lines, limits=Limits(ended=1), forget=forgotten.append)

        (first,) = map(outcome_of, forgotten)
        assert ("a", ModeVerdict.INCONCLUSIVE) == (first.claim_id, first.verdict)


class TestCopies:
    @pytest.mark.parametrize("blocks", [(7,), (7, 1), (7, 8)])
    def test_blocks_say_what_is_stored(self, blocks: tuple[int, ...]) -> None:
        """A store of one block of two is no copy of the claim."""
        lines = [
            *claim(mode="offloadable"),
            event("block_cached", claim_id="a", block_ids=(7, 8), positions=(0, 1)),
            event("claim_materialized", claim_id="a"),
            event("store_finished", block_ids=blocks),
            event("claim_offloaded", claim_id="a"),
            *_request("y", event("block_evicted", block_ids=(7, 8), request_id="y")),
        ]
        due = Verdict.VIOLATED if 8 not in blocks else Verdict.UNEXERCISED

        assert due is verdict(judged(lines), obligation="offload_restorability")

    @pytest.mark.parametrize("kind", ["host_copy_found", "host_copy_lost"])
    def test_blocks_name_no_copy(self, kind: str) -> None:
        """Blocks of the GPU do not say which copies were there before."""
        lines = [
            *claim(mode="offloadable"),
            event("block_cached", claim_id="a", block_ids=(7, 8), positions=(0, 1)),
            event("store_finished", claim_id="a"),
            event(kind, claim_id="a", block_ids=(7,)),
        ]

        assert [Code.NOTHING_NAMED] == [each.code for each in judged(lines).breaks]

    @pytest.mark.parametrize("kind", ["store_finished", "host_copy_found", "host_copy_lost"])
    @pytest.mark.parametrize("tier", ["gpu", "GPU"])
    def test_the_gpu_is_no_tier_for_copies(self, kind: str, tier: str) -> None:
        """A copy on the GPU is no copy that outlasts an eviction."""
        lines = [*claim(mode="offloadable"), event(kind, claim_id="a", tier=tier)]

        assert [Code.COPY_ON_GPU] == [each.code for each in judged(lines).breaks]

    def test_upper_case(self) -> None:
        """An eviction from the tier GPU is one from the GPU."""
        lines = [
            *claim(),
            event("block_cached", claim_id="a", block_ids=(7, 8), positions=(0, 1)),
            event("claim_materialized", claim_id="a"),
            *_request("y", event("block_evicted", block_ids=(7,), request_id="y", tier="GPU")),
        ]

        assert ModeVerdict.VIOLATED is verdict(judged(lines))

    @pytest.mark.parametrize(("gone", "due"), [(False, 0), (True, 1)])
    def test_a_request_computes_behind_the_claim(self, gone: bool, due: int) -> None:
        """A request that computed the claim may go on behind it, though it was stored and looked
        up meanwhile; only what is missing has to be restored.
        """
        first = {"claim_id": "a", "block_ids": (1, 2), "positions": (0, 1)}
        behind = {"object_id": "object of a", "block_ids": (3,), "positions": (2,)}
        held = 0 if gone else 2
        lines = [
            *claim("a", mode="offloadable"),
            *_request("before"),
            event("request_arrived", request_id="r", needed=3, usable=9),
            event("block_cached", request_id="r", **first),
            event("claim_materialized", claim_id="a"),
            event("store_finished", claim_id="a"),
            *([event("block_evicted", block_ids=(1, 2))] if gone else []),
            event("prefix_lookup", claim_id="a", request_id="r", held=held, asked=2),
            event("block_cached", request_id="r", cache_identity="cache", **behind),
            event("request_finished", request_id="r"),
        ]

        found = verdict(judged(lines), "a", "offload_restorability")

        assert due == (found is Verdict.VIOLATED)


class TestFiles:
    """What only a file shows: lines are read in a fast way, and then otherwise."""

    @pytest.mark.parametrize("kind", ["block_cached", "block_evicted", "block_lost"])
    @pytest.mark.parametrize("core", ["python", "usual"])
    def test_another_tier(
        self, kind: str, core: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A fact about blocks of another tier ends in no error."""
        if core == "python":
            monkeypatch.setenv("RESIDENT_CLAIMS_CORE", core)
        path = tmp_path / "trace.jsonl"
        blocks = {} if kind == "block_lost" else {"block_ids": (1,), "keys": ("k",)}
        more = {"positions": (0,)} if kind == "block_cached" else {}
        path.write_bytes(as_jsonl([event(kind, tier="disk", sequence=0, **blocks, **more)]))

        assert 3 == main(["check", str(path)])

    @pytest.mark.parametrize(
        "groups",
        [
            '[{"group":0,"kind":"full_attention"}]',
            '[{"group":0,"kind":"window"}]',
            '[{"group":0,"kind":"full","window":2}]',
            '[{"group":0,"kind":"full"},{"group":0,"kind":"state"}]',
        ],
    )
    def test_groups(self, groups: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A group that is not understood, or listed twice, is bad input."""
        path = tmp_path / "trace.jsonl"
        path.write_text(f'{{"kind":"stream_opened","sequence":0,"groups":{groups}}}\n')

        assert 2 == main(["check", str(path)])
        assert "groups[" in capsys.readouterr().err
