"""A trace in Parquet is read as the lines that its rows state, or refused with the reason."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from monitor.__main__ import main
from monitor.check.files import check_files
from monitor.input import parquet as module
from monitor.input.errors import InputError
from monitor.input.lines import LINE_LIMIT, Lines
from spec.stream.outcome import ModeVerdict

SAMPLES = Path(__file__).parents[3] / "monitor" / "samples"
SAMPLE = SAMPLES / "hard_protected_refusal.jsonl"
ROWS = [json.loads(line) for line in SAMPLE.read_bytes().splitlines()]

arrow: Any = pytest.importorskip("pyarrow")
pq: Any = pytest.importorskip("pyarrow.parquet")


def fields_of(rows: list[dict[str, Any]]) -> Any:
    """A table with a column for each field; a field that a row lacks is null there."""
    columns = dict.fromkeys(key for row in rows for key in row)
    return arrow.table({name: [row.get(name) for row in rows] for name in columns})


def texts_of(rows: list[dict[str, Any]]) -> Any:
    """A table with one column of lines, which may end with the end of a line."""
    return arrow.table({"line": [json.dumps(row) + "\n" for row in rows]})


def written(path: Path, table: Any, **options: Any) -> Path:
    pq.write_table(table, path, **options)
    return path


def refused(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        list(Lines(str(path)))
    return caught.value


class TestRead:
    @pytest.mark.parametrize("table_of", [fields_of, texts_of])
    @pytest.mark.parametrize("name", ["hard_protected_refusal", "hard_protected_victim"])
    def test_verdict(self, tmp_path: Path, table_of: Any, name: str) -> None:
        """`check` judges it as it judges the plain file, and names the bytes on the disk."""
        plain = SAMPLES / f"{name}.jsonl"
        rows = [json.loads(line) for line in plain.read_bytes().splitlines()]
        path = written(tmp_path / "t.parquet", table_of(rows), row_group_size=3)

        one, two = check_files(plain), check_files(path)

        assert (one.verdict, one.why, one.events) == (two.verdict, two.why, two.events)
        assert hashlib.sha256(path.read_bytes()).hexdigest() == two.inputs[0].sha256

    @pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
    def test_rows(self, tmp_path: Path, codec: str) -> None:
        """Each row is the line of its number, whatever the groups, the codec and the types."""
        table = fields_of(ROWS * 50)
        place = table.schema.get_field_index("kind")
        table = table.set_column(place, "kind", table["kind"].dictionary_encode())
        path = written(tmp_path / "t", table, compression=codec, row_group_size=301)
        found = [(number, json.loads(line)) for number, line in Lines(str(path))]
        assert list(enumerate(ROWS * 50, 1)) == found

    def test_place(self, tmp_path: Path) -> None:
        """What is wrong with a row is said with its number."""
        rows = [*ROWS[:2], ROWS[2] | {"claim": "x"}, *ROWS[3:]]
        with pytest.raises(InputError, match=r":3: claim: no such field"):
            check_files(written(tmp_path / "t", fields_of(rows)))

    def test_too_long(self, tmp_path: Path) -> None:
        """A row over the limit of a line is a line that cannot be read."""
        table = arrow.table({"line": ["{}", '"' + "x" * LINE_LIMIT, "{}"]})
        first, second, third = (line for _, line in Lines(str(written(tmp_path / "t", table))))
        assert (b"{}", b"{}") == (first, third)
        assert isinstance(second, InputError)


LONG = "x" * (8 << 20)


def repeated(text: str, times: int, kind: Any = None) -> Any:
    """A text that an array has once, and states so many times."""
    texts = arrow.array([text], kind or arrow.string())
    return arrow.DictionaryArray.from_arrays(arrow.repeat(0, times), texts)


def listed(values: Any, rows: int) -> Any:
    """Lists that have so many of the values each."""
    each = len(values) // rows
    return arrow.ListArray.from_arrays([each * row for row in range(rows + 1)], values)


class TestMemory:
    """Few bytes of a file may stand for very many."""

    @pytest.mark.parametrize(
        "column",
        [
            repeated(LONG, 100),
            repeated(LONG, 100, arrow.large_string()),
            listed(repeated(LONG, 100), 100),
            listed(repeated(LONG, 100), 1),
            arrow.StructArray.from_arrays([repeated(LONG, 100), repeated(LONG, 100)], ["a", "b"]),
            listed(repeated("x" * 100_000, 10_000), 1),
            listed(arrow.repeat(1, 20_000_000), 1),
        ],
        ids=["text", "large", "list", "list of many", "struct", "row", "numbers"],
    )
    def test_repeated(self, tmp_path: Path, column: Any) -> None:
        """A text that is stored once and repeated is not expanded: each row is too long."""
        columns = {"kind": ["claim_registered"] * len(column), "by": column}
        options = {"dictionary_pagesize_limit": 1 << 30, "write_statistics": False}
        path = written(tmp_path / "t", arrow.table(columns), compression="zstd", **options)
        assert path.stat().st_size < 50_000
        limited = (
            "import re, sys; from monitor.input.lines import Lines; "
            "found = [line for _, line in Lines(sys.argv[1])]; "
            "most = re.search(r'VmHWM:\\s*(\\d+) kB', open('/proc/self/status').read())[1]; "
            "print({type(e).__name__ for e in found}, len(found), int(most) >> 10)"
        )
        done = subprocess.run([sys.executable, "-c", limited, str(path)], capture_output=True)
        said = done.stdout.decode().split()
        assert [said[0], said[1]] == ["{'InputError'}", str(len(column))], done.stderr
        assert int(said[2]) < 800

    def test_around(self, tmp_path: Path) -> None:
        """A row that is too long loses no other row, at any place."""
        rows = [{"kind": "x", "by": "y" * (LINE_LIMIT // 3)} for _ in range(9)]
        for long in ((0,), (8,), (3, 4), (), tuple(range(9))):
            for place in long:
                rows[place] = {"kind": "x", "by": "z" * (LINE_LIMIT + 1)}
            found = [line for _, line in Lines(str(written(tmp_path / "t", fields_of(rows))))]
            kinds = [isinstance(line, InputError) for line in found]
            assert kinds == [len(row["by"]) > LINE_LIMIT for row in rows]
            kept = [json.loads(line) for line in found if isinstance(line, bytes)]
            assert kept == [row for row in rows if len(row["by"]) <= LINE_LIMIT]

    @pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
    def test_shared(self, tmp_path: Path, encoding: str) -> None:
        """Texts that share their beginnings in the file are refused, with the encoding."""
        options = {"use_dictionary": False, "column_encoding": encoding}
        error = refused(written(tmp_path / "t", texts_of(ROWS), **options))
        assert error.reason == f"the column 'line' has the encoding {encoding}"

    def test_many_values(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A row group with too many values in lists is refused before it is read."""
        monkeypatch.setattr(module, "GROUP_VALUES", 10)
        assert "row_group_size" in refused(written(tmp_path / "t", fields_of(ROWS * 9))).hint


