"""A rank of an engine that falls silent is waited for, also over a restart."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from random import Random

import msgspec
import pytest

from monitor.__main__ import main
from monitor.follow.buffer import WhenFull
from monitor.follow.follower import Follower
from monitor.follow.growing_file import GrowingFile
from monitor.follow.judge import Judge
from monitor.follow.metrics import registry_of
from monitor.follow.verdict_line import ClaimLine, Counts
from monitor.input.reorder_window import Window
from monitor.report.options import wait_asked
from spec.language.errors import SpecError
from tests.monitor.follow.processes import (
    PATIENCE_S,
    ROOT,
    command,
    finish,
    following,
    wait_for,
)
from tests.monitor.follow.ranks import Ranks, alone, apart, engines, half, lines_of, said
from tests.monitor.input.test_merged import (
    ENGINE,
    HARD,
    STREAMS,
    Capture,
    claim,
    split,
    timed,
    told,
)
from tests.monitor.input.test_rank_merge import ended, evicted

SOME = timed(STREAMS["some violated"][:100])
NAME = f"ranks:{ENGINE}"


class TestSilent:
    zero = (*claim("a", 0, 10), *ended(30, "a"), *claim("b", 10, 50), *ended(20_000, "b"))

    def follow(self) -> Ranks:
        found = Ranks("x", "y", mode=HARD, wait=Window(100, 1_000))
        found.take("y", *told([evicted(99, 35), evicted(98, 40)], 1).splitlines()[:3])
        found.take("x", *told(list(self.zero), 0).splitlines()[:-1])
        return found

    def test_waits(self) -> None:
        """Nothing is stated while a rank is waited for: as long as something may come of it, or the
        others are not so far ahead.
        """
        found = self.follow()
        found.look()
        (engine,) = found.engines.by_source.values()
        assert ({"a": "kept"}, []) == ({e.claim_id: e.verdict for e in found.lines}, found.notes)
        assert 35 == engine.merge.watermark
        found.quiet["y"] = 1.0
        found.look()
        assert 20_000 == engine.merge.watermark
        ahead = Ranks("x", "y", mode=HARD, wait=Window(100, 30_000))
        ahead.quiet["y"] = 1_000_000.0
        for name, lines in (("y", told([], 1)), ("x", told(list(self.zero), 0))):
            ahead.take(name, *lines.splitlines()[:-1])
        ahead.look()
        assert ([], []) == (ahead.notes, ahead.lines)

    def test_goes_on(self) -> None:
        """Then the others go on; a claim that lives meanwhile is inconclusive, and a late line is
        counted. Claims that come later are inconclusive, since nothing is known of the pool.
        """
        found = self.follow()
        found.quiet["y"] = 1.0
        found.look()
        assert 1 == len(found.notes)
        assert (
            "engine-0: rank 1 is behind: nothing came of it for more than 1e-06 s"
            in (found.notes[0])
        )
        late = msgspec.json.encode(evicted(97, 45) | {"stream": ENGINE, "sequence": 3})
        found.take("y", late)
        (engine,) = found.engines.by_source.values()
        assert (1, 0) == (engine.disorder.late, engine.merge.watermark - 20_000)
        rest = [evicted(96, 30_000), {"kind": "stream_closed"}]
        placed = ({**e, "stream": ENGINE, "sequence": n + 4} for n, e in enumerate(rest))
        found.take("y", *map(msgspec.json.encode, placed))
        later = claim("c", 20, 30_010)
        numbered = [{**e, "stream": ENGINE, "sequence": n + 15} for n, e in enumerate(later)]
        closed = {"kind": "stream_closed", "stream": ENGINE, "sequence": 20}
        found.take("x", *map(msgspec.json.encode, [*numbered, closed]))
        assert {"a": "kept", "b": "inconclusive", "c": "inconclusive"} == found.finish()

    def test_never_came(self) -> None:
        """A rank that no source has is waited for as long, and then named."""
        found = Ranks("x", mode=HARD, wait=Window(100, 1_000))
        found.take("x", *told(list(self.zero), 0).splitlines())
        found.look()
        assert ([], []) == (found.lines, found.notes)
        found.now = 1.0
        found.look()
        assert "rank 1 is behind" in found.notes[0]
        found.finish()
        assert "rank 1 of 2 of engine-0 is missing" in found.notes[1]

    def test_bounded(self) -> None:
        """No more lines are held back than was asked for, whichever rank is silent."""
        found = Ranks("x", mode=HARD, wait=Window(10, 1_000))
        for line in told(list(self.zero), 0).splitlines():
            found.take("x", line)
            (engine,) = found.engines.by_source.values()
            assert engine.held <= 10
        assert found.notes

    def test_paused(self) -> None:
        """A source whose lines wait is not read on, unless others wait for it."""
        found = Ranks("x", "y", "z", mode=HARD, wait=Window(20, 1_000))
        x, y = (told(list(self.zero), rank).splitlines() for rank in range(2))
        found.take("x", *x[:10])
        assert set() == found.engines.paused()
        found.take("x", *x[10:13])
        assert {"x"} == found.engines.paused()
        other = [
            apart(each.replace(b"engine-0", b"engine-1"), stream="o")
            for each in (told(list(self.zero), 0), told([], 1))
        ]
        found.take("y", *other[0])
        assert {"x", "y"} == found.engines.paused()
        found.take("x", *other[1][:1])
        assert {"y"} == found.engines.paused()
        found.take("y", *y[:3])
        assert set() == found.engines.paused()


class TestFollower:
    def test_read_on_in_step(self, tmp_path: Path) -> None:
        """Files of any length are merged though few lines are held back: one whose lines wait is
        not read on while the other is.
        """
        lines = [evicted(n % 7, n) for n in range(10_000)]
        paths = split(tmp_path, lines, [int(n > 5_000) for n in range(len(lines))])
        notes: list[str] = []
        counts = Counts()
        merged = engines(counts, mode=HARD, wait=Window(3_000, 10_000_000_000), report=notes.append)
        judges = {path: Judge(path, HARD, counts, engines=merged) for path in paths}
        sources = {path: GrowingFile(path, until_eof=True) for path in paths}
        follower = Follower(
            sources, judges, counts, WhenFull.BLOCK, merged, report=notes.append, tell=len
        )
        (report,) = follower.run()
        assert ([], 10_002) == (notes, report.events.read)
        assert 0 == report.events.late

    def test_first_batch_fills_the_half(self, tmp_path: Path) -> None:
        """Of a source that is not read on from its first batch on, the rest is read once the rank
        that never came is left behind.
        """
        path = tmp_path / "rank0"
        path.write_bytes(told([evicted(n % 7, n) for n in range(2_000)], 0))
        in_first = path.read_bytes()[: 1 << 16].count(b"\n")
        wait = f"{in_first * 3 // 2},0.2s"
        with following(path, "--until-eof", "--rank-wait", wait) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
        assert "2001 lines read" in out  # the end of one rank is no line of the engine
        assert "rank 1 is behind: nothing came of it" in err

    @pytest.mark.slow
    @pytest.mark.parametrize("known", [True, False])
    def test_silent_pipe(self, tmp_path: Path, known: bool) -> None:
        """A rank that says nothing for as long as is waited, or never came, is left behind; its
        late line is counted.
        """
        pipes = [tmp_path / name for name in "xy"]
        for pipe in pipes:
            os.mkfifo(pipe)
        far = 10_000_000_000
        zero = [*claim("a", 0, 10), *ended(30, "a"), *claim("b", 10, far), *ended(2 * far, "b")]
        x = told([*zero, evicted(8, 2 * far + 5), evicted(7, 2 * far + 6)], 0).splitlines()
        y = told([evicted(9, 35), evicted(8, 40), evicted(7, far + 1)], 1).splitlines()
        options = ["--until-eof", "--verdicts", tmp_path / "v", "--mode", HARD]
        with (
            following(*pipes, *options, "--rank-wait", "100,0.5s") as process,
            pipes[1].open("wb", 0) as second,
            pipes[0].open("wb", 0) as first,
        ):
            second.write(b"".join(line + b"\n" for line in y[: 3 if known else 0]))
            first.write(b"".join(line + b"\n" for line in x[:-1]))
            wait_for(lambda: b'"b"' in (tmp_path / "v").read_bytes())
            second.write(b"".join(line + b"\n" for line in y[3 if known else 0 :]))
            first.write(x[-1] + b"\n")
            first.close()
            second.close()
            out, err = process.communicate(timeout=PATIENCE_S)
        verdicts = {
            e.claim_id: str(e.verdict) for e in lines_of(tmp_path / "v") if isinstance(e, ClaimLine)
        }
        assert {"a": "kept" if known else "inconclusive", "b": "inconclusive"} == verdicts
        assert 3 == process.returncode
        assert "rank 1 is behind: nothing came of it for more than 0.5 s" in err
        late = "1 line later" if known else "3 lines later"
        assert f"{late} than the window and left out" in out

    def test_metrics(self, tmp_path: Path) -> None:
        """What an engine holds back, and what came too late, is exported by its name."""
        prometheus = pytest.importorskip("prometheus_client")
        paths = split(tmp_path, SOME, [n % 2 for n in range(len(SOME))])
        counts = Counts()
        merged = engines(counts)
        judges = {path: Judge(path, None, counts, engines=merged) for path in paths}
        sources = {path: GrowingFile(path, until_eof=True) for path in paths}
        follower = Follower(
            sources, judges, counts, WhenFull.BLOCK, merged, report=pytest.fail, tell=len
        )
        follower.run()
        text = prometheus.generate_latest(registry_of(follower, None)).decode()
        assert f'resident_claims_held_lines{{source="{NAME}"}} 0.0' in text
        what = f'resident_claims_disordered_lines_total{{source="{NAME}",what="late"}} 0.0'
        assert what in text


class TestCheckpoints:
    @pytest.mark.slow
    def test_not_followed_any_more(self, tmp_path: Path, capsys: Capture) -> None:
        """A rank whose source is left out after a restart is behind at once, and is missing."""
        zero = [*claim("a", 0, 10), *ended(30, "a"), *claim("b", 10, 20_000)]
        one = [evicted(9, 35), evicted(8, 40)]
        paths = split(tmp_path, [*zero, *one], [0] * len(zero) + [1] * len(one))
        whole, part = (Path(path).read_bytes().splitlines(keepends=True) for path in paths)
        for path, lines in zip(paths, (whole[:9], part[:3]), strict=True):
            Path(path).write_bytes(b"".join(lines))
        args = ["--checkpoint", str(tmp_path / "c"), "--verdicts", str(tmp_path / "v")]
        with following(*paths, *args, "--checkpoint-every", 0) as process:
            wait_for(lambda: (tmp_path / "v").exists() and (tmp_path / "v").stat().st_size > 0)
            finish(process)
        Path(paths[0]).write_bytes(b"".join(whole))
        assert 3 == main(["follow", paths[0], "--until-eof", *args, "--rank-wait", "10,0.000001s"])
        err = capsys.readouterr().err
        assert "was followed before this start, and is not any more" in err
        verdicts = {
            e.claim_id: str(e.verdict) for e in lines_of(tmp_path / "v") if isinstance(e, ClaimLine)
        }
        assert {"a": "kept", "b": "inconclusive"} == verdicts

    def test_refused(self) -> None:
        """A state of engines that cannot be read is refused; none at all is as none."""
        engines().restore(b"")
        with pytest.raises(SpecError, match="state of engines"):
            engines().restore(b"\x00")

    def test_wait(self) -> None:
        """Where only lines are stated, the time is that of the default."""
        assert (7, 10_000_000_000) == (wait_asked("7").lines, wait_asked("7").nanoseconds)
        assert 5_000_000_000 == wait_asked("5s").nanoseconds

    @pytest.mark.slow
    @pytest.mark.parametrize("together", [False, True])
    def test_killed(self, together: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Followers that are killed again and again write what one writes that never was."""
        chance = Random(7 + together)
        parts = [
            b"".join(line + b"\n" for line in each)
            for each in half(timed(STREAMS["some violated"]), 9)
        ]
        if together:
            apart_ = [apart(each, stream=f"{ENGINE}/{rank}") for rank, each in enumerate(parts)]
            order = [rank for rank, each in enumerate(apart_) for _ in each]
            chance.shuffle(order)
            left = [iter(each) for each in apart_]
            parts = [b"".join(next(left[rank]) + b"\n" for rank in order)]
        paths = [tmp_path / f"rank{rank}.jsonl" for rank in range(len(parts))]
        folder, verdicts = tmp_path / "c", tmp_path / "v"
        args = [*paths, "--checkpoint", folder, "--verdicts", verdicts]
        found = []
        for killed in (True, False):
            for path, part in zip(paths, parts, strict=True):
                path.write_bytes(b"" if killed else part)
            rest = parts if killed else [b"" for _ in parts]
            while any(rest):
                with following(*args, "--checkpoint-every", "0") as process:
                    wait_for(verdicts.exists)
                    for number, path in enumerate(paths):
                        size = chance.randint(0, 4_000)
                        with path.open("ab") as file:
                            file.write(rest[number][:size])
                        rest = [e[size:] if n == number else e for n, e in enumerate(rest)]
                        time.sleep(chance.uniform(0.0, 0.3))
                    process.kill()
                    process.wait()
            end = subprocess.run(
                command(*args, "--until-eof"), cwd=ROOT, capture_output=True, text=True
            )
            assert "Traceback" not in end.stderr
            lines = lines_of(verdicts)
            found.append((end.returncode, said(lines)))
            assert len(lines) == len({line.id for line in lines})
            for each in (*folder.iterdir(), verdicts):
                each.unlink()
        assert found[0] == found[1]
        assert alone(timed(STREAMS["some violated"])) == found[0][1]
