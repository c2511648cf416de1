"""A compressed file is followed to its end, with the lines and the limits of a plain one."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import msgspec
import pytest

from monitor.__main__ import main
from monitor.follow.growing_file import GrowingFile
from monitor.follow.packed_file import PackedFile
from monitor.input.errors import InputError
from monitor.input.lines import LINE_LIMIT
from tests.monitor.follow.reading import Read, reading

SAMPLES = Path(__file__).parents[3] / "monitor/samples"
REGISTRY, CAPTURE = (SAMPLES / "watch" / name for name in ("registry.yaml", "capture.jsonl"))
Capture = pytest.CaptureFixture[str]


def packed(path: Path, text: bytes) -> PackedFile:
    path.write_bytes(gzip.compress(text))
    return PackedFile(str(path))


def ended(source: PackedFile | GrowingFile, position: dict[str, int | str] | None = None) -> Read:
    """What is read until the source ends."""
    with reading(source, position) as read:
        read.thread.join(10)
    return read


class TestCommands:
    @pytest.mark.parametrize("form", ["gz", "xz", "zst", "msgpack", "parquet"])
    def test_watch(self, form: str, tmp_path: Path, capsys: Capture) -> None:
        """A capture in any form that `check` reads is watched with the result of the plain one."""
        content = CAPTURE.read_bytes()
        path = tmp_path / f"capture.{form}"
        if form == "zst":
            content = pytest.importorskip("zstandard").compress(content)
        elif form == "msgpack":
            rows = map(msgspec.json.decode, content.splitlines())
            content = b"".join(map(msgspec.msgpack.encode, rows))
        elif form == "parquet":
            arrow = pytest.importorskip("pyarrow")
            table = arrow.table({"line": content.decode().splitlines()})
            pytest.importorskip("pyarrow.parquet").write_table(table, path)
        elif form == "gz":
            content = gzip.compress(content)
        else:
            content = lzma.compress(content)
        if form != "parquet":
            path.write_bytes(content)
        shown = []
        for each in (CAPTURE, path):
            assert main(["watch", str(REGISTRY), str(each), "--until-eof"]) == 0
            shown.append(" ".join(capsys.readouterr().out.replace(str(each), "NAME").split()))
        assert shown[1] == shown[0]

    def test_check(self, tmp_path: Path, capsys: Capture) -> None:
        """`follow` and `check` of a compressed trace end with the exit code of the plain one."""
        for name, code in (("hard_protected_refusal", 0), ("hard_protected_victim", 1)):
            path = tmp_path / f"{name}.gz"
            path.write_bytes(gzip.compress((SAMPLES / f"{name}.jsonl").read_bytes()))
            for command in (["follow", str(path), "--until-eof"], ["check", str(path)]):
                assert main(command) == code

    @pytest.mark.parametrize("left", [8, 40, 12])
    def test_truncated(self, left: int, tmp_path: Path, capsys: Capture) -> None:
        """After the part of a truncated capture that can be read, every claim is inconclusive."""
        path = tmp_path / "capture.gz"
        path.write_bytes(gzip.compress(CAPTURE.read_bytes())[:-left])
        assert main(["watch", str(REGISTRY), str(path), "--until-eof"]) == 3
        shown = capsys.readouterr()
        assert "the gzip data is truncated" in shown.err
        assert "inconclusive" in shown.out

    @pytest.mark.parametrize("command", ["watch", "follow"])
    @pytest.mark.parametrize(
        ("name", "content", "said"),
        [
            ("a.gz", gzip.compress(b"{}")[:9], "the gzip data is truncated"),
            ("a.gz", b"{}", "named .gz, and not gzip data"),
            ("a.xz", lzma.compress(b"{}")[:-20] + bytes(20), "cannot be decompressed"),
            ("a.gz", gzip.compress(bz2.compress(b"{}")), "it looks like bzip2 data"),
            ("a.gz", gzip.compress(b""), "only blank lines"),
        ],
        ids=["cut", "plain", "damaged", "bzip2", "blank"],
    )
    def test_bad(
        self, command: str, name: str, content: bytes, said: str, tmp_path: Path, capsys: Capture
    ) -> None:
        """A file of which nothing can be read is refused before anything is followed."""
        path = tmp_path / name
        path.write_bytes(content)
        registry = [str(REGISTRY)] if command == "watch" else []
        assert main([command, *registry, str(path), "--until-eof"]) == 2
        assert said in capsys.readouterr().err


class TestLines:
    def test_too_long(self, tmp_path: Path) -> None:
        """A line that is too long when decompressed is refused; other lines keep their numbers."""
        text = b"one\n\n" + b" x" * LINE_LIMIT + b"\nfour\n"
        read = ended(packed(tmp_path / "a.gz", text))
        assert (read.lines, read.end) == ([b"one", b"", None, b"four"], "")

    def test_last_too_long(self, tmp_path: Path) -> None:
        """The same where it is the last line, and has no end."""
        read = ended(packed(tmp_path / "a.gz", b"one\n" + b"x" * 3 * LINE_LIMIT))
        assert (read.lines, read.end) == ([b"one", None], "")

    def test_resumed(self, tmp_path: Path) -> None:
        """After a restart lines that were judged are passed over."""
        text = b"".join(b"%d\n" % number for number in range(100_000))
        path = tmp_path / "a.gz"
        position = {**ended(packed(path, text)).position, "lines": 90_000}
        read = ended(PackedFile(str(path)), position)
        assert (read.lines[0], len(read.lines), read.breaks) == (b"90000", 10_000, [])

    def test_other(self, tmp_path: Path) -> None:
        """Another file of the name is read from its start, after a break."""
        path = tmp_path / "a.gz"
        position = ended(packed(path, b"one\ntwo\n")).position
        read = ended(packed(path, b"three\n"), position)
        assert read.lines == [b"three"]
        assert read.breaks == ["the file is not the one that was read last"]

    def test_compressed_since(self, tmp_path: Path) -> None:
        """A file that was plain when it was read last, or is now, is another file."""
        plain, path = tmp_path / "a", tmp_path / "a.gz"
        plain.write_bytes(b"one\n")
        before = ended(GrowingFile(str(plain), until_eof=True)).position
        read = ended(packed(path, b"two\n"), before)
        assert (read.lines, len(read.breaks), read.end) == ([b"two"], 1, "")
        read = ended(GrowingFile(str(plain), until_eof=True), read.position)
        assert (read.lines, len(read.breaks), read.end) == ([b"one"], 1, "")

    def test_no_package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a decoder it is said what to install."""
        path = tmp_path / "a.zst"
        path.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))

        def missing(name: str) -> None:
            raise ImportError(name)

        monkeypatch.setattr("monitor.input.compressed.import_module", missing)
        with pytest.raises(InputError, match=r"\[zstd\]"):
            PackedFile(str(path))
