"""Ranks of one engine are judged as one stream, from whichever sources they come."""

from __future__ import annotations

from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.__main__ import main
from monitor.follow.verdict_line import ClaimLine
from monitor.input.records import at_line
from spec.language.verdicts import Verdict
from tests.monitor.follow.ranks import Ranks, alone, apart, by_rank, half, lines_of, said
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

    @settings(max_examples=20)
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
    """What may be missing of one rank makes what lives then, or comes later, inconclusive."""

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
            ("number", {"a": "kept", "b": "inconclusive"}),
            ("rejected", {"a": "kept", "b": "inconclusive"}),
            ("dropped", {"a": "kept", "b": "inconclusive"}),
            ("interrupted", {"a": "kept", "b": "kept"}),
            ("early", {"a": "inconclusive", "b": "inconclusive"}),
            ("cut", {"a": "kept", "b": "inconclusive"}),
            ("timeless", {"a": "kept", "b": "inconclusive"}),
        ],
    )
    def test_lost(self, how: str, due: dict[str, str]) -> None:
        """From the time 31 to 50 no claim lives; after a break nothing is known of the pool."""
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

    @pytest.mark.parametrize(
        ("lines", "code"), [([b"{"], "RC103"), ([], "RC101"), ([b"{", None], "RC103")]
    )
    def test_codes(self, lines: list[bytes | None], code: str) -> None:
        """A line that cannot be read breaks the stream by another code than a missing line."""
        found, (zero, _) = Ranks("a", "b", mode=HARD), self.parts()
        one = told([evicted(99, 15), evicted(98, 20), evicted(97, 45)], 1).splitlines()
        found.take("b", *one[:2])
        for line in lines:
            found.lines += found.judges["b"].take(line)
        found.take("b", *one[3:])
        found.take("a", *zero)
        found.finish()
        (a,) = (e for e in found.lines if isinstance(e, ClaimLine) and e.claim_id == "a")
        assert {code} == {each.code for each in a.reasons.values()}

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
        assert {("RC130", "unknown-pool")} == {(r.code, r.reason) for r in b.reasons.values()}
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
