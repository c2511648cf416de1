"""Nothing of a bundle is idle: each state and rule is reached, and each mode tells its story."""

import json
from pathlib import Path

import pytest

from monitor.__main__ import main
from proofs.checks.coverage import DEAD, reachable
from proofs.engines.bounded import minimise
from proofs.traces.replay import TRACKED
from proofs.traces.scenario_search import FoundScenario, find_scenarios
from proofs.traces.scenarios import SCENARIOS
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.events.canonical import as_jsonl

pytestmark = pytest.mark.slow

# States and rules reached, and the fewest events after which the last of them was.
REACHED = {
    Mode.BEST_EFFORT: (29, 5),
    Mode.SOFT_PRIORITY: (26, 5),
    Mode.HARD_PROTECTED: (98, 8),
    Mode.DEMOTABLE: (61, 8),
    Mode.EXPIRING: (58, 8),
    Mode.OFFLOADABLE: (111, 11),
    Mode.ROUTED_REUSE: (48, 5),
}

# The fewest events in which each story is told.
TOLD = {
    Mode.BEST_EFFORT: {"rise and fall": 5},
    Mode.SOFT_PRIORITY: {"both lose, lower first": 8},
    Mode.HARD_PROTECTED: {"refusal": 11, "boundary": 6},
    Mode.DEMOTABLE: {"demotion under pressure": 12},
    Mode.EXPIRING: {"boundary": 8},
    Mode.OFFLOADABLE: {"restore, then a failed restore": 15},
    Mode.ROUTED_REUSE: {"routed, reported, served": 9},
}


class TestReachable:
    """Every state of every observer, and every rule."""

    @pytest.mark.parametrize("mode", Mode)
    def test_nothing_is_dead_without_a_reason(self, mode: Mode) -> None:
        """What no run reaches is proved to be dead, and is exactly what is explained."""
        found = reachable(mode)

        assert found.complete
        assert [] == found.missing
        assert set(DEAD[mode]) == set(found.dead)
        assert REACHED[mode] == (len(found.fewest), max(found.fewest.values()))

    def test_too_shallow_is_missing_not_dead(self) -> None:
        """Within two events little is reached, and nothing more is called dead for it."""
        found = reachable(Mode.OFFLOADABLE, depth=2)

        assert found.missing
        assert set(DEAD[Mode.OFFLOADABLE]) == set(found.dead)


class TestStories:
    """Runs that contain every episode of a mode."""

    @pytest.mark.parametrize("mode", Mode)
    def test_told_and_kept(
        self, mode: Mode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Each story is told in a pinned number of events; the monitor finds nothing violated and
        nothing owed, and a whole story exercises every obligation."""
        found = find_scenarios(mode)

        assert TOLD[mode] == {tale.story: len(tale.lines) for tale in found}
        for tale in found:
            self.judge(mode, tale, tmp_path, capsys)

    @pytest.mark.parametrize("limit", [300_000, 1_000])
    def test_no_wish(
        self,
        limit: int,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A story that is not made plain, for want of work, is judged as it was found."""
        monkeypatch.setattr(minimise, "RLIMIT", limit)
        for tale in find_scenarios(Mode.DEMOTABLE):
            self.judge(Mode.DEMOTABLE, tale, tmp_path, capsys)

    @staticmethod
    def judge(
        mode: Mode, tale: FoundScenario, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Have the monitor judge a story."""
        path = folder / "story.jsonl"
        path.write_bytes(as_jsonl(tale.trace))
        main(["check", str(path), "--mode", mode, "--claim", TRACKED, "--format", "json"])
        verdicts = json.loads(capsys.readouterr().out)["obligations"]
        allowed = {"satisfied"} if tale.whole else {"satisfied", "unexercised"}
        assert set(MODES[mode].names()) == set(verdicts)
        assert allowed >= set(verdicts.values())

    def test_too_short_is_untold(self) -> None:
        """Within five events no claim is demoted under pressure."""
        assert ["not found"] == [tale.result for tale in find_scenarios(Mode.DEMOTABLE, depth=5)]

    @pytest.mark.parametrize("mode", Mode)
    def test_each_mode_has_a_whole_story(self, mode: Mode) -> None:
        """Every mode has a story that exercises all of its obligations."""
        assert any(story.whole for story in SCENARIOS[mode])
