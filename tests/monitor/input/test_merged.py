"""Files of ranks that declare themselves one engine are one stream, in the order of time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.__main__ import main
from monitor.check.events import EventMonitor
from monitor.check.files import check
from monitor.input import rank_order
from monitor.input.engines import engines_in
from monitor.input.errors import InputError
from monitor.input.given import record_of
from monitor.input.rank_order import commute
from monitor.input.reorder_window import Window
from monitor.report.verdict import Report
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.events.canonical import EVENT_ENCODER, Event
from spec.events.fields import IDENTITY, STAMP, fields_of
from spec.stream.outcome import ModeVerdict
from tests.monitor.check.test_limits import SETTLED, Limits, judged, verdicts
from tests.monitor.follow import traces
from tests.streams.strategies import Stamped, asking, streams
from tests.streams.traffic import Traffic, as_events

Line = dict[str, Any]
Capture = pytest.CaptureFixture[str]
HARD = Mode.HARD_PROTECTED
ENGINE = "engine-0"
LOST: Line = {"kind": "block_evicted", "block_ids": [0]}


def plain(events: list[Event]) -> list[Line]:
    """The fields of events, without a place in a stream."""
    lines: list[Line] = [msgspec.json.decode(EVENT_ENCODER.encode(event)) for event in events]
    return [{k: v for k, v in each.items() if k not in ("stream", "sequence")} for each in lines]


def allowed(events: list[Event]) -> list[Line]:
    """The same of events that a reader of traces takes."""
    found = []
    for line in plain(events):
        names = {"kind", *fields_of(Kind(line["kind"])), *STAMP, *IDENTITY}
        fields = {name: value for name, value in line.items() if name in names}
        try:
            record_of(fields, "f", 1)
        except InputError:
            continue
        found.append(fields)
    return found


def told(lines: list[Line], rank: int | None = None, ranks: int = 2) -> bytes:
    """A stream with both marks, of one rank if any."""
    mark: Line = {} if rank is None else {"rank": rank, "ranks": ranks}
    whole = [{"kind": "stream_opened", **mark}, *lines, {"kind": "stream_closed"}]
    placed = ({**each, "stream": ENGINE, "sequence": n} for n, each in enumerate(whole))
    return b"".join(msgspec.json.encode(each) + b"\n" for each in placed)


def split(folder: Path, lines: list[Line], owners: list[int], ranks: int = 2) -> list[str]:
    """The lines as files of ranks."""
    paths = []
    for rank in range(ranks):
        path = folder / f"rank{rank}.jsonl"
        own = [line for line, owner in zip(lines, owners, strict=True) if owner == rank]
        path.write_bytes(told(own, rank, ranks))
        paths.append(str(path))
    return paths


def timed(lines: list[Line], each: int = 1) -> list[Line]:
    """The lines with times, of which so many in a row are one."""
    return [line | {"time_ns": 1_000 * (n // each)} for n, line in enumerate(lines)]


def found(report: Report) -> dict[tuple[str, str], tuple[str, str]]:
    """What is concluded of each obligation of each claim, and why."""
    return {
        (claim.claim_id, name): (str(each.verdict), each.why)
        for claim in report.claims
        for name, each in claim.obligations.items()
    }


def never_more(truth: Report, parts: Report) -> None:
    """What is concluded of parts is concluded of the whole, and no violation is found in them alone
    but where the facts of the whole contradict each other."""
    whole = found(truth)
    known = {name: verdict for name, (verdict, _) in whole.items()}
    against = {name for name, (_, why) in whole.items() if why.startswith("facts contradict")}
    for name, (verdict, why) in found(parts).items():
        if verdict in SETTLED and known.get(name) in SETTLED:
            assert known[name] == verdict, (name, why)
        if verdict == "violated":
            assert known.get(name) == "violated" or name in against, (name, why)


STREAMS = {
    "some violated": plain(list(traces.events(20))),
    "all modes": plain(list(as_events(Traffic(600, 9, tuple(Mode))))),
}


class TestMerged:
    @pytest.mark.parametrize("ranks", [2, 5])
    @pytest.mark.parametrize("name", STREAMS)
    def test_the_same(self, tmp_path: Path, name: str, ranks: int) -> None:
        """What is concluded is what one stream would come to; places are those of the files."""
        lines, chance = timed(STREAMS[name]), Random(ranks)
        one = tmp_path / "one.jsonl"
        one.write_bytes(told(lines))
        paths = split(tmp_path, lines, [chance.randrange(ranks) for _ in lines], ranks)
        chance.shuffle(paths)
        whole, parts = (check(each, None, Bundle.CONTRACT) for each in ([str(one)], paths))
        assert found(whole) == found(parts)
        assert (whole.verdict, whole.why) == (parts.verdict, parts.why)
        assert whole.theorem.applies is parts.theorem.applies
        assert sorted(paths) == sorted(each.file for each in parts.inputs)
        for claim in parts.claims:
            for each in claim.obligations.values():
                if each.at is not None:
                    text = Path(each.at.file).read_bytes().splitlines()[each.at.line - 1]
                    assert each.at.sequence == msgspec.json.decode(text)["sequence"]

    @settings(max_examples=150)
    @given(
        streams(), st.sampled_from(list(Mode)), st.integers(1, 4), st.integers(2, 3), st.randoms()
    )
    def test_never_more(
        self, events: list[Stamped], mode: Mode, each: int, ranks: int, chance: Random
    ) -> None:
        """Where events have one time, nothing is concluded that is not so in their true order;
        but where facts contradict each other there, a gap may be what explains it.
        """
        lines = timed(allowed([event for _, event in asking(events, mode)]), each)
        with TemporaryDirectory() as folder:
            one = Path(folder) / "one.jsonl"
            one.write_bytes(told(lines))
            paths = split(Path(folder), lines, [chance.randrange(ranks) for _ in lines], ranks)
            truth, parts = (check(each, mode, Bundle.CONTRACT) for each in ([str(one)], paths))
        never_more(truth, parts)

    def test_what_commutes(self) -> None:
        """Reports that commute may be told in either order."""
        seen: Counter[bool] = Counter()

        @settings(max_examples=120)
        @given(streams(), st.sampled_from(list(Mode)), st.data())
        def compare(events: list[Stamped], mode: Mode, data: st.DataObject) -> None:
            told = [event for _, event in events]
            reports = [n for n, each in enumerate(told) if each.kind in rank_order._OWN]
            if not reports:
                return
            at, report = data.draw(st.sampled_from(reports)), None
            others = [told[n] for n in reports if commute(told[at], told[n])]
            if not others:
                return
            report = data.draw(st.sampled_from(others))
            either = [
                verdicts(
                    judged(list(enumerate([*told[:at], *pair, *told[at + 1 :]])), mode, Limits())
                )
                for pair in ([told[at], report], [report, told[at]])
            ]
            assert either[0] == either[1]
            seen[True] += 1

        compare()
        assert seen[True] > 5


def claim(name: str, first: int, time: int) -> list[Line]:
    """The lines with which a claim of two blocks begins, at times from this one on."""
    about = {"claim_id": name, "object_id": f"prefix:{name}", "cache_identity": "m"}
    said = {"predicate": "leading_prefix_at_least(2)", "mode": str(HARD), "owner_scope": "o"}
    lines: list[Line] = [
        {"kind": "claim_registered", **about, **said},
        {"kind": "claim_committed", "claim_id": name, "footprint": 2},
        {"kind": "claim_accepted", "claim_id": name, "footprint": 2},
        {
            "kind": "block_cached",
            "claim_id": name,
            "block_ids": [first, first + 1],
            "positions": [0, 1],
        },
        {"kind": "claim_materialized", "claim_id": name},
    ]
    return [line | {"time_ns": time + n} for n, line in enumerate(lines)]


def by_claim(folder: Path, zero: list[Line], one: list[Line]) -> dict[str, str]:
    """The verdicts on claims of an engine of two ranks."""
    paths = []
    for rank, lines in enumerate((zero, one)):
        path = folder / f"rank{rank}.jsonl"
        path.write_bytes(told(lines, rank))
        paths.append(str(path))
    report = check(paths, HARD, Bundle.CONTRACT)
    return {each.claim_id: str(each.verdict) for each in report.claims}


class TestTies:
    both = (*claim("a", 0, 0), *claim("b", 10, 10))

    def test_no_tie(self, tmp_path: Path) -> None:
        """Times that differ are an order."""
        evicted = {"kind": "block_evicted", "block_ids": [99], "time_ns": 21}
        found = by_claim(tmp_path, [*self.both, {**evicted, "time_ns": 20}], [evicted])
        assert {"a": "kept", "b": "kept"} == found

    def test_reports_about_two_claims(self, tmp_path: Path) -> None:
        """Reports about different claims may come at one time."""
        ranks = [claim("a", 0, 0), claim("b", 10, 4)]
        ranks[1][-1]["time_ns"] = 30
        ranks[0][-1]["time_ns"] = 30
        assert {"a": "kept", "b": "kept"} == by_claim(tmp_path, *ranks)

    def test_reports_about_one_claim(self, tmp_path: Path) -> None:
        """Nothing is concluded of a claim of which two reports have no order; of others it is."""
        again = {"kind": "claim_unmaterialized", "claim_id": "a", "time_ns": 30}
        zero = [*self.both, {**again, "kind": "claim_materialized"}]
        assert {"a": "inconclusive", "b": "kept"} == by_claim(tmp_path, zero, [again])

    def test_facts(self, tmp_path: Path) -> None:
        """Where facts have no order, nothing is concluded of the claims that are alive; of those
        that ended before it is.
        """
        ended = [
            {"kind": "claim_retired", "claim_id": "a", "by": "o", "time_ns": 20},
            {"kind": "claim_released", "claim_id": "a", "by": "o", "time_ns": 21},
        ]
        evicted = {"kind": "block_evicted", "block_ids": [10], "time_ns": 30}
        zero = [*self.both, *ended, evicted]
        one = [{"kind": "request_arrived", "request_id": "r", "needed": 1, "usable": 9}]
        found = by_claim(tmp_path, zero, [one[0] | {"time_ns": 30}])
        assert {"a": "kept", "b": "inconclusive"} == found
        assert {"a": "kept", "b": "violated"} == by_claim(tmp_path, zero, [])

    def test_begun_then(self, tmp_path: Path) -> None:
        """A claim that begins at a time of which events have no order is alive there, too."""
        lines, evicted = claim("a", 0, 5), {"kind": "block_evicted", "block_ids": [99]}
        assert {"a": "kept"} == by_claim(tmp_path, lines, [evicted | {"time_ns": 4}])
        assert {"a": "inconclusive"} == by_claim(tmp_path, lines, [evicted | {"time_ns": 5}])

    def test_too_many(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """More lines of one time than are compared have no order."""
        monkeypatch.setattr(rank_order, "TIED", 3)
        lines = [line | {"time_ns": 5} for line in self.both]
        paths = split(tmp_path, lines, [0] * len(lines))
        assert "kept" == check(paths, HARD, Bundle.CONTRACT).verdict  # one rank has an order
        paths = split(tmp_path, lines, [0] * (len(lines) - 1) + [1])
        assert "inconclusive" == check(paths, HARD, Bundle.CONTRACT).verdict


class TestLosses:
    both = (*claim("a", 0, 0), *claim("b", 10, 10))

    def test_observes_less(self, tmp_path: Path) -> None:
        """A rank that is opened again may observe less from there on."""
        again = {"kind": "stream_opened", "observes": ["claim_registered"]}
        assert {"a": "inconclusive"} == by_claim(tmp_path, [], [again, *claim("a", 0, 0)])
        assert {"a": "kept"} == by_claim(tmp_path, [], claim("a", 0, 0))

    def test_between(self, tmp_path: Path) -> None:
        """A missing line of one rank may belong anywhere up to the next one of that rank: of the
        claims that live meanwhile, and of those that come later, nothing is concluded.
        """
        one = told([{"kind": "block_evicted", "block_ids": [n], "time_ns": t} for n, t in NEVER], 1)
        lines = one.splitlines(keepends=True)
        paths = split(tmp_path, list(self.both), [0] * len(self.both))
        Path(paths[1]).write_bytes(one)
        whole = check(paths, HARD, Bundle.CONTRACT)
        assert ["kept", "kept"] == [each.verdict for each in whole.claims]
        Path(paths[1]).write_bytes(b"".join(lines[:1] + lines[2:]))  # up to the time 7
        report = check(paths, HARD, Bundle.CONTRACT)
        assert {"a": "inconclusive", "b": "inconclusive"} == {
            each.claim_id: each.verdict for each in report.claims
        }

    def test_at_one_time(self, tmp_path: Path) -> None:
        """A line that is missing behind one may have its time, and be before others of that time,
        though what is there may come in any order.
        """
        *begun, cached, materialized = claim("a", 0, 0)
        other = {"kind": "claim_unmaterialized", "claim_id": "b"}
        own = [line | {"time_ns": 5} for line in (other, cached)]
        zero = [*begun, materialized | {"time_ns": 5}]
        assert "inconclusive" == by_claim(tmp_path, zero, own)["a"]
        path = tmp_path / "rank1.jsonl"
        opened, first, _, *rest = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join([opened, first, *rest]))
        report = check([str(tmp_path / f"rank{n}.jsonl") for n in range(2)], HARD, Bundle.CONTRACT)
        assert {"inconclusive"} == {str(each.verdict) for each in report.claims}

    def test_cut(self, tmp_path: Path) -> None:
        """Where one rank has not its end, the stream has not."""
        paths = split(tmp_path, list(self.both), [0] * len(self.both))
        mark = Path(paths[1]).read_bytes().splitlines(keepends=True)[0]
        Path(paths[1]).write_bytes(mark)
        report = check(paths, HARD, Bundle.CONTRACT)
        assert {ModeVerdict.INCONCLUSIVE} == {each.verdict for each in report.claims}

    @pytest.mark.parametrize("behind", [[], [{"kind": "block_evicted", "block_ids": [99]}]])
    def test_cut_later(self, tmp_path: Path, behind: list[Line]) -> None:
        """The same where all claims had ended by then, or another line follows that end: they keep
        their verdicts, and the whole has none.
        """
        over = [
            {"kind": "claim_retired", "claim_id": "a", "by": "o", "time_ns": 20},
            {"kind": "claim_released", "claim_id": "a", "by": "o", "time_ns": 21},
        ]
        late = [{"kind": "block_evicted", "block_ids": [98], "time_ns": 30}]
        paths = [str(tmp_path / f"rank{n}.jsonl") for n in range(2)]
        Path(paths[0]).write_bytes(told([*claim("a", 0, 1), *over], 0))
        whole = told(late, 1)
        Path(paths[1]).write_bytes(whole)
        assert "kept" == check(paths, HARD, Bundle.CONTRACT).verdict
        lines = whole.splitlines(keepends=True)
        more = [{**line, "time_ns": 40, "stream": ENGINE, "sequence": 3} for line in behind]
        rest = lines if behind else lines[:-1]
        Path(paths[1]).write_bytes(b"".join([*rest, *(msgspec.json.encode(e) for e in more)]))
        report = check(paths, HARD, Bundle.CONTRACT)
        assert ("inconclusive", ["kept"]) == (
            report.verdict,
            [str(each.verdict) for each in report.claims],
        )

    def test_behind_its_end(self, tmp_path: Path) -> None:
        """A line behind the end of a rank is no line that ran backwards."""
        paths = split(tmp_path, list(self.both), [0] * len(self.both))
        late = {"kind": "block_evicted", "block_ids": [99], "stream": ENGINE, "time_ns": 12}
        with Path(paths[1]).open("ab") as file:
            file.write(msgspec.json.encode(late | {"sequence": 2}) + b"\n")
        report = check(paths, HARD, Bundle.CONTRACT)
        assert {"inconclusive"} == {str(each.verdict) for each in report.claims}

    def test_unreadable(self, tmp_path: Path) -> None:
        """A line that cannot be read is missing, of any rank; without --lenient it is bad input."""
        for rank in (0, 1):
            paths = split(tmp_path, list(self.both), [0] * len(self.both))
            lines = Path(paths[rank]).read_bytes().splitlines(keepends=True)
            Path(paths[rank]).write_bytes(b"".join([*lines[:-1], b"{}\n", lines[-1]]))
            with pytest.raises(InputError):
                check(paths, HARD, Bundle.CONTRACT)
            report = check(paths, HARD, Bundle.CONTRACT, lenient=True)
            assert {ModeVerdict.INCONCLUSIVE} == {each.verdict for each in report.claims}
            assert ["RC103"] == [each.code for each in report.breaks]
            assert 1 == report.events.rejected

    def test_repeated(self, tmp_path: Path) -> None:
        """A line of a rank that comes twice is a break, and violates nothing."""
        for at in range(1, len(self.both)):
            paths = split(tmp_path, list(self.both), [0] * len(self.both))
            lines = Path(paths[0]).read_bytes().splitlines(keepends=True)
            lines.insert(at, lines[at])
            Path(paths[0]).write_bytes(b"".join(lines))
            report = check(paths, HARD, Bundle.CONTRACT)
            assert {ModeVerdict.INCONCLUSIVE} == {each.verdict for each in report.claims}

    def test_backwards(self, tmp_path: Path) -> None:
        """A rank whose numbers run backwards leaves what is alive open."""
        paths = split(tmp_path, list(self.both), [0] * len(self.both))
        lines = Path(paths[0]).read_bytes().splitlines(keepends=True)
        lines.insert(7, lines[5])
        Path(paths[0]).write_bytes(b"".join(lines))
        report = check(paths, HARD, Bundle.CONTRACT)
        assert "inconclusive" == report.claims[0].obligations["ordered_lifecycle_events"].verdict


NEVER = [(99, 6), (98, 8)]


class TestAlone:
    lines = timed(STREAMS["some violated"])

    def test_nothing(self, tmp_path: Path, capsys: Capture) -> None:
        """Nothing is concluded of the claims of one rank, whoever reads it."""
        path, _ = split(tmp_path, self.lines, [0] * len(self.lines))
        assert 3 == main(["check", path])
        assert "is rank 0 of 2 of engine-0, and no file of rank 1 is checked" in " ".join(
            capsys.readouterr().out.split()
        )
        assert 3 == main(["follow", path, "--until-eof"])
        monitor = EventMonitor(name=path)
        for line in Path(path).read_bytes().splitlines():
            monitor.feed(msgspec.json.decode(line))
        report = monitor.finish()
        assert {"inconclusive"} == {str(each.verdict) for each in report.claims}
        assert not report.theorem.applies

    def test_incomplete(self, tmp_path: Path) -> None:
        """Ranks are merged where each is there once, and they agree on how many there are."""
        zero, one = split(tmp_path, self.lines, [0] * len(self.lines))
        again, three = tmp_path / "again.jsonl", tmp_path / "three.jsonl"
        again.write_bytes(Path(one).read_bytes())
        three.write_bytes(told([], 1, 3))
        assert [[zero, one]] == [[each.path for each in e] for e in engines_in([one, zero]).merged]
        for paths in ([zero], [zero, one, str(again)], [zero, str(three)]):
            assert [] == engines_in(paths).merged
            assert "inconclusive" == check(paths, None, Bundle.CONTRACT).verdict

    def test_says_why(self, tmp_path: Path) -> None:
        """Why ranks are not merged is said with the lines and what to do about it."""
        zero, one = split(tmp_path, self.lines, [0] * len(self.lines))
        again, three = tmp_path / "again.jsonl", tmp_path / "three.jsonl"
        again.write_bytes(Path(one).read_bytes())
        three.write_bytes(told([], 1, 3))
        alone = f"line 1 of {zero} is rank 0 of 2 of engine-0, and "
        for paths, why in (
            ([zero], "no file of rank 1 is checked: name those of all ranks"),
            ([zero, one, str(again)], f"line 1 of {one} and line 1 of {again} are all rank 1"),
            ([zero, str(three)], f"line 1 of {zero} states 2 ranks, line 1 of {three} 3: all"),
        ):
            found = check(paths, None, Bundle.CONTRACT)
            assert found == check(paths, None, Bundle.CONTRACT, jobs=2)
            assert found.theorem.because.startswith(alone + why)
            assert alone + why in found.breaks[0].why

    def test_apart(self, tmp_path: Path) -> None:
        """Streams that declare nothing stay apart, also those of one name."""
        paths = split(tmp_path, self.lines, [0] * len(self.lines))
        for path in map(Path, paths):
            path.write_bytes(path.read_bytes().replace(b',"rank":', b',"observes":[],"r":', 1))
            first, rest = path.read_bytes().split(b"\n", 1)
            fields = msgspec.json.decode(first)
            kept = {key: fields[key] for key in ("kind", "stream", "sequence")}
            path.write_bytes(msgspec.json.encode(kept) + b"\n" + rest)
        assert [] == engines_in(paths).merged
        whole = check(paths[:1], None, Bundle.CONTRACT)
        assert whole.claims == check(paths, None, Bundle.CONTRACT).claims


class TestRefused:
    lines = timed(STREAMS["some violated"])

    @pytest.mark.parametrize(
        "fields",
        [
            {"rank": 0},
            {"ranks": 2},
            {"rank": 2, "ranks": 2},
            {"rank": -1, "ranks": 2},
            {"rank": 0, "ranks": 1_000},
            {"rank": 0, "ranks": 1 << 62},
            {"rank": 0, "ranks": 2, "stream": ""},
            {"rank": "0", "ranks": 2},
            {"rank": 0, "ranks": 2, "kind": "stream_closed"},
            {"engine": "rank"},
            {"rank": 0, "ranks": 2, "engine": ""},
        ],
    )
    def test_marks(self, tmp_path: Path, capsys: Capture, fields: Line) -> None:
        """What is no rank is bad input."""
        path = tmp_path / "t.jsonl"
        mark = {"kind": "stream_opened", "stream": "s", "sequence": 0} | fields
        path.write_bytes(msgspec.json.encode(mark) + b"\n")
        assert 2 == main(["check", str(path)])
        assert ("engine: " if fields.get("engine") == "" else "rank") in capsys.readouterr().err

    def test_lines(self, tmp_path: Path, capsys: Capture) -> None:
        """So is an event of a rank without a time, and one of another stream."""
        paths = split(tmp_path, self.lines, [n % 2 for n in range(len(self.lines))])
        for fields, says in (({"time_ns": None}, "states no time"), ({"stream": "x"}, "another")):
            split(tmp_path, self.lines, [n % 2 for n in range(len(self.lines))])
            first, second, *rest = Path(paths[1]).read_bytes().splitlines(keepends=True)
            changed = msgspec.json.encode(msgspec.json.decode(second) | fields) + b"\n"
            Path(paths[1]).write_bytes(b"".join([first, changed, *rest]))
            assert 2 == main(["check", *paths])
            assert says in capsys.readouterr().err
            report = check(paths, None, Bundle.CONTRACT, lenient=True)
            assert "kept" not in {str(each.verdict) for each in report.modes}
            assert 1 == report.events.rejected

    def test_other_ways(self, tmp_path: Path, capsys: Capture) -> None:
        """A window is refused, and --jobs is as without."""
        paths = split(tmp_path, self.lines, [n % 2 for n in range(len(self.lines))])
        with pytest.raises(InputError, match="rank"):
            check(paths, None, Bundle.CONTRACT, window=Window.parse("5"))
        assert 2 == main(["check", *paths, "--reorder", "5"])
        one, two = (check(paths, None, Bundle.CONTRACT, jobs=jobs) for jobs in (1, 2))
        assert one == two

    def test_kinds(self) -> None:
        """What commutes are reports about claims, which say nothing of requests."""
        assert all(Kind(kind).value.startswith("claim_") for kind in rank_order._OWN)


class TestRuns:
    """An engine that is restarted: each rank closes, and opens another run in the same file."""

    def write(self, folder: Path, first: list[Line], second: list[Line]) -> list[str]:
        """Both runs by two ranks, the second with what the hooks saw."""
        reports = {"claim_registered", "claim_accepted", "claim_materialized", "claim_released"}
        paths = []
        for rank in range(2):
            runs = [
                [line for line in run if (line["kind"] in reports) == (rank == 0)]
                for run in (first, second)
            ]
            path = folder / f"rank{rank}.jsonl"
            path.write_bytes(b"".join(told(run, rank) for run in runs))
            paths.append(str(path))
        return paths

    def life(self) -> list[Line]:
        """A claim from its registration to its release."""
        ends = [
            {"kind": "claim_retired", "claim_id": "a", "by": "o", "time_ns": 20},
            {"kind": "claim_released", "claim_id": "a", "by": "o", "time_ns": 21},
        ]
        return [*claim("a", 0, 1), *ends]

    def test_in_files(self, tmp_path: Path) -> None:
        """The second run is judged as if the first had not been."""
        paths = self.write(tmp_path, [], self.life())
        assert ModeVerdict.KEPT == check(paths, HARD, Bundle.CONTRACT).verdict

    @pytest.mark.parametrize("turn", [1, -1])
    def test_followed(self, tmp_path: Path, turn: int, capsys: Capture) -> None:
        """Whichever rank is read first, nothing of a run is taken for the other."""
        paths = self.write(tmp_path, [{**LOST, "time_ns": 1}], self.life())[::turn]
        assert 3 == main(["follow", *paths, "--until-eof", "--format", "json"])
        found = [msgspec.json.decode(each) for each in capsys.readouterr().out.splitlines()]
        assert ["kept"] == [each["verdict"] for each in found if each.get("claim_id") == "a"]

    def test_alive(self, tmp_path: Path) -> None:
        """A claim that is alive at the end of a run is not judged by what is lost in the next."""
        paths = self.write(tmp_path, claim("a", 0, 1), [{**LOST, "time_ns": 90}])
        report = check(paths, HARD, Bundle.CONTRACT)
        assert [ModeVerdict.KEPT] == [each.verdict for each in report.claims]

    def test_alive_where_a_rank_was_cut(self, tmp_path: Path) -> None:
        """The claim is inconclusive where one rank did not close the run."""
        paths = self.write(tmp_path, claim("a", 0, 1), [{**LOST, "time_ns": 90}])
        path = Path(paths[1])
        lines = path.read_bytes().splitlines(keepends=True)
        lines.remove(next(line for line in lines if b"stream_closed" in line))
        path.write_bytes(b"".join(lines))
        report = check(paths, HARD, Bundle.CONTRACT)
        assert [ModeVerdict.INCONCLUSIVE] == [each.verdict for each in report.claims]

    @pytest.mark.parametrize("gone", [0, 1])
    def test_one_alone(self, tmp_path: Path, gone: int) -> None:
        """Where a rank does not come again, its end is no evidence."""
        paths = self.write(tmp_path, [], self.life())
        path = Path(paths[gone])
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
        assert ModeVerdict.INCONCLUSIVE == check(paths, HARD, Bundle.CONTRACT).verdict
