"""A follower that is killed again and again writes what one writes that never was."""

from __future__ import annotations

import random
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import msgspec
import pytest

from monitor.durable.checkpoints import Checkpoints
from spec.language.errors import SpecError
from tests.monitor.follow.processes import PATIENCE_S, ROOT, command, following, wait_for
from tests.monitor.follow.traces import trace
from tests.monitor.traces import text
from tests.monitor.traces_promises import released, there

OWED = text([*there(), released()[0]])
"""Lines of a claim whose end is not reported yet, so that a break decides it."""


class Rounds:
    """Grows, rotates and tears files while a follower is started and killed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.source, self.verdicts = folder / "trace.jsonl", folder / "verdicts.jsonl"
        self.checkpoints = folder / "checkpoints"
        self.rotations = self.kills = 0
        self.source.touch()

    @property
    def args(self) -> list[object]:
        places = ["--verdicts", self.verdicts, "--checkpoint", self.checkpoints]
        return [self.source, *places, "--checkpoint-every", 0]

    def run(self, lines: list[bytes], kills: int) -> None:
        """Let followers see the lines, and kill each of them."""
        rest = b"".join(lines)
        part = len(rest) // kills + 1
        while rest:
            before, later = self.newest(), self.dice.random() < 0.8
            rest = self.grow(rest, rest.find(b"\n", self.dice.randrange(part)) + 1 or len(rest))
            with following(*self.args) as process:
                if later:  # the others are killed while they start
                    wait_for(lambda: self.newest() != before)  # noqa: B023
                rest = self.grow(rest, self.dice.randint(1, part))
                time.sleep(self.dice.uniform(0.0, 0.2))
                process.send_signal(signal.SIGKILL)
                process.wait(PATIENCE_S)
            self.kills += 1
            self.tear()

    def newest(self) -> str:
        """The name of the last checkpoint."""
        return max((path.name for path in self.checkpoints.glob("checkpoint-*.bin")), default="")

    def grow(self, rest: bytes, size: int) -> bytes:
        """Append so many bytes, which may end within a line; or rotate, at the end of one.

        It is not rotated before the first checkpoint: a follower without any begins with the file
        that has the name then.
        """
        whole = self.source.read_bytes()[-1:] in (b"", b"\n")
        begun = self.newest() and self.source.stat().st_size
        if begun and whole and self.dice.random() < 0.1:
            self.rotations += 1
            self.source.rename(f"{self.source}.{self.rotations}")
            end = rest.find(b"\n") + 1  # something is in the new file before it is rotated again
            self.source.write_bytes(rest[:end])
            return rest[end:]
        with self.source.open("ab") as file:
            file.write(rest[:size])
        return rest[size:]

    def tear(self) -> None:
        """What a machine that stops in a write may leave behind."""
        files = sorted(self.checkpoints.glob("checkpoint-*.bin"))
        if len(files) > 1 and self.dice.random() < 0.3:
            whole = files[-1].read_bytes()
            files[-1].write_bytes(whole[: self.dice.randrange(len(whole))])
        if self.checkpoints.exists() and self.dice.random() < 0.3:
            (self.checkpoints / "checkpoint.new").write_bytes(b"torn")
        if self.verdicts.exists() and self.dice.random() < 0.3:
            with self.verdicts.open("r+b") as file:
                size = self.verdicts.stat().st_size
                file.truncate(self.dice.randint(min(self.synced(), size), size))

    def synced(self) -> int:
        """How much of the file of verdicts is on the disk for sure."""
        try:
            with Checkpoints(self.checkpoints) as checkpoints:
                saved = checkpoints.load()
        except SpecError:
            return 0
        return 0 if saved is None else max(saved.emitted.values(), default=0)

    def end(self) -> tuple[int, bytes]:
        """Follow to the end of the file; the exit code and all verdicts."""
        process = subprocess.run(
            command(*self.args, "--until-eof"), cwd=ROOT, capture_output=True, timeout=PATIENCE_S
        )
        return process.returncode, self.verdicts.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kills", "claims"), [(4, 60), pytest.param(200, 400, marks=pytest.mark.deep)]
)
def test_killed(kills: int, claims: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost, and nothing written twice, though checkpoints and verdicts are torn."""
    lines = trace(claims)
    monkeypatch.chdir(tmp_path)
    rounds = Rounds(tmp_path, 20261125 + kills)
    rounds.run(lines, kills)
    code, verdicts = rounds.end()
    for path in tmp_path.glob("trace.jsonl*"):
        path.unlink()
    for path in rounds.checkpoints.iterdir():
        path.unlink()
    rounds.verdicts.unlink()
    rounds.source.write_bytes(b"".join(lines))
    assert (code, verdicts) == rounds.end()
    assert 1 == code
    assert verdicts.count(b"\n") > claims
    assert rounds.kills >= kills // 2


def test_never_read_again(tmp_path: Path) -> None:
    """A follower of a socket gives new lines other ids than those that were lost with a kill."""
    verdicts, now, kept = (tmp_path / name for name in ("verdicts.jsonl", "now", "kept"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        source = f"tcp:127.0.0.1:{server.getsockname()[1]}"

        def follow(sent: bytes) -> None:
            args = [source, "--until-eof", "--verdicts", verdicts, "--checkpoint", now]
            with following(*args) as process:
                connection, _ = server.accept()
                with connection:
                    connection.sendall(sent)
                process.communicate(timeout=PATIENCE_S)

        follow(OWED)
        shutil.copytree(now, kept)
        follow(b"not JSON\n")
        shutil.rmtree(now)
        kept.rename(now)  # as after a kill before the next checkpoint
        follow(b"")
        follow(b"not JSON\n")
    ids = [msgspec.json.decode(line)["id"] for line in verdicts.read_bytes().splitlines()]
    assert 4 == len(ids) == len({*ids})
