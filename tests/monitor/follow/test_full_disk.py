"""A full disk stops neither the judging nor the checkpoints for good, and people are told once."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from monitor.durable.checkpoints import Checkpoints
from monitor.follow import follower as module
from monitor.follow.buffer import WhenFull
from monitor.follow.checkpointing import Recording, Terms
from monitor.follow.follower import Follower
from monitor.follow.growing_file import GrowingFile
from monitor.follow.judge import Judge
from monitor.follow.verdict_line import Counts
from monitor.follow.verdicts_file import VerdictsFile
from tests.monitor.follow.ranks import engines
from tests.monitor.follow.traces import trace

FULL = OSError(errno.ENOSPC, "No space left on device")


def follower(folder: Path, told: list[str], recording: Recording | None = None) -> Follower:
    source = folder / "a.jsonl"
    source.write_bytes(b"".join(trace(9)))
    counts = Counts()
    return Follower(
        {"s": GrowingFile(str(source), until_eof=True)},
        {"s": Judge("s", None, counts)},
        counts,
        WhenFull.BLOCK,
        engines(counts),
        report=told.append,
        tell=lambda lines: None,
        verdicts=VerdictsFile(str(folder / "v.jsonl")),
        recorder=recording,
    )


def test_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdicts wait for room, `ready` says so, and none is lost."""
    told, why, left = list[str](), list[str](), [3]
    found = follower(tmp_path, told)
    real = VerdictsFile.flush

    def flush(file: VerdictsFile) -> None:
        if left[0]:
            left[0] -= 1
            raise FULL
        why.append(found.ready())
        real(file)

    monkeypatch.setattr(VerdictsFile, "flush", flush)
    monkeypatch.setattr(module, "_RETRY_S", 0.001)
    found.run()
    assert "verdicts cannot be written: No space left on device" == why[0]
    assert 1 == len(told)
    assert sum(found.counts.verdicts.values()) == 9
    lines = (tmp_path / "v.jsonl").read_bytes().splitlines()
    assert len(lines) == 9 + sum(found.counts.violations.values())


def test_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint that cannot be written is reported and counted; the last one stays."""
    told: list[str] = []
    with Checkpoints(tmp_path / "c") as folder:
        recording = Recording(folder, 0.0, Terms(), told.append)
        follower(tmp_path, told, recording).run()
        before = folder.load()
        assert before is not None

        def save(*_: object) -> None:
            raise FULL

        monkeypatch.setattr(Checkpoints, "save", save)
        judge = Judge("s", None, Counts())
        recording.save({"s": judge}, {}, {}, engines())
        assert (1, before) == (recording.failures, folder.load())
    assert ["no checkpoint was written: [Errno 28] No space left on device"] == told
