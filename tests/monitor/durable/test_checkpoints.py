"""A checkpoint is whole or not there, and the one before outlives whatever befalls the newest."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from monitor.durable import checkpoints, frame
from monitor.durable.checkpoints import Checkpoints, Saved
from monitor.durable.frame import ForeignSnapshot
from spec.language.errors import OutputError, SpecError

WRITES = """
import sys
from monitor.durable.checkpoints import Checkpoints, Saved

kept = Checkpoints(sys.argv[1])
for number in range(1_000_000):
    kept.save(Saved(bytes(range(256)) * 400, {}, {"a": number}))
    print(number, flush=True)
"""


def saved(number: int) -> Saved:
    """A checkpoint that differs from others by a number."""
    return Saved(bytes([number]) * 100, {"a": {"offset": number, "inode": "7"}}, {"a": number})


def files(folder: Path) -> list[str]:
    """The names of the checkpoints, and of what is left of others."""
    return sorted(each.name for each in folder.iterdir() if each.name != "lock")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with three checkpoints written, of which two are there."""
    kept = Checkpoints(tmp_path / "c")
    for number in (1, 2, 3):
        kept.save(saved(number))
    kept.close()
    return tmp_path / "c"


class TestCheckpoints:
    def test_none(self, tmp_path: Path) -> None:
        """A folder without checkpoints has none, and is made for this user alone."""
        with Checkpoints(tmp_path / "a" / "b") as kept:
            assert kept.load() is None

        assert 0o700 == stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode)

    def test_last_two(self, folder: Path) -> None:
        """The newest is loaded; it and the one before are kept, readable by this user alone."""
        with Checkpoints(folder) as kept:
            assert saved(3) == kept.load()
            assert [] == kept.notes

        assert ["checkpoint-00000002.bin", "checkpoint-00000003.bin"] == files(folder)
        assert {0o600} == {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()}

    @pytest.mark.parametrize("size", [0, 1, 60, 120, -1])
    def test_torn(self, folder: Path, size: int) -> None:
        """The newest is torn at any place: the one before is loaded, with a message, and kept."""
        newest = folder / "checkpoint-00000003.bin"
        newest.write_bytes(newest.read_bytes()[:size])

        with Checkpoints(folder) as kept:
            assert saved(2) == kept.load()
            assert [f"{newest}: "] == [note[: len(str(newest)) + 2] for note in kept.notes]
            kept.save(saved(4))
            assert saved(4) == kept.load()

        assert ["checkpoint-00000002.bin", "checkpoint-00000004.bin"] == files(folder)

    def test_all_torn(self, folder: Path) -> None:
        """Where none is whole the monitor does not begin anew without a word."""
        for each in folder.glob("*.bin"):
            each.write_bytes(b"")

        with Checkpoints(folder) as kept, pytest.raises(SpecError, match="there is no other"):
            kept.load()

    def test_a_pipe(self, tmp_path: Path) -> None:
        """A pipe by the name of a checkpoint is refused, and not waited for."""
        os.mkfifo(tmp_path / "checkpoint-00000001.bin")

        with Checkpoints(tmp_path) as kept, pytest.raises(SpecError, match="it is a pipe"):
            kept.load()

    @pytest.mark.parametrize("call", ["fsync", "write"])
    def test_full_disk(self, folder: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
        """A full disk leaves those that are there, and nothing else; later there is room again."""

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with Checkpoints(folder) as kept:
            with monkeypatch.context() as patch:
                if call == "fsync":
                    patch.setattr(os, "fsync", full)
                else:
                    patch.setattr(checkpoints, "_write", full)
                with pytest.raises(OutputError, match="No space left on device"):
                    kept.save(saved(4))
            assert ["checkpoint-00000002.bin", "checkpoint-00000003.bin"] == files(folder)
            assert saved(3) == kept.load()
            kept.save(saved(5))
            assert saved(5) == kept.load()

    def test_left_over(self, folder: Path) -> None:
        """What a killed process was writing is no checkpoint, and is overwritten."""
        (folder / "checkpoint.new").write_bytes(b"half")

        with Checkpoints(folder) as kept:
            assert saved(3) == kept.load()
            kept.save(saved(4))

        assert ["checkpoint-00000003.bin", "checkpoint-00000004.bin"] == files(folder)

    def test_other_specification(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """One of another specification is refused, and not passed over for an older one."""
        monkeypatch.setattr(frame, "spec_digest", lambda: "ab" * 32)

        with Checkpoints(folder) as kept, pytest.raises(ForeignSnapshot, match="and this is abab"):
            kept.load()

    def test_one_process(self, folder: Path) -> None:
        """Two that keep their checkpoints in one folder would overwrite each other's."""
        with Checkpoints(folder), pytest.raises(OutputError, match="another process"):
            Checkpoints(folder)
        with Checkpoints(folder) as kept:
            assert saved(3) == kept.load()

    @pytest.mark.parametrize("after", [0, 1, 5, 20])
    def test_killed(self, tmp_path: Path, after: int) -> None:
        """Killed at any time, what it said was saved is there, or something newer; all is whole."""
        command = [sys.executable, "-c", WRITES, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said = [process.stdout.readline() for _ in range(after + 1)]
            process.kill()
            said += process.stdout.readlines()
        last = max(int(line) for line in said if line.endswith("\n"))

        with Checkpoints(tmp_path) as kept:
            loaded = kept.load()
            assert loaded is not None
            assert last <= loaded.emitted["a"] <= last + 1
            assert [] == kept.notes

    def test_no_folder(self, tmp_path: Path) -> None:
        """A file where the folder should be is bad input."""
        (tmp_path / "f").write_text("")

        with pytest.raises(OutputError, match="File exists"):
            Checkpoints(tmp_path / "f")
