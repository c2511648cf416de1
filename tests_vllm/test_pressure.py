"""The experiment of soft_priority in the real engine: with the plugin's order of victims priorities
have influence; where the plugin only observes they have none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from monitor.pressure.judge import Experiment, Influence, decide
from monitor.pressure.run import Arm, read_run
from tests_vllm.conftest import Make
from tests_vllm.test_watched import soft

ARMS = {Arm.ORIGINAL: (9, 1), Arm.SWAPPED: (1, 9), Arm.EQUAL: (5, 5)}


def experiment(make: Make, folder: Path, repeats: int, **settings: Any) -> Experiment:
    """So many runs of each arm, each in an engine of its own: two claims of 20 blocks, and
    a request for which 20 of the 80 blocks are missing.
    """
    runs = []
    for arm, (a, b) in ARMS.items():
        for number in range(repeats):
            engine = make(**settings)
            engine.serve(("a", 20, soft("a", a)), ("b", 20, soft("b", b)))
            engine.serve(("active", 59))
            engine.close()
            runs.append(engine.trace.rename(folder / f"{arm}-{number}.jsonl"))
    return decide([read_run(str(run)) for run in runs])


class TestPressure:
    def test_enforced(self, make: Make, tmp_path: Path) -> None:
        """The lower claim loses first, whichever that is."""
        found = experiment(make, tmp_path, 3)
        assert found.influence is Influence.SHOWN, found
        counts = {arm: (each.runs, each.lower) for arm, each in found.arms.items()}
        assert counts == {Arm.ORIGINAL: (3, 3), Arm.SWAPPED: (3, 3), Arm.EQUAL: (3, 0)}

    def test_observed(self, make: Make, tmp_path: Path) -> None:
        """The claim that was used longer ago loses first, at any priority."""
        found = experiment(make, tmp_path, 1, enforce=["hard_protected"])
        assert found.influence is Influence.ABSENT, found
        assert (found.arms[Arm.ORIGINAL].higher, found.arms[Arm.SWAPPED].lower) == (1, 1)
