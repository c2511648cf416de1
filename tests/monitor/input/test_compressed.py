"""Compressed files are read by their content, within bounds, and refused where they are damaged."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import sys
import tracemalloc
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import zstandard

from monitor.check.files import check_files
from monitor.input.compressed import format_of
from monitor.input.errors import InputError
from monitor.input.lines import LINE_LIMIT, Lines
from monitor.input.sources import Source
from monitor.trace_writer import TraceWriter
from spec.stream.outcome import ModeVerdict

GOOD: Final = b'{"kind":"request_finished","request_id":"r","sequence":3,"time_ns":5}\n'
SAMPLE: Final = Path(__file__).parents[3] / "monitor" / "samples" / "hard_protected_refusal.jsonl"
PACKED: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,  # as the command does
}
NAMES: Final = {"gz": "gzip", "xz": "xz", "zst": "zstd"}


class Zstd314:
    """A decoder with the methods that Python 3.14 has."""

    def __init__(self) -> None:
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._out = b""

    @property
    def eof(self) -> bool:
        return self._frame.eof and not self._out

    @property
    def needs_input(self) -> bool:
        return not self.eof and not self._out

    @property
    def unused_data(self) -> bytes:
        return self._frame.unused_data

    def decompress(self, data: bytes, most: int) -> bytes:
        self._out += self._frame.decompress(data) if data else b""
        found, self._out = self._out[:most], self._out[most:]
        return found


@pytest.fixture(params=[*PACKED, "zst of Python 3.14"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The suffix of each format; that of zstd with either decoder."""
    if " " in request.param:
        module = types.ModuleType("compression.zstd")
        module.__dict__["ZstdDecompressor"] = Zstd314
        module.__dict__["ZstdError"] = zstandard.ZstdError
        monkeypatch.setitem(sys.modules, "compression", types.ModuleType("compression"))
        monkeypatch.setitem(sys.modules, "compression.zstd", module)
    return str(request.param).split()[0]


def read(path: Path, **options: Any) -> tuple[int, Source]:
    """How many records a file has, and what was read of it."""
    source = Source([str(path)], **options)
    return len(list(source)), source


def refused(path: Path, content: bytes) -> InputError:
    """Why a file with this content is refused."""
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(path)
    return caught.value


class TestRead:
    def test_content(self, tmp_path: Path, kind: str) -> None:
        """A format is recognised by its content; the digest is of the bytes on disk."""
        content = PACKED[kind](GOOD * 5000)
        for path in (tmp_path / "t", tmp_path / f"t.{kind}"):
            path.write_bytes(content)
            found, source = read(path)
            assert 5000 == found
            assert hashlib.sha256(content).hexdigest() == source.accounts[0].sha256

    def test_several(self, tmp_path: Path, kind: str) -> None:
        """Compressed data may come in several streams, one after another, and be padded."""
        path = tmp_path / "t"
        pad = bytes(8) if kind == "xz" else b""
        path.write_bytes(PACKED[kind](GOOD) + pad + PACKED[kind](GOOD * 2))

        assert 3 == read(path)[0]

    def test_standard_input(self, kind: str) -> None:
        """Standard input may be compressed."""
        source = Source(["-"], stdin=io.BytesIO(PACKED[kind](GOOD)))

        assert 1 == len(list(source))

    def test_random(self, tmp_path: Path, kind: str) -> None:
        """What does not compress is read as well, in whole lines."""
        names = [os.urandom(500).hex().encode() for _ in range(900)]
        path = tmp_path / "t"
        path.write_bytes(PACKED[kind](b"".join(GOOD.replace(b'"r"', b'"%s"' % n) for n in names)))

        assert 900 == read(path)[0]

    def test_verdict(self, tmp_path: Path, kind: str) -> None:
        """`check` judges it as it judges the plain file."""
        packed = tmp_path / "packed"
        packed.write_bytes(PACKED[kind](SAMPLE.read_bytes()))

        one, two = check_files(SAMPLE), check_files(packed)

        assert (ModeVerdict.KEPT, one.events) == (two.verdict, two.events)


