"""How the streams of a source are judged one by one, with a snapshot between batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

import msgspec
import pytest

from monitor.check.files import check
from monitor.fleet.keyed import Asked, Given, Keyed
from monitor.fleet.rows import Row
from monitor.fleet.runs import Lined, packed, runs_of, unpacked
from monitor.follow.verdict_line import VerdictLine
from spec.contract.modes import Bundle
from spec.language.errors import SpecError
from spec.stream.outcome import ModeVerdict
from tests.monitor.follow.traces import trace
from tests.monitor.input.kv_lines import captured, message, stored
from tests.soak.clean import clean
from tests.soak.compare import compared, due_of


def judged(source: str, batches: Iterable[Sequence[tuple[str, Path]]]) -> list[Row]:
    """The rows of a source; between two batches each stream is saved and taken up again."""
    states: dict[str, bytes] = {}
    rows: list[Row] = []
    for batch in batches:
        given: dict[str, list[Given]] = {}
        for piece, path in batch:
            for run in runs_of(str(path)):
                given.setdefault(run.stream, []).append(Given(piece, run.first, run.data))
        for stream, runs in given.items():
            keyed = Keyed(source, stream, Asked(), states.get(stream))
            rows += keyed.take(Random(1).sample(runs, len(runs)))
            states[stream] = keyed.save()
    for stream, state in states.items():
        rows += Keyed(source, stream, Asked(), state).finish()
    return rows


def lines_of(rows: Iterable[Row]) -> list[VerdictLine]:
    texts = (row.json for row in rows if row.kind == "verdicts")
    return [msgspec.json.decode(text, type=VerdictLine) for text in texts]


def write(path: Path, lines: Iterable[bytes]) -> Path:
    path.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in lines))
    return path


def verdicts(rows: Iterable[Row]) -> dict[str | None, str]:
    return {row.claim_id: row.says for row in rows if row.what in ("claim", "final")}


class TestAsCheck:
    def test_streams_of_one_file(self, tmp_path: Path) -> None:
        """Interleaved streams have the verdicts that a check of their file finds, each once."""
        path = write(tmp_path / "a.jsonl", clean(Random(5), "s", 900))
        rows = judged("a.jsonl", [[("a.jsonl", path)]])
        counts = compared(lines_of(rows), due_of(path), whole=True)
        assert counts["equal"] > 50

    def test_one_source_in_many_batches(self, tmp_path: Path) -> None:
        """Pieces that come batch by batch have the verdicts of one file with all their lines."""
        lines = clean(Random(6), "s", 600)
        whole = write(tmp_path / "whole.jsonl", lines)
        parts = [lines[at : at + 150] for at in range(0, len(lines), 150)]
        paths = [write(tmp_path / f"{n}.jsonl", part) for n, part in enumerate(parts)]
        rows = judged("e/", [[(f"e/{path.name}", path)] for path in paths])
        assert compared(lines_of(rows), due_of(whole), whole=True)["equal"] > 30

    def test_a_batch_has_pieces_in_any_order(self, tmp_path: Path) -> None:
        """In a batch the pieces are judged in the order of their names."""
        lines = trace(60)
        whole = write(tmp_path / "whole.jsonl", lines)
        first, second = write(tmp_path / "9", lines[:200]), write(tmp_path / "10", lines[200:])
        rows = judged("e/", [[("e/10", second), ("e/9", first)]])
        assert compared(lines_of(rows), due_of(whole), whole=True)["equal"] == 60

    def test_a_bad_line(self, tmp_path: Path) -> None:
        """Where a check finds a claim inconclusive because of a bad line, so it is here."""
        lines = trace(40)
        path = write(tmp_path / "a.jsonl", [*lines[:150], b"{no", *lines[150:]])
        rows = judged("a.jsonl", [[("a.jsonl", path)]])
        report = check([str(path)], None, Bundle.CONTRACT, lenient=True)
        due = {claim.claim_id: str(claim.verdict) for claim in report.claims}
        assert "inconclusive" in due.values()
        assert due == verdicts(rows)
        (refused, _) = (row for row in rows if row.kind == "rejected")
        assert ("a.jsonl", 151) == (refused.file, refused.line)

    def test_a_capture_of_kv_events(self, tmp_path: Path) -> None:
        """A capture states no claim: its lines are all read, over two batches, and have no row."""
        lines = [captured(message(n, stored(n))) for n in range(4)]
        paths = [write(tmp_path / "1", lines[:2]), write(tmp_path / "2", lines[2:])]
        assert [] == judged("c/", [[("c/1", paths[0])], [("c/2", paths[1])]])
        bad = write(tmp_path / "3", [b'{"endpoint":"tcp://127.0.0.1:5557","frames":["!"]}'])
        assert ["rejected"] == [row.kind for row in judged("c", [[("c", paths[0])], [("c", bad)]])]


class TestNothingIsGuessed:
    def test_a_missing_piece(self, tmp_path: Path) -> None:
        """Where a piece is missing, the claims that were alive are not kept."""
        lines = trace(60)
        first, last = write(tmp_path / "1", lines[:200]), write(tmp_path / "3", lines[300:])
        found = verdicts(judged("e/", [[("e/1", first)], [("e/3", last)]]))
        whole = verdicts(judged("e/", [[("e/1", write(tmp_path / "0", lines))]]))
        broken = {claim for claim, says in found.items() if says == "inconclusive"}
        assert broken
        assert all(whole[claim] == says for claim, says in found.items() if claim not in broken)

    def test_pieces_that_come_too_late(self, tmp_path: Path) -> None:
        """A piece that comes a batch after the next one is out of order: no verdict gets better."""
        lines = trace(60)
        first, last = write(tmp_path / "1", lines[:300]), write(tmp_path / "2", lines[300:])
        found = verdicts(judged("e/", [[("e/2", last)], [("e/1", first)]]))
        whole = verdicts(judged("e/", [[("e/1", first), ("e/2", last)]]))
        assert "inconclusive" in found.values()
        assert all(says in ("inconclusive", whole[claim]) for claim, says in found.items())

    def test_pieces_need_numbers(self, tmp_path: Path) -> None:
        """In a source of pieces, nothing is concluded of a stream without sequence numbers."""
        bare = [msgspec.json.decode(line) for line in trace(5)]
        lines = [msgspec.json.encode({k: v for k, v in e.items() if k != "sequence"}) for e in bare]
        path = write(tmp_path / "a", lines)
        assert "kept" in verdicts(judged("a", [[("a", path)]])).values()
        assert {"inconclusive"} >= {*verdicts(judged("e/", [[("e/a", path)]])).values()}


class TestState:
    def test_a_batch_that_is_judged_again_has_the_same_rows(self, tmp_path: Path) -> None:
        """From one state and the same runs come the same rows with the same ids."""
        path = write(tmp_path / "a", trace(30))
        (run,) = runs_of(str(path))
        lines = unpacked(run.data)
        keyed = Keyed("a", "engine", Asked())
        [*keyed.take([Given("a", 1, packed(lines[:80]))])]
        state, rest = keyed.save(), [Given("a", 81, packed(lines[80:]))]
        again = [[*Keyed("a", "engine", Asked(), state).take(rest)] for _ in range(2)]
        assert again[0] == again[1]
        assert len({row.id for row in again[0]}) == len(again[0]) > 0

    def test_rows_cite_the_file(self, tmp_path: Path) -> None:
        """A row cites the piece that its line is in, and the number of the line there."""
        lines = trace(30)
        paths = [write(tmp_path / "1", lines[:100]), write(tmp_path / "2", lines[100:])]
        rows = judged("e/", [[("e/1", paths[0])], [("e/2", paths[1])]])
        for row in rows:
            if row.what == "claim_accepted":
                text = paths[int(row.file[-1]) - 1].read_bytes().splitlines()[row.line - 1]
                assert row.json.encode() == text
        assert {"e/1", "e/2"} == {row.file for row in rows}

    def test_a_state_of_another_version(self) -> None:
        """A state that another release wrote is refused by its number."""
        state = msgspec.msgpack.decode(Keyed("a", "s", Asked()).save())
        with pytest.raises(SpecError, match="version 99"):
            Keyed("a", "s", Asked(), msgspec.msgpack.encode([99, *state[1:]]))

    def test_a_damaged_state(self) -> None:
        """Bytes that are no state are refused."""
        with pytest.raises(SpecError, match="cannot be read"):
            Keyed("a", "s", Asked(), b"\xc1")


class TestFacts:
    def test_whose_a_claim_is(self, tmp_path: Path) -> None:
        """A registration becomes a row with owner, model and size, for questions about a fleet."""
        sample = Path("monitor/samples/hard_protected_victim.jsonl")
        rows = judged("v", [[("v", sample)]])
        (row,) = (row for row in rows if row.what == "claim_registered")
        assert ("tenant-a", "kv:sample-model:v1", 60) == (row.owner, row.model, row.footprint)
        assert {str(ModeVerdict.VIOLATED)} == {*verdicts(rows).values()}

    def test_long_lines_are_refused(self) -> None:
        """A line that is too long is refused where it stands."""
        keyed = Keyed("a", "s", Asked())
        (row,) = keyed.take([Given("a", 1, packed([Lined(1, None)]))])
        assert ("rejected", 1) == (row.kind, row.line)
        assert "longer than" in row.says
