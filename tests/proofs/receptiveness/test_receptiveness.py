"""The environment can never force a runtime that does its part into a violation."""

import json
from pathlib import Path

import pytest

from monitor.__main__ import main
from proofs.receptiveness.check import receptive
from spec.claims.states import Mode
from spec.events.alphabet import ENVIRONMENT, Kind


class TestTheorem:
    """The statement in `proofs.receptiveness.check`, part by part."""

    @pytest.mark.parametrize("mode", Mode)
    def test_proved(self, mode: Mode) -> None:
        """Each mode is receptive, for every run: nothing is owed that cannot be told."""
        found = receptive(mode)

        assert ("proved", []) == (found.result, found.failed)
        assert found.moves

    def test_completions_come_unasked(self) -> None:
        """A store or load may finish at any time: neither is the runtime's to hold back."""
        assert {Kind.STORE_FINISHED, Kind.LOAD_FINISHED} <= ENVIRONMENT

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", Mode)
    def test_the_runtime_ends_requests(self, mode: Mode) -> None:
        """If the ends of requests came unasked every mode would be refuted."""
        found = receptive(mode, ENVIRONMENT | {Kind.REQUEST_FINISHED})

        assert ("refuted", ["environment: request_finished"]) == (found.result, found.failed)


class TestClock:
    """What a clock may do that no runtime answers for."""

    @pytest.mark.parametrize(
        ("times", "verdict"), [((5, 5, 5), "kept"), ((5, 5, 4), "inconclusive")]
    )
    def test_a_stalled_clock_is_no_disorder(
        self,
        times: tuple[int, ...],
        verdict: str,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Time may stand still; a step back is a break of the stream."""
        events = [
            {"kind": "claim_registered", "predicate": "leading_prefix_at_least(1)"},
            {"kind": "claim_committed", "footprint": 1},
            {"kind": "claim_accepted", "footprint": 1},
        ]
        about = {"claim_id": "c", "object_id": "o", "stream": "s"}
        lines = [
            json.dumps({**e, **about, "sequence": n, "time_ns": t})
            for n, (e, t) in enumerate(zip(events, times, strict=True))
        ]
        path = tmp_path / "clock.jsonl"
        path.write_text("\n".join(lines) + "\n")

        main(["check", str(path), "--mode", "demotable", "--format", "json"])

        assert verdict == json.loads(capsys.readouterr().out)["verdict"]