class TestRefused:
    def test_suffix(self, tmp_path: Path, kind: str) -> None:
        """A suffix that is wrong is pointed out, also where the file is compressed otherwise."""
        other = "gz" if kind != "gz" else "xz"
        for content in (GOOD, PACKED[other](GOOD)):
            error = refused(tmp_path / f"t.{kind}", content)
            assert f"named .{kind}, and not {NAMES[kind]} data" == error.reason

    def test_truncated(self, tmp_path: Path, kind: str) -> None:
        """Data that end too early are refused where they end; what comes before can be read."""
        lines = b"".join(GOOD.replace(b"5", b"%d" % n) for n in range(9000))
        content = PACKED[kind](lines) + PACKED[kind](lines)[:-20]
        path = tmp_path / "t"
        error = refused(path, content)

        assert (f"the {NAMES[kind]} data is truncated", True) == (error.reason, error.line > 9000)
        found, source = read(path, lenient=True)
        assert (found, 1) == (source.accounts[0].lines - 1, source.accounts[0].rejected)

    def test_damaged(self, tmp_path: Path, kind: str) -> None:
        """So are data with a flipped byte, and data with something else after their end."""
        content = bytearray(PACKED[kind](os.urandom(3000).hex().encode()))
        content[len(content) // 2] ^= 0xFF
        for each in (bytes(content), PACKED[kind](GOOD) + b"something else"):
            reason = refused(tmp_path / "t", each).reason
            assert reason.startswith(f"the {NAMES[kind]} data cannot be decompressed: ")

    def test_no_decoder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where no package decompresses zstd, the error names what to install."""
        monkeypatch.setitem(sys.modules, "zstandard", None)
        monkeypatch.setitem(sys.modules, "compression", None)

        error = refused(tmp_path / "t", zstandard.compress(GOOD))

        assert "zstd data, and no package that decompresses them is installed" == error.reason
        assert "'.[zstd]'" in error.hint

    def test_twice(self, tmp_path: Path, kind: str) -> None:
        """A file that is compressed twice is no text."""
        assert "not text" in refused(tmp_path / "t", PACKED[kind](PACKED[kind](GOOD * 99))).reason

    def test_writer(self, tmp_path: Path, kind: str) -> None:
        """The writer of traces does not compress."""
        with pytest.raises(InputError, match="not compressed here"):
            TraceWriter(tmp_path / f"t.{kind}")


class TestBounds:
    @pytest.mark.parametrize("content", [b"x" * 2**26, b"\n" * 2**26])
    @pytest.mark.parametrize("kind", PACKED)
    def test_bomb(self, tmp_path: Path, kind: str, content: bytes) -> None:
        """What a small file becomes is never in memory as a whole."""
        path = tmp_path / "t"
        path.write_bytes(PACKED[kind](content))
        assert path.stat().st_size < 2**17
        tracemalloc.start()
        try:
            with pytest.raises(InputError, match=r"the line is longer|only blank lines"):
                read(path)
            assert tracemalloc.get_traced_memory()[1] < 2**25
        finally:
            tracemalloc.stop()

    def test_memory(self, tmp_path: Path) -> None:
        """A file that asks for much memory to be decompressed is refused."""
        filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 1 << 28}]
        content = lzma.compress(GOOD, filters=filters)

        assert "Memory usage limit exceeded" in refused(tmp_path / "t", content).reason

    def test_window(self, tmp_path: Path) -> None:
        """So is a window of zstd that is too large."""
        options = zstandard.ZstdCompressionParameters(window_log=30, write_content_size=0)
        packing = zstandard.ZstdCompressor(compression_params=options).compressobj()
        content = packing.compress(GOOD) + packing.flush()

        assert "too much memory" in refused(tmp_path / "t", content).reason


class TestFormat:
    def test_known(self) -> None:
        """The first bytes of a file state its format."""
        for kind, pack in PACKED.items():
            found = format_of(pack(GOOD)[:8])
            assert found is not None
            assert (NAMES[kind], f".{kind}") == (found.name, found.suffix)
        assert format_of(GOOD) is None


def test_limit(tmp_path: Path, kind: str) -> None:
    """A line of exactly the limit is read, and a longer one is not, also where it is compressed."""
    path = tmp_path / "t"
    lines = b"y" * LINE_LIMIT + b"\n" + b"y" * (LINE_LIMIT + 1) + b"\n"
    path.write_bytes(PACKED[kind](lines))

    assert [bytes, InputError] == [type(content) for _, content in Lines(str(path))]
