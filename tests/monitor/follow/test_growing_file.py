"""A file is read while it grows, is rotated and truncated, and after a restart."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from monitor.follow.growing_file import GrowingFile
from tests.monitor.follow.processes import wait_for
from tests.monitor.follow.reading import reading


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "a.jsonl"
    found.touch()
    return found


def append(path: Path, text: bytes) -> None:
    with path.open("ab") as file:
        file.write(text)


class TestWhileItGrows:
    def test_torn_line(self, path: Path) -> None:
        """A line that is written in part waits for its rest."""
        with reading(GrowingFile(str(path))) as read:
            append(path, b"one\ntw")
            read.wait(b"one")
            append(path, b"o\n")
            read.wait(b"one", b"two")
            assert [] == read.breaks

    def test_renamed(self, path: Path) -> None:
        """What is written to the old file before the new one has a line is read first."""
        with reading(GrowingFile(str(path))) as read:
            append(path, b"one\n")
            read.wait(b"one")
            old = path.rename(path.with_suffix(".jsonl.1"))
            append(old, b"two\n")
            path.touch()
            append(old, b"three\n")
            append(path, b"four\n")
            read.wait(b"one", b"two", b"three", b"four")
            assert ["the file was rotated"] == read.breaks

    def test_renamed_twice(self, path: Path) -> None:
        """Files that were rotated while the first was read are read in their order."""
        append(path, b"one\n")
        source = GrowingFile(str(path))
        with reading(source) as read:
            read.wait(b"one")
            position = read.position
        first = path.rename(path.with_suffix(".jsonl.2"))
        append(first, b"two\n")
        second = path.with_suffix(".jsonl.1")
        append(second, b"three\n")
        os.utime(second, ns=(0, first.stat().st_mtime_ns + 1))
        append(path.with_suffix(".jsonl.verdicts.jsonl"), b"not a rotated one\n")
        append(path, b"four\n")
        with reading(GrowingFile(str(path)), position) as read:
            read.wait(b"two", b"three", b"four")

    def test_truncated(self, path: Path) -> None:
        """After copytruncate the file is read from its start, and lines may be missing."""
        with reading(GrowingFile(str(path))) as read:
            append(path, b"one\ntwo\n")
            read.wait(b"one", b"two")
            os.truncate(path, 0)
            wait_for(lambda: bool(read.breaks))
            append(path, b"three\n")
            read.wait(b"one", b"two", b"three")
            assert ["the file was truncated"] == read.breaks

    def test_truncated_and_longer(self, path: Path) -> None:
        """It is noticed by the content if the file is longer than before when it is looked at."""
        with reading(GrowingFile(str(path))) as read:
            append(path, b"one\n")
            read.wait(b"one")
            path.write_bytes(b"two, and longer\n")
            read.wait(b"one", b"two, and longer")
            assert ["the file was truncated"] == read.breaks

    def test_waits_for_the_file(self, tmp_path: Path) -> None:
        """A file that is not there yet is waited for."""
        path = tmp_path / "later"
        with reading(GrowingFile(str(path))) as read:
            append(path, b"one\n")
            read.wait(b"one")


class TestRestart:
    def test_goes_on(self, path: Path) -> None:
        """It goes on at the line after the last one, though that was torn."""
        append(path, b"one\ntwo\nthr")
        with reading(GrowingFile(str(path))) as read:
            read.wait(b"one", b"two")
            position = read.position
        append(path, b"ee\n")
        with reading(GrowingFile(str(path)), position) as read:
            read.wait(b"three")
            assert [] == read.breaks

    def test_rotated_meanwhile(self, path: Path) -> None:
        """The rest of the file is found under its new name."""
        append(path, b"one\n")
        with reading(GrowingFile(str(path))) as read:
            read.wait(b"one")
            position = read.position
        append(path, b"two\n")
        path.rename(path.with_suffix(".jsonl.1"))
        append(path, b"three\n")
        with reading(GrowingFile(str(path)), position) as read:
            read.wait(b"two", b"three")

    @pytest.mark.parametrize("text", [b"", b"another\n"])
    def test_another_file(self, path: Path, text: bytes) -> None:
        """Where the file is gone, the new one is read from its start, and lines may be missing."""
        append(path, b"one\n")
        with reading(GrowingFile(str(path))) as read:
            read.wait(b"one")
            position = read.position
        path.write_bytes(text)
        append(path, b"two\n")
        with reading(GrowingFile(str(path)), position) as read:
            wait_for(lambda: b"two" in read.lines)
            assert ["the file that was read last is not there any more"] == read.breaks


class TestUntilEof:
    @pytest.mark.parametrize("text", [b"one\ntwo", b"one\ntwo\n"])
    def test_end(self, path: Path, text: bytes) -> None:
        """It ends where the file ends; a last line needs no end."""
        append(path, text)
        with reading(GrowingFile(str(path), until_eof=True)) as read:
            wait_for(lambda: read.end is not None)
            assert [b"one", b"two"] == read.lines
            assert "" == read.end

    @pytest.mark.parametrize("there", [True, False])
    def test_nothing_in_the_last(self, path: Path, there: bool) -> None:
        """Files that were rotated are read, though nothing is in the one of the name, or none has
        it.
        """
        append(path, b"one\n")
        with reading(GrowingFile(str(path))) as read:
            read.wait(b"one")
            position = read.position
        first = path.rename(path.with_suffix(".jsonl.1"))
        second = path.with_suffix(".jsonl.2")
        append(second, b"two\n")
        os.utime(second, ns=(0, first.stat().st_mtime_ns + 1))
        if there:
            path.touch()
        with reading(GrowingFile(str(path), until_eof=True), position) as read:
            wait_for(lambda: read.end is not None)
            assert [b"two"] == read.lines
            assert "" == read.end

    def test_last_line_is_read_once(self, path: Path) -> None:
        """A last line that got its end meanwhile is not read again."""
        append(path, b"one\ntwo")
        with reading(GrowingFile(str(path), until_eof=True)) as read:
            wait_for(lambda: read.end is not None)
            position = read.position
        append(path, b"\nthree\n")
        with reading(GrowingFile(str(path), until_eof=True), position) as read:
            wait_for(lambda: read.end is not None)
            assert [b"", b"three"] == read.lines
