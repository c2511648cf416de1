"""A disturbed follower says nothing that a check of the clean stream does not, or it is found."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from monitor.follow.judge import Judge
from monitor.follow.verdict_line import ClaimLine, Counts, VerdictLine, ViolationLine
from spec.language.verdicts import Verdict
from spec.stream.outcome import ModeVerdict
from tests.monitor.follow.traces import trace
from tests.soak.compare import Difference, Due, compared, due_of
from tests.soak.episode import Episode

TRACE = [line.rstrip() for line in trace(9)]


@pytest.mark.slow
@pytest.mark.deep
class TestEpisode:
    @pytest.mark.parametrize("seed", [20261125, 100])
    def test_as_it_must_be(self, seed: int, tmp_path: Path) -> None:
        """Killed, on a slow disk, and with lines torn and lost, no verdict differs; and where
        lines are put into order, not with late and repeated ones either.
        """
        counts = Episode(tmp_path, seed, 20.0).run()
        assert 0 < counts["whole equal"]
        assert 0 < counts["kills"] + counts["stops"]
        assert (seed == 100) == (0 < counts["moved"])

    def test_a_bug_is_found(self, tmp_path: Path) -> None:
        """Of a follower that skips lines at a restart and says nothing a verdict differs."""
        with pytest.raises(Difference, match="whole"):
            Episode(tmp_path, 20261125, 20.0, "skip").run()


@pytest.fixture(scope="module")
def due(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Due]:
    path = tmp_path_factory.mktemp("clean") / "clean.jsonl"
    path.write_bytes(b"\n".join(TRACE) + b"\n")
    return due_of(path)


def verdicts(lines: list[bytes]) -> list[VerdictLine]:
    """What a follower says of these lines."""
    judge = Judge("s", None, Counts())
    found = [each for line in lines for each in judge.take(line)]
    return [*found, *judge.finish()[0]]


class TestCompared:
    def test_equal(self, due: dict[tuple[str, str], Due]) -> None:
        """Of all lines each verdict is equal."""
        counts = compared(verdicts(TRACE), due, whole=True)
        assert (9, 0, 0) == (counts["equal"], counts["inconclusive"], counts["absent"])

    def test_a_line_less(self, due: dict[tuple[str, str], Due]) -> None:
        """Without a line some are inconclusive, which is a difference where nothing was lost."""
        lines = verdicts([*TRACE[:30], *TRACE[31:]])
        counts = compared(lines, due, whole=False)
        assert counts["inconclusive"]
        assert 9 == counts["inconclusive"] + counts["equal"]
        with pytest.raises(Difference, match="and the check says"):
            compared(lines, due, whole=True)

    def test_skipped_and_not_noticed(self, due: dict[tuple[str, str], Due]) -> None:
        """A follower that skips a line and numbers the others anew is found out."""
        kinds = [msgspec.json.decode(line)["kind"] for line in TRACE]
        gone = kinds.index("block_evicted")
        lines = [
            msgspec.json.encode(msgspec.json.decode(line) | {"sequence": number})
            for number, line in enumerate(TRACE[:gone] + TRACE[gone + 1 :])
        ]
        with pytest.raises(Difference, match="and the check says"):
            compared(verdicts(lines), due, whole=False)

    def test_twice(self, due: dict[tuple[str, str], Due]) -> None:
        """A line that is there twice is found."""
        lines = verdicts(TRACE)
        with pytest.raises(Difference, match="was written 2 times"):
            compared([*lines, lines[0]], due, whole=False)
        violation = next(line for line in lines if isinstance(line, ViolationLine))
        other = msgspec.structs.replace(violation, id="another")
        with pytest.raises(Difference, match="was written 2 times"):
            compared([*lines, other], due, whole=True)

    def test_accused(self, due: dict[tuple[str, str], Due]) -> None:
        """So is a violation of what the check finds kept, though the claim is kept, too."""
        lines = verdicts(TRACE)
        violation = next(line for line in lines if isinstance(line, ViolationLine))
        kept = next(claim for (_, claim), each in due.items() if each.verdict is ModeVerdict.KEPT)
        false = msgspec.structs.replace(violation, id="false", claim_id=kept)
        with pytest.raises(Difference, match="and the check says"):
            compared([*lines, false], due, whole=False)

    @pytest.mark.parametrize("whole", [True, False])
    def test_another_verdict(self, due: dict[tuple[str, str], Due], whole: bool) -> None:
        """And one that is kept where the check finds a violation, or an obligation of it is."""
        lines = verdicts(TRACE)
        at, line = next(
            (at, line)
            for at, line in enumerate(lines)
            if isinstance(line, ClaimLine) and line.verdict is ModeVerdict.VIOLATED
        )
        for change in (
            {"verdict": ModeVerdict.KEPT},
            {"obligations": dict.fromkeys(line.obligations, Verdict.SATISFIED)},
        ):
            lines[at] = msgspec.structs.replace(line, **change)
            with pytest.raises(Difference, match="and the check says"):
                compared(lines, due, whole=whole)

    def test_absent(self, due: dict[tuple[str, str], Due]) -> None:
        """A claim without a verdict is one more that nothing is known of, or a difference."""
        lines = verdicts(TRACE)
        gone = [line for line in lines if line.claim_id != lines[0].claim_id]
        assert 1 == compared(gone, due, whole=False)["absent"]
        with pytest.raises(Difference, match="no verdict"):
            compared(gone, due, whole=True)
