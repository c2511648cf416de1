"""The note on Continuum and the retention benchmark, simulated: who wins, and what survives."""

import pytest

from models.experiments.agents import PROMPTS, arm, jobs, percent
from models.experiments.scenarios import Pressed, pressed, retained_blocks


def test_jobs() -> None:
    """Each job has the prompts of the note, calls a tool but at its end, and shares no content."""
    found = jobs(2.0, 10.0)
    first = list(found)[: len(PROMPTS)]
    assert PROMPTS == tuple(request.prompt for request in first)
    assert ["find", "cat", "cat", "grep", "pytest", "cat", "patch", None] == [
        request.tool for request in first
    ]
    keys = [set(r.keys) for r in found if r.tool is None]
    assert len(set.union(*keys)) == sum(map(len, keys))
    assert 2.0 <= first[5].arrives <= 5.0


def test_a_low_load_does_not_decide() -> None:
    """At two jobs a second reuse decides, and not how content is kept."""
    fcfs, pins, tier, nothing = (
        arm(name, 2.0).duration for name in ("FCFS", "Continuum", "LMCache", "no reuse")
    )
    assert fcfs == pytest.approx(pins) == pytest.approx(tier)
    assert nothing > fcfs


def test_a_larger_pool_needs_no_pins() -> None:
    """At four jobs a second 3,000 blocks are too few, and 9,000 are enough."""
    small, large = (
        [arm(name, 4.0, blocks).saved for name in ("FCFS", "Continuum")]
        for blocks in (3_000, 9_000)
    )
    assert small[0] < small[1]
    assert large[0] == large[1] > small[1]


def test_percent() -> None:
    """Changes are printed as in the note: of turn 5 it prints -12.9 %."""
    assert ("-29.4 %", "-13.0 %") == (percent(735, 519), percent(749, 652))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("no_reuse", Pressed(12, 0, 0)),
        ("lru", Pressed(8, 4, 0)),
        ("pin:ttl=2", Pressed(8, 4, 0)),
        ("offload", Pressed(8, 4, 0)),
    ],
)
def test_a_job_returns(policy: str, expected: Pressed) -> None:
    """Twelve blocks suffice for job A, so no other job is preempted."""
    assert expected == pressed(policy)


def test_a_waiting_job_preempts_none() -> None:
    """With one block less the job waits until another ends."""
    assert 0 == pressed("no_reuse", free=7).preempted


@pytest.mark.parametrize(
    ("policy", "filler", "found"),
    [
        ("lru", 0, 16),
        ("lru", 128, 0),
        ("retention:turn=100,turn_ttl=45", 128, 16),
        ("retention:turn=100,turn_ttl=0.5", 128, 0),
    ],
)
def test_retention(policy: str, filler: int, found: int) -> None:
    """Blocks survive filler by their priority, as long as its duration lasts."""
    assert found == retained_blocks(policy, filler)


def test_priorities_cannot_hold_more_than_the_pool() -> None:
    """Where the pool is no larger than the sessions, filler takes prioritized blocks, too."""
    assert 16 > retained_blocks("retention:turn=100,turn_ttl=45", 128, pool=16)