class TestRefused:
    @pytest.mark.parametrize(
        ("column", "kind"),
        [
            ([1.0], "double"),
            ([b"x"], "binary"),
            ([[0.5]], "double"),
            ([{"x": [0.5]}], "double"),
            (arrow.array([1], arrow.timestamp("ns")), "timestamp"),
        ],
    )
    def test_types(self, tmp_path: Path, column: Any, kind: str) -> None:
        """A column with values that no event has is refused by its name and type."""
        table = arrow.table({"kind": ["claim_registered"], "sequence": column})
        error = refused(written(tmp_path / "t", table))
        assert f"the column 'sequence' has the type {kind}" in error.reason

    def test_one_name(self, tmp_path: Path) -> None:
        """Of two columns with one name one would be dropped."""
        table = arrow.Table.from_arrays([arrow.array(["a"])] * 2, ["kind", "kind"])
        assert "two columns" in refused(written(tmp_path / "t", table)).reason

    def test_large_group(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A row group that takes too much memory is refused before it is read."""
        monkeypatch.setattr(module, "GROUP_BYTES", 1000)
        error = refused(written(tmp_path / "t", fields_of(ROWS)))
        assert "row_group_size" in error.hint

    def test_large_footer(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file with too many columns is refused before they are read."""
        monkeypatch.setattr(module, "FOOTER_BYTES", 100)
        assert "fewer columns" in refused(written(tmp_path / "t", fields_of(ROWS))).hint

    def test_no_package(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Without the extra the error of `check` names it."""
        path = written(tmp_path / "t", fields_of(ROWS))
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        assert 2 == main(["check", str(path)])
        assert "'.[arrow]'" in " ".join(capsys.readouterr().err.split())

    def test_pipe(self) -> None:
        """A Parquet file is read from its end, which a pipe has not got."""

        class Pipe(io.BytesIO):
            def seekable(self) -> bool:
                return False

        with pytest.raises(InputError, match="pipe"):
            list(Lines("-", stdin=Pipe(b"PAR1" * 9)))

    def test_compressed(self, tmp_path: Path) -> None:
        """So it is where it was compressed: it looks like what it is."""
        path = written(tmp_path / "t", fields_of(ROWS))
        path.write_bytes(gzip.compress(path.read_bytes()))
        assert "it looks like a Parquet file" in refused(path).reason

    def test_damaged(self, tmp_path: Path) -> None:
        """Whatever a byte is changed to, no damaged file is kept unless it states the same."""
        path = written(tmp_path / "t", fields_of(ROWS))
        content, chance = path.read_bytes(), random.Random(7)
        due, refusals = list(Lines(str(path))), 0
        for cut in (4, 8, 12, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:cut])
            assert "cannot be read" in refused(path).reason
        for _ in range(200):
            damaged = bytearray(content)
            damaged[chance.randrange(4, len(content))] = chance.randrange(256)
            path.write_bytes(damaged)
            try:
                if list(Lines(str(path))) != due:
                    check_files(path)
            except InputError:
                refusals += 1
        assert refusals > 20

    def test_verdict_of_a_part(self, tmp_path: Path) -> None:
        """Rows before the damage are judged where lines may be skipped, and nothing is kept."""
        path = written(tmp_path / "t", texts_of(ROWS), row_group_size=7, compression="gzip")
        assert ModeVerdict.KEPT == check_files(path).verdict
        content, groups = bytearray(path.read_bytes()), pq.read_metadata(path)
        place = groups.row_group(1).column(0).dictionary_page_offset + 60
        content[place : place + 40] = bytes(40)
        path.write_bytes(content)
        report = check_files(path, lenient=True)
        assert (ModeVerdict.INCONCLUSIVE, 7) == (report.verdict, report.events.read)
        assert hashlib.sha256(content).hexdigest() == report.inputs[0].sha256
