"""Ranks of one engine are judged as one stream, from whichever sources they come."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.__main__ import main
from monitor.follow.buffer import WhenFull
from monitor.follow.counts import Counts
from monitor.follow.exporter import registry_of
from monitor.follow.follower import Follower
from monitor.follow.growing_file import GrowingFile
from monitor.follow.judge import Judge
from monitor.follow.verdict_line import ClaimLine, VerdictLine
from monitor.input.records import at_line
from monitor.input.reorder_window import Window
from monitor.report.reorder_option import wait_asked
from spec.language.errors import SpecError
from spec.language.verdicts import Verdict
from tests.monitor.follow.processes import (
    PATIENCE_S,
    ROOT,
    command,
    finish,
    following,
    wait_for,
)
from tests.monitor.follow.ranks import Ranks, apart, engines, said
from tests.monitor.input.test_merged import (
    ENGINE,
    HARD,
    STREAMS,
    Capture,
    Line,
    claim,
    split,
    timed,
    told,
)
from tests.monitor.input.test_rank_merge import ended, evicted

SOME = timed(STREAMS["some violated"][:100])
NAME = f"ranks:{ENGINE}"


def lines_of(path: Path) -> list[VerdictLine]:
    decoder = msgspec.json.Decoder(VerdictLine)
    return [decoder.decode(line) for line in path.read_bytes().splitlines()]


def alone(lines: list[Line]) -> list[tuple[object, ...]]:
    """What is stated of the lines where they are one stream."""
    ranks = Ranks("one")
    ranks.take("one", *told(lines).splitlines())
    ranks.finish()
    return said(ranks.lines)


def by_rank(lines: list[Line], owners: list[int], ranks: int = 2) -> list[list[bytes]]:
    """The lines as those of ranks."""
    own: list[list[Line]] = [[] for _ in range(ranks)]
    for line, owner in zip(lines, owners, strict=True):
        own[owner].append(line)
    return [told(each, rank, ranks).splitlines() for rank, each in enumerate(own)]


def half(lines: list[Line], seed: int = 5, ranks: int = 2) -> list[list[bytes]]:
    chance = Random(seed)
    return by_rank(lines, [chance.randrange(ranks) for _ in lines], ranks)


class TestMerged:
    @pytest.mark.parametrize("name", STREAMS)
    def test_several_sources(self, tmp_path: Path, capsys: Capture, name: str) -> None:
        """What is stated is what one stream comes to; each line cites its file, and has an id of
        its own.
        """
        lines, chance = timed(STREAMS[name]), Random(3)
        one = tmp_path / "one.jsonl"
        one.write_bytes(told(lines))
        paths = split(tmp_path, lines, [chance.randrange(3) for _ in lines], 3)
        codes = [
            main(["follow", *each, "--until-eof", "--verdicts", str(tmp_path / verdicts)])
            for each, verdicts in (([str(one)], "v1"), (paths, "v3"))
        ]
        whole, parts = lines_of(tmp_path / "v1"), lines_of(tmp_path / "v3")
        assert codes[0] == codes[1]
        assert said(whole) == said(parts)
        assert {NAME} == {line.source for line in parts}
        assert len(parts) == len({line.id for line in parts})
        for line in parts:
            if line.at.file != NAME:
                text = Path(line.at.file).read_bytes().splitlines()[line.at.line - 1]
                assert line.at.sequence == msgspec.json.decode(text)["sequence"]
        assert f"{len(lines) + 2} lines read" in capsys.readouterr().out

    @settings(deadline=None, max_examples=20)
    @given(st.randoms(), st.integers(2, 4), st.sets(st.integers(0, 100), max_size=4))
    def test_however_they_come(self, chance: Random, ranks: int, cuts: set[int]) -> None:
        """The same from one source in which all ranks are, or from several, whatever comes first;
        and from a checkpoint that was taken at any line.
        """
        owners = [chance.randrange(ranks) for _ in SOME]
        parts = by_rank(SOME, owners, ranks)
        together = chance.random() < 0.5
        if together:
            parts = [
                apart(b"\n".join(each), stream=f"{ENGINE}/{rank}")
                for rank, each in enumerate(parts)
            ]
        names = ["all" if together else f"s{rank}" for rank in range(ranks)]
        order = [rank for rank, each in enumerate(parts) for _ in each]
        chance.shuffle(order)
        left, found = [iter(each) for each in parts], Ranks(*dict.fromkeys(names))
        for number, rank in enumerate(order):
            if number in cuts:
                states = {name: judge.snapshot() for name, judge in found.judges.items()}
                state, lines = found.engines.snapshot(), found.lines
                found = Ranks(*found.judges)
                found.lines = lines
                for name, each in states.items():
                    found.judges[name].restore(each)
                found.engines.restore(state)
            found.take(names[rank], next(left[rank]))
        found.finish()
        assert ([], []) == (found.notes, found.rejected)
        assert alone(SOME) == said(found.lines)

    def test_ids(self) -> None:
        """Ids are of the lines that were read: another trace has others, and so has another rank,
        for what happens at one line.
        """
        found = []
        parts = {"a": told(claim("x", 0, 10), 0), "b": told([], 1)}
        for at in (5, 6):
            ranks = Ranks("a", "b", mode=HARD)
            for source, part in parts.items():
                opened, *rest = part.splitlines()
                ranks.take(source, opened.replace(b'"rank"', b'"time_ns":%d,"rank"' % at), *rest)
            ranks.finish()
            found.append([line.id for line in ranks.lines])
            (engine,) = ranks.engines.by_source.values()
            engine.origins["b"] = engine.origins["a"]
            one, other = (engine.judge._key_of(at_line(name, 3, 2), "x") for name in "ab")
            assert one != other
        assert 1 == len(found[0])
        assert found[0] != found[1]

    def test_one_after_another(self) -> None:
        """Files that were put together have one rank after another, each under one name."""
        found = Ranks("all")
        for part in half(SOME):
            found.take("all", *part)
        found.finish()
        assert ([], alone(SOME)) == (found.rejected, said(found.lines))

    def test_beside_others(self) -> None:
        """Other streams of a source are judged by themselves."""
        found = Ranks("a", "b")
        other = [msgspec.json.encode(each) for each in marked(claim("x", 5, 1), "other")]
        for source, part in zip("ab", half(SOME), strict=True):
            found.take(source, *part)
        found.take("a", *other)
        assert "kept" == found.finish()["x"]
        assert {("x", "a")} == {(e.claim_id, e.source) for e in found.lines if e.source != NAME}
        assert alone(SOME) == said([line for line in found.lines if line.source == NAME])

    def test_reordered(self, tmp_path: Path) -> None:
        """With --reorder the lines of each rank are put into the order of its numbers first."""
        found = []
        for args in ([], ["--reorder", "5"]):
            paths = split(tmp_path, SOME, [n % 2 for n in range(len(SOME))])
            for path in map(Path, paths if args else []):
                first, *rest = path.read_bytes().splitlines(keepends=True)
                rest[3:5] = rest[4], rest[3]
                path.write_bytes(b"".join([first, *rest, rest[-1]]))
            verdicts = tmp_path / f"v{len(args)}"
            main(["follow", *paths, "--until-eof", "--verdicts", str(verdicts), *args])
            found.append(said(lines_of(verdicts)))
        assert found[0] == found[1] == alone(SOME)


def marked(lines: list[Line], stream: str) -> list[Line]:
    """A stream with both marks that is none of a rank."""
    whole: list[Line] = [{"kind": "stream_opened"}, *lines, {"kind": "stream_closed"}]
    return [{**each, "stream": stream, "sequence": n} for n, each in enumerate(whole)]


class TestLost:
    """What may be missing of one rank makes what lives meanwhile inconclusive, and no more."""

    zero = (*claim("a", 0, 10), *ended(30, "a"), *claim("b", 10, 50))
    one = (evicted(99, 35), evicted(98, 40), evicted(97, 45))

    def parts(self) -> list[list[bytes]]:
        return [
            told(list(each), rank).splitlines() for rank, each in enumerate((self.zero, self.one))
        ]

    @pytest.mark.parametrize(
        ("how", "due"),
        [
            ("", {"a": "kept", "b": "kept"}),
            ("number", {"a": "kept", "b": "kept"}),
            ("rejected", {"a": "kept", "b": "kept"}),
            ("dropped", {"a": "kept", "b": "kept"}),
            ("interrupted", {"a": "kept", "b": "kept"}),
            ("early", {"a": "inconclusive", "b": "kept"}),
            ("cut", {"a": "kept", "b": "inconclusive"}),
            ("timeless", {"a": "kept", "b": "kept"}),
        ],
    )
    def test_lost(self, how: str, due: dict[str, str]) -> None:
        """From the time 31 to 50 no claim lives; before and after one does."""
        found, (zero, one) = Ranks("a", "b", mode=HARD), self.parts()
        found.take("a", *zero)
        found.take("b", *one[:1])
        gone = 1 if how == "early" else 2
        found.take("b", *one[1:gone])
        if how == "interrupted":
            found.lines += found.judges["b"].interrupt("lost")
        elif how == "rejected":
            found.take("b", b"{")
        elif how == "dropped":
            found.lines += found.judges["b"].drop(1)
        elif how == "timeless":
            found.take("b", one[gone].replace(b'"time_ns":40', b'"block_ids":[4]'))
        lost = how in ("number", "early", "dropped", "timeless")
        found.take("b", *one[gone + lost : -1 if how == "cut" else None])
        assert due == found.finish()
        assert (how in ("rejected", "timeless")) == bool(found.rejected)

    def test_whole(self, tmp_path: Path) -> None:
        """A line that cannot be read leaves the whole inconclusive, though each claim is kept."""
        paths = split(tmp_path, list(self.zero), [0] * len(self.zero))
        assert 0 == main(["follow", *paths, "--until-eof", "--mode", HARD])
        with Path(paths[1]).open("ab") as file:
            file.write(b"{\n")
        assert 3 == main(["follow", *paths, "--until-eof", "--mode", HARD])

    def test_reasons(self) -> None:
        """A line on a claim says why it is inconclusive, for each obligation of which it is so."""
        found, (zero, one) = Ranks("a", "b", mode=HARD), self.parts()
        found.take("a", *zero)
        found.take("b", *one[:-1])
        found.finish()
        (b,) = (e for e in found.lines if isinstance(e, ClaimLine) and e.claim_id == "b")
        (a,) = (e for e in found.lines if isinstance(e, ClaimLine) and e.claim_id == "a")
        open_ = (Verdict.INCONCLUSIVE, Verdict.PENDING)
        assert {n for n, verdict in b.obligations.items() if verdict in open_} == b.reasons.keys()
        assert "rank 1 was cut: stream_closed is not its last line" in {
            reason.why for reason in b.reasons.values()
        }
        assert {} == a.reasons


class TestRefused:
    def rejected(self, *parts: tuple[str, list[bytes]]) -> Ranks:
        found = Ranks(*dict.fromkeys(source for source, _ in parts), mode=HARD)
        for source, lines in parts:
            found.take(source, *lines)
        return found

    def test_twice(self) -> None:
        """A second rank of one number is named, with both lines, and nothing is concluded."""
        lines = told([*claim("a", 0, 10)], 0).splitlines()
        found = self.rejected(("x", lines[:-1]), ("y", lines), ("z", told([], 1).splitlines()))
        assert "y:1" in found.rejected[0]
        assert "a second rank 0 of engine-0: line 1 of x is it" in found.rejected[0]
        assert "number the ranks from 0 to 1, each once" in found.rejected[0]
        assert len(lines) == len(found.rejected)
        assert {"a": "inconclusive"} == found.finish()

    def test_taken_over(self) -> None:
        """One that was closed may go on elsewhere, as that of another run."""
        runs = [[told([*claim(n, 0, 10), *ended(20, n)], 0), told([], 1)] for n in "ab"]
        found = self.rejected(
            *(
                (f"{source}{run}", part.splitlines())
                for run, both in enumerate(runs)
                for source, part in zip("xy", both, strict=True)
            )
        )
        assert [] == found.rejected
        assert {"a": "kept", "b": "kept"} == found.finish()

    def test_other_numbers(self) -> None:
        """So is one that states another number of ranks."""
        zero, three = told([*claim("a", 0, 10)], 0), told([], 1, 3)
        found = self.rejected(("x", zero.splitlines()), ("y", three.splitlines()))
        assert "rank 1 of 3 of engine-0: line 1 of x is rank 0 of 2" in found.rejected[0]
        assert "all ranks of an engine state how many there are" in found.rejected[0]
        assert {"a": "inconclusive"} == found.finish()
        assert [
            "rank 1 of 2 of engine-0 is missing: line 1 of x is rank 0 of 2; follow the source "
            "of it, too"
        ] == found.notes

    def test_one_name(self) -> None:
        """Lines of two ranks under one name cannot be told apart."""
        zero, one = (told([*claim(n, 0, 10)], rank).splitlines() for rank, n in enumerate("ab"))
        found = self.rejected(("x", [zero[0], one[0], *zero[1:], *one[1:]]))
        assert "rank 1 in the stream of rank 0, which line 1 opened" in found.rejected[0]
        assert "give each stream another name, and state engine" in found.rejected[0]
        assert {} == found.finish()

    def test_unopened(self) -> None:
        """So are lines of the engine's name that no mark precedes."""
        zero, one = told([*claim("a", 0, 10)], 0).splitlines(), told([evicted(9, 12)], 1)
        found = self.rejected(("x", zero), ("y", one.splitlines()[1:]))
        assert "nothing says which rank it is of" in found.rejected[0]
        assert {"a": "inconclusive"} == found.finish()

    def test_too_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """More engines than are followed are refused."""
        monkeypatch.setattr("monitor.follow.engines.ENGINES", 1)
        found = self.rejected(("x", told([], 0).splitlines()))
        found.take("x", *apart(told([], 0).replace(b"engine-0", b"engine-1"), stream="s"))
        assert "more than 1 engines" in found.rejected[0]

    def test_source(self, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
        """A source that is called as an engine would be is refused."""
        monkeypatch.chdir(tmp_path)
        Path("ranks:x").touch()
        assert 2 == main(["follow", "ranks:x", "--until-eof"])
        assert "ranks:x is how an engine is called; write ./ranks:x" in capsys.readouterr().err
        assert 3 == main(["follow", "./ranks:x", "--until-eof"])

    @pytest.mark.parametrize("text", ["soon", "5 steps", "2000000"])
    def test_wait(self, tmp_path: Path, capsys: Capture, text: str) -> None:
        """What is no window is refused before anything is followed."""
        (tmp_path / "x").touch()
        assert 2 == main(["follow", str(tmp_path / "x"), "--rank-wait", text])
        assert text in capsys.readouterr().err


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
        counted. When the rank is back, claims are judged as before.
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
        assert {"a": "kept", "b": "inconclusive", "c": "kept"} == found.finish()

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
        """No more lines are held back than was asked for, whoever is silent."""
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
