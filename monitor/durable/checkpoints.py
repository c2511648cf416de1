"""Keeps the last checkpoints of a monitor in a folder, each written atomically."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import msgspec

from monitor.durable.frame import LIMIT, CorruptSnapshot, framed, unframed
from spec.files.plain import read_plain
from spec.language.errors import OutputError, SpecError

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Checkpoints", "Saved"]

_WHAT: Final = "ckpoint"
_NAME: Final = re.compile(r"checkpoint-(\d{1,18})\.bin")
_LONGEST: Final = LIMIT + (1 << 20)  # what does not compress grows a little
_NEW: Final = "checkpoint.new"


class Saved(msgspec.Struct, frozen=True):
    """What a checkpoint holds.

    Attributes:
        monitor: the monitor, as `EventMonitor.snapshot` writes it.
        positions: by source, up to where it is judged: numbers and texts that the source reads.
        emitted: by source, bytes of the file of verdicts with no line that is decided again.
    """

    monitor: bytes
    positions: dict[str, dict[str, int | str]]
    emitted: dict[str, int]


class Checkpoints:
    """The checkpoints in a folder, which is made where there is none; one process uses it at once.

    A checkpoint is a file of its own number, written under another name, flushed to the disk and
    then renamed. The last two are kept.

    Attributes:
        notes: what `load` met on its way, for people.

    Raises:
        OutputError: the folder cannot be made or written, or another process uses it.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.notes: list[str] = []
        self._lock = -1
        self._whole: int | None = None  # the number of the last one that was read or written
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            cause = f"{self.folder}: another process keeps its checkpoints here"
            raise OutputError(cause, "end it, or name another folder") from None
        except OSError as error:
            self.close()
            raise OutputError(
                f"{self.folder}: {error.strerror}", "name a folder of yours"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Let another process use the folder."""
        lock, self._lock = getattr(self, "_lock", -1), -1
        if lock >= 0:
            os.close(lock)

    def load(self) -> Saved | None:
        """The newest checkpoint that is whole; None where there is none at all.

        A newer one that is torn is passed over, with a line in `notes`.

        Raises:
            ForeignSnapshot: the newest that is whole was made for another specification.
            SpecError: there are checkpoints, and none is whole or can be read.
        """
        torn = ""
        for number in self._numbers():
            path = self._path(number)
            try:
                saved = _decoded(_read(path))
            except CorruptSnapshot as error:
                torn = torn or f"{path}: {error.cause}"
                continue
            except OSError as error:
                raise SpecError(f"{path}: {error.strerror}") from None
            if torn:
                self.notes.append(f"{torn}; going on from the one before, {path.name}")
            self._whole = number
            return saved
        if torn:
            raise SpecError(f"{torn}, and there is no other", f"remove {self.folder} to begin anew")
        return None

    def save(self, saved: Saved) -> None:
        """Write a checkpoint; once this returns it is on the disk, with the one before.

        Raises:
            OutputError: it cannot be written, as on a full disk; those before are untouched.
            SpecError: there is more state than a checkpoint may hold.
        """
        content = framed(_WHAT, msgspec.msgpack.encode(saved))
        numbers = self._numbers()
        number, new = max(numbers, default=0) + 1, self.folder / _NEW
        try:
            _write(new, content)
            new.rename(self._path(number))
            self._flush()
        except OSError as error:
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
            cause = f"{self.folder}: the checkpoint cannot be written: {error.strerror}"
            raise OutputError(cause, "the one before is kept") from None
        before = max(numbers, default=0) if self._whole is None else self._whole
        self._whole = number
        for each in numbers:
            if each != before:
                with contextlib.suppress(OSError):
                    self._path(each).unlink()

    def _numbers(self) -> list[int]:
        """The numbers of the checkpoints, the newest first."""
        try:
            found = [_NAME.fullmatch(name) for name in os.listdir(self.folder)]
        except OSError as error:
            raise SpecError(f"{self.folder}: {error.strerror}") from None
        return sorted((int(name[1]) for name in found if name), reverse=True)

    def _path(self, number: int) -> Path:
        return self.folder / f"checkpoint-{number:08}.bin"

    def _flush(self) -> None:
        """The names in the folder are on the disk."""
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _write(path: Path, content: bytes) -> None:
    """A file with this content, on the disk, for this user alone."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> bytes:
    try:
        return read_plain(path, _LONGEST)
    except ValueError as error:
        raise CorruptSnapshot(str(error)) from None


def _decoded(data: bytes) -> Saved:
    try:
        return msgspec.msgpack.decode(unframed(_WHAT, data), type=Saved)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptSnapshot(f"its content is no checkpoint: {error}") from None
