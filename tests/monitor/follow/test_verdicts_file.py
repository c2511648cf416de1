"""Each line is in the file once, though disks are full and the writer is restarted."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec
import pytest

from monitor.follow import verdicts_file
from monitor.follow.verdict_line import ViolationLine, key_of
from monitor.follow.verdicts_file import VerdictsFile
from monitor.report.verdict import Place
from spec.claims.states import Mode
from spec.language.errors import OutputError


def line(number: int, source: str = "s") -> ViolationLine:
    place = Place("s", number, number)
    key = key_of(source, number)
    return ViolationLine(key, source, "run", "a", Mode.OFFLOADABLE, "x", place, "why", "instead")


SOURCES = {"s": True}
LINES = [line(number) for number in range(5)]


def text(*lines: ViolationLine) -> bytes:
    return b"".join(msgspec.json.encode(each) + b"\n" for each in lines)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "verdicts.jsonl"


def write(file: VerdictsFile, *lines: ViolationLine) -> list[ViolationLine]:
    new = file.add(lines)
    file.flush()
    return [each for each in new if isinstance(each, ViolationLine)]


def test_restarted(path: Path) -> None:
    """Lines that are there beyond the checkpoint are not written again; a torn one is."""
    first = VerdictsFile(str(path), {}, SOURCES)
    write(first, *LINES[:2])
    emitted = first.emitted
    write(first, LINES[2])
    first.close()
    with path.open("ab") as file:
        file.write(text(LINES[3])[:-9])
    again = VerdictsFile(str(path), emitted, SOURCES)
    assert LINES[3:] == write(again, *LINES[2:])
    assert text(*LINES) == path.read_bytes()
    assert {"s": len(text(*LINES))} == again.emitted
    again.close()


def test_a_source_that_is_behind(path: Path) -> None:
    """Killed before it read one source again, a follower still knows the lines of that source.

    Of one that cannot be read again nothing is waited for.
    """
    sources = {"a": True, "b": True, "pipe": False}
    lines = [line(n, source) for n in range(3) for source in sources]
    first = VerdictsFile(str(path), {}, sources)
    write(first, *lines)
    first.close()
    of_a, of_b = lines[0::3], lines[1::3]
    second = VerdictsFile(str(path), {}, sources)  # there was no checkpoint
    assert [] == write(second, *of_a, of_b[0])
    size, begin = len(text(*lines)), len(text(*lines[:4]))
    assert {"a": size, "b": begin, "pipe": size} == second.emitted
    second.close()
    third = VerdictsFile(str(path), second.emitted, sources)
    assert second.emitted == third.emitted
    assert [line(9, "a")] == write(third, line(9, "a"), *of_b[1:])
    assert {len(text(*lines, line(9, "a")))} == {*third.emitted.values()}
    third.close()


def test_without_a_checkpoint(path: Path) -> None:
    """Who begins anew writes what is not there yet."""
    for count in (2, 5):
        file = VerdictsFile(str(path))
        write(file, *LINES[:count])
        file.close()
    assert text(*LINES) == path.read_bytes()


def test_after_the_checkpoint_the_same_may_come_again(path: Path) -> None:
    """An id is remembered until its line has come again, and no longer."""
    file = VerdictsFile(str(path))
    write(file, LINES[0])
    file.close()
    file = VerdictsFile(str(path))
    assert [] == write(file, LINES[0])
    assert {} == file._known
    file.close()


def test_ids_are_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long file the last ids are remembered."""
    monkeypatch.setattr(verdicts_file, "KNOWN", 2)
    path.write_bytes(text(*LINES) + b"\xff is no line of ours\n")
    file = VerdictsFile(str(path))
    assert [each.id for each in LINES[3:]] == list(file._known)
    file.close()


@pytest.mark.parametrize("room", range(0, 400, 37))
def test_full_disk(path: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """What the disk took in part is completed when there is room again."""
    file, real, left = VerdictsFile(str(path), {}, SOURCES), os.write, [room]

    def full(descriptor: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = real(descriptor, data[: left[0]])
        left[0] -= taken
        return taken

    monkeypatch.setattr(verdicts_file.os, "write", full)
    file.add(LINES)
    with pytest.raises(OSError, match="No space"):
        file.flush()
    emitted = file.emitted["s"]
    assert path.read_bytes()[:emitted].endswith(b"\n") or not emitted
    left[0] = 1 << 20
    file.flush()
    assert text(*LINES) == path.read_bytes()
    file.close()


def test_reopened(path: Path) -> None:
    """After a rotation lines go to the new file; one that the old has in part is whole there."""
    file = VerdictsFile(str(path), {}, SOURCES)
    write(file, *LINES[:2])
    old = path.rename(path.with_suffix(".1"))
    file.reopen()
    write(file, *LINES[2:])
    assert (text(*LINES[:2]), text(*LINES[2:])) == (old.read_bytes(), path.read_bytes())
    assert {"s": len(text(*LINES[2:]))} == file.emitted
    file.close()


def test_two_writers(path: Path) -> None:
    """A file that another follower writes is refused."""
    file = VerdictsFile(str(path))
    with pytest.raises(OutputError, match="another process writes"):
        VerdictsFile(str(path))
    file.close()


def test_no_file(tmp_path: Path) -> None:
    """What is no file is refused."""
    with pytest.raises(OutputError, match="cannot write"):
        VerdictsFile(str(tmp_path))


@pytest.mark.parametrize("again", [True, False])
def test_engines(path: Path, again: bool) -> None:
    """Lines on an engine are decided again where one of the sources is read again; else their
    place counts as that of the file.
    """
    sources, engine = {"a": again, "b": False}, "ranks:e"
    first = VerdictsFile(str(path), {}, sources)
    write(first, line(0, engine))
    emitted = first.emitted
    assert len(text(line(0, engine))) == emitted[engine]
    write(first, line(1, engine), line(2, engine))
    first.close()
    second = VerdictsFile(str(path), emitted, sources)
    due = emitted[engine] if again else len(text(*(line(n, engine) for n in range(3))))
    assert due == second.emitted[engine]
    assert [line(3, engine)] == write(second, *(line(n, engine) for n in range(1, 4)))
    assert {len(text(*(line(n, engine) for n in range(4))))} == {*second.emitted.values()}
    second.close()
    assert [] == write(VerdictsFile(str(path), {}, sources), line(0, engine))
