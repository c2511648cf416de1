"""Runs one episode: a writer, followers that are killed again and again, and the comparison."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import msgspec

from monitor.durable.checkpoints import Checkpoints
from monitor.follow.verdict_line import VerdictLine
from tests.soak.compare import Difference, compared, due_of
from tests.soak.plan import FILES, KNOWN, LAST, PLAN, READY, Plan, plan_of

__all__ = ["Episode"]

ROOT = Path(__file__).parents[2]
_PATIENCE_S = 100.0
_RATE = 25  # lines of a source in a second


class Episode:
    """A follower of seven sources at once: files with and without losses, a pipe, sockets, and the
    two ranks of an engine.

    Args:
        folder: an empty one.
        seed: decides what is written and when it is disturbed; not what is on its way then.
        seconds: for which followers are killed.
        bug: one that is planted, by its name.
    """

    def __init__(self, folder: Path, seed: int, seconds: float, bug: str = "") -> None:
        self.folder, self.seed, self.seconds, self.bug = folder, seed, seconds, bug
        self.plan: Plan = plan_of(seed, max(200, int(_RATE * seconds)))
        self.chance = Random(f"kills {seed}")
        self.counts = Counter(self.plan.counts)
        self.verdicts, self.checkpoints = folder / "verdicts.jsonl", folder / "checkpoints"
        self.port = 0

    def run(self) -> Counter[str]:
        """What was done, and how many verdicts were compared.

        Raises:
            Difference: a verdict differs, a line is there twice, or a process failed.
        """
        (self.folder / PLAN).write_bytes(msgspec.msgpack.encode(self.plan))
        args = [str(self.folder), str(self.seed), str(self.seconds)]
        command = [sys.executable, "-m", "tests.soak.writer", *args]
        with (
            (self.folder / "errors").open("ab") as errors,
            subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True
            ) as writer,
        ):
            try:
                assert writer.stdout is not None
                self.port = int(writer.stdout.readline())
                end = time.monotonic() + self.seconds
                last = end + _PATIENCE_S  # at least one follower goes on in the files
                while time.monotonic() < (end if (self.folder / KNOWN).exists() else last):
                    self._disturb(min(2.0, self.seconds / 8))
                (self.folder / LAST).touch()
                ready = [self.folder / f"{kind}{READY}" for kind in self.plan.sources]
                if not _wait(lambda: all(path.exists() for path in ready), _PATIENCE_S):
                    raise Difference("the writer is not ready")
                code = self._follow("--until-eof").wait(_PATIENCE_S)
                if writer.wait(_PATIENCE_S) or code not in (0, 1, 3):
                    raise Difference(f"the follower ended with {code}")
            except subprocess.TimeoutExpired as error:
                raise Difference(f"{error.args} did not end") from None
            finally:
                writer.kill()
        return self._compare()

    def _disturb(self, longest: float) -> None:
        """A follower that is killed, or stopped, at some time."""
        before, process = self._newest(), self._follow()
        try:
            if self.chance.random() < 0.8:  # the others are killed while they start
                _wait(lambda: self._newest() != before, _PATIENCE_S)
                time.sleep(self.chance.uniform(0.0, longest))
            else:
                time.sleep(self.chance.uniform(0.0, 1.0))
            gently = self.chance.random() < 0.15
            process.send_signal(signal.SIGTERM if gently else signal.SIGKILL)
            process.wait(_PATIENCE_S)
            self.counts["stops" if gently else "kills"] += 1
            self._note_files()
        finally:
            process.kill()

    def _note_files(self) -> None:
        """What was rotated before any checkpoint knew the file would not be read."""
        with Checkpoints(self.checkpoints) as checkpoints:
            saved = checkpoints.load()
        names = [self.plan.address(kind, self.folder, 0) for kind in FILES]
        if saved is not None and saved.positions.keys() >= {*names}:
            (self.folder / KNOWN).touch()

    def _follow(self, *more: str) -> subprocess.Popen[bytes]:
        places = ["--verdicts", str(self.verdicts), "--checkpoint", str(self.checkpoints)]
        options = [*self.plan.options(self.folder, self.port), *places, "--checkpoint-every", "0.2"]
        seed = str(self.chance.getrandbits(32))
        command = [sys.executable, "-m", "tests.soak.follower", seed, self.bug, *options, *more]
        with (self.folder / "errors").open("ab") as errors:
            return subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )

    def _newest(self) -> str:
        found = (path.name for path in self.checkpoints.glob("checkpoint-*.bin"))
        return max(found, default="")

    def _compare(self) -> Counter[str]:
        """Compare all verdicts."""
        errors = (self.folder / "errors").read_text(errors="replace")
        if "Traceback" in errors:
            raise Difference(errors[errors.index("Traceback") :])
        decoder = msgspec.json.Decoder(VerdictLine)
        found = list(map(decoder.decode, self.verdicts.read_bytes().splitlines()))
        for kind, (name, lines, whole) in self.plan.judged(self.folder, self.port).items():
            path = self.folder / f"clean-{kind}.jsonl"
            path.write_bytes(b"".join(line + b"\n" for line in lines))
            its = [line for line in found if line.source == name]
            try:
                counts = compared(its, due_of(path), whole=whole)
            except Difference as error:
                raise Difference(f"{kind}: {error}") from None
            self.counts["delivered"] += len(lines)
            self.counts += counts
            self.counts += Counter({f"{kind} {what}": number for what, number in counts.items()})
        return self.counts


def _wait(there: Callable[[], bool], seconds: float) -> bool:
    """Wait until something is there, for at most so many seconds; whether it is."""
    end = time.monotonic() + seconds
    while not (found := there()) and time.monotonic() < end:
        time.sleep(0.02)
    return found
