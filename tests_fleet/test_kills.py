"""A fleet whose driver and workers are killed has the verdicts of one machine, each once."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from tests.monitor.follow.traces import trace
from tests.soak.compare import compared, due_of
from tests_fleet.cluster import Cluster, kill
from tests_fleet.runs import verdicts, write

SOURCES = 4
PIECES = 4
CLAIMS = 120
_WAIT_S = 600.0


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster on loopback, with two workers."""
    made = Cluster(tmp_path / "cluster")
    yield made
    made.close()


def sources(folder: Path, pieces: int) -> tuple[dict[str, Path], int]:
    """Folders of pieces below `folder`/fleet, and the file with all lines of each; the size of a
    batch that has about a piece of each.
    """
    whole, largest = {}, 0
    for number in range(SOURCES):
        lines = trace(CLAIMS + 7 * number)
        whole[f"e{number}/"] = write(folder / "whole" / f"{number}.jsonl", lines)
        each = -(-len(lines) // pieces)
        for piece in range(pieces):
            part = lines[piece * each : (piece + 1) * each]
            path = write(folder / "fleet" / f"e{number}" / f"p-{piece}.jsonl", part)
            os.utime(path, (1e9 + 60 * piece, 1e9 + 60 * piece))
            largest = max(largest, path.stat().st_size)
    return whole, largest * SOURCES


def until(ready: Callable[[], bool], driver: subprocess.Popen[bytes]) -> bool:
    """Wait until something is so; False where the driver ends before."""
    end = time.monotonic() + _WAIT_S
    while time.monotonic() < end:
        if ready():
            return True
        if driver.poll() is not None:
            return False
        time.sleep(0.05)
    raise TimeoutError


def disturbed(cluster: Cluster, folder: Path, kills: int, chance: Random) -> int:
    """Judge the fleet, and kill drivers and workers by turns, at random points; how many were
    killed.
    """
    whole, size = sources(folder, PIECES if kills < 3 else 2 * kills)
    out, state = folder / "out", folder / "state"

    def start() -> subprocess.Popen[bytes]:
        return cluster.driver(str(folder / "fleet"), str(state), str(out), str(size))

    def batches() -> int:
        return len([*(out / "rows" / "parquet").glob("batch=*")])

    done, driver = 0, start()
    while done < kills:
        so_far = batches()
        if not until(lambda: batches() > so_far, driver):  # noqa: B023
            break
        time.sleep(chance.random() * 3)
        if driver.poll() is not None:
            break
        if done % 2:
            kill(cluster.workers.pop(0))
            cluster.add_worker()
        else:
            kill(driver)
            driver = start()
        done += 1
    assert 0 == driver.wait(_WAIT_S)
    found = verdicts(out)
    for source, path in whole.items():
        own = [line for line in found if line.source == source]
        compared(own, due_of(path), whole=True)
    assert len({line.id for line in found}) == len(found)
    return done


def test_two_kills(cluster: Cluster, tmp_path: Path) -> None:
    """After a kill of the driver and one of a worker, every verdict is there once, as check has
    it.
    """
    assert 2 == disturbed(cluster, tmp_path, 2, Random(3))


@pytest.mark.deep
def test_many_kills(cluster: Cluster, tmp_path: Path) -> None:
    """After many kills of drivers and workers, every verdict is there once, as check has it."""
    kills = int(os.environ.get("RESIDENT_CLAIMS_KILLS", "20"))
    assert kills == disturbed(cluster, tmp_path, kills, Random(4))
