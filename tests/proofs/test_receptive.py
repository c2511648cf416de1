"""The environment can never force a runtime that does its part into a violation."""

import json
from pathlib import Path

import pytest

from monitor.__main__ import main
from proofs.forced import Run, forced, trap_runs
from proofs.receptive import ENVIRONMENT, receptive
from proofs.replay import TRACKED, as_jsonl
from spec.alphabet import Kind
from spec.claims import Mode

# What a runtime can bring upon itself, and the fewest events to it.
_HELD = {"turned away and held": 2, "second life": 5}
TRAPS = {
    Mode.BEST_EFFORT: {},
    Mode.SOFT_PRIORITY: {},
    Mode.HARD_PROTECTED: _HELD,
    Mode.DEMOTABLE: _HELD,
    Mode.EXPIRING: {**_HELD, "harm after the end": 6, "another end": 4},
    Mode.OFFLOADABLE: _HELD,
    Mode.ROUTED_REUSE: {"routed before registration": 2},
}

# The last obligation that each trap leaves owing, as the monitor says it.
OWING = {
    "turned away and held": "explicit_acceptance",
    "second life": "explicit_acceptance",
    "harm after the end": "claim_harm_attribution",
    "another end": "claim_expired_boundary",
}


def judged(mode: Mode, run: Run, path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The monitor's verdict of each obligation about the tracked claim."""
    path.write_bytes(as_jsonl(run.trace))
    main(["check", str(path), "--mode", mode, "--claim", TRACKED, "--format", "json"])
    return dict(json.loads(capsys.readouterr().out)["obligations"])


class TestTheorem:
    """The statement in `proofs.receptive`, part by part."""

    @pytest.mark.parametrize("mode", Mode)
    def test_proved(self, mode: Mode) -> None:
        """Each mode is receptive, for every run, and its traps are the ones known."""
        found = receptive(mode)

        assert ("proved", []) == (found.result, found.failed)
        assert list(TRAPS[mode]) == found.traps

    @pytest.mark.parametrize(
        "late", [Kind.LOAD_FINISHED, Kind.STORE_FINISHED, Kind.REQUEST_FINISHED]
    )
    def test_what_the_runtime_must_time(self, late: Kind) -> None:
        """If completions, or the ends of requests, came unasked, offloadable would be refuted."""
        found = receptive(Mode.OFFLOADABLE, ENVIRONMENT | {late})

        assert "refuted" == found.result
        assert f"environment: {late}" in found.failed

    def test_disorder_is_not_the_environments(self) -> None:
        """A clock that steps back would break a mode that has an order, if it were allowed to."""
        found = receptive(Mode.DEMOTABLE, ENVIRONMENT | {Kind.STREAM_DISORDER})

        assert "refuted" == found.result
        assert "environment: stream_disorder" in found.failed


class TestTraps:
    """States out of which what is owed can never be told."""

    @pytest.mark.parametrize("mode", [m for m in Mode if TRAPS[m]])
    def test_entered(self, mode: Mode) -> None:
        """Each trap is entered in a pinned number of events, the last of them the runtime's own."""
        runs = trap_runs(mode)

        assert TRAPS[mode] == {run.name: run.depth for run in runs}
        assert not {Kind(run.lines[-1].kind) for run in runs} & ENVIRONMENT

    @pytest.mark.parametrize("mode", [m for m in Mode if TRAPS[m] and m is not Mode.ROUTED_REUSE])
    def test_nothing_is_violated_yet(
        self, mode: Mode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """In a trap the monitor sees no violation, only what is owed and will never be told."""
        for run in trap_runs(mode):
            verdicts = judged(mode, run, tmp_path / "trap.jsonl", capsys)

            assert "violated" not in verdicts.values()
            assert "pending" == verdicts[OWING[run.name]]


class TestLateCompletion:
    """A completion that comes when something else is owed."""

    @pytest.mark.parametrize(("kind", "length"), [("load_finished", 5), ("store_finished", 3)])
    def test_run(
        self, kind: str, length: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A store or load that finishes right after a commitment makes its acceptance late."""
        run = forced(Mode.OFFLOADABLE, frozenset({Kind(kind)}))

        assert length == run.depth
        verdicts = judged(Mode.OFFLOADABLE, run, tmp_path / "late.jsonl", capsys)
        assert {"explicit_acceptance"} == {n for n, v in verdicts.items() if v == "violated"}


class TestClock:
    """What a clock may do that no runtime answers for."""

    @pytest.mark.parametrize(("times", "verdict"), [((5, 5, 5), "kept"), ((5, 5, 4), "violated")])
    def test_a_stalled_clock_is_no_disorder(
        self,
        times: tuple[int, ...],
        verdict: str,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Time may stand still; only a step back counts as disorder."""
        events = [
            {"kind": "claim_registered", "predicate": "leading_prefix_at_least(1)"},
            {"kind": "claim_committed", "footprint": 1},
            {"kind": "claim_accepted", "footprint": 1},
        ]
        lines = [
            json.dumps({**e, "claim_id": "c", "stream": "s", "sequence": n, "time_ns": t})
            for n, (e, t) in enumerate(zip(events, times, strict=True))
        ]
        path = tmp_path / "clock.jsonl"
        path.write_text("\n".join(lines) + "\n")

        main(["check", str(path), "--mode", "demotable", "--format", "json"])

        assert verdict == json.loads(capsys.readouterr().out)["verdict"]
