"""Writes items to where a person asked for them; what fails there ends no judgement."""

from __future__ import annotations

from io import BufferedWriter, FileIO, RawIOBase
from typing import TYPE_CHECKING, Any

from spec.files.writing import check_target
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path
    from typing import BinaryIO

    from _typeshed import ReadableBuffer

    from monitor.timeline.items import Item
    from monitor.timeline.writer import Writer

__all__ = ["Output", "opened"]


class Output:
    """Passes items to a writer until that fails; `error` is why it did.

    Args:
        name: the option and what it names, for messages.
        file: what is closed at the end, if the writer writes to one.
        failed: called with the error as soon as something fails.
    """

    def __init__(
        self,
        name: str,
        writer: Writer[Any],
        file: BinaryIO | None = None,
        failed: Callable[[SpecError], None] = lambda error: None,
    ) -> None:
        self._name, self._writer, self._file, self._failed = name, writer, file, failed
        self.error: SpecError | None = None

    def put(self, item: Item) -> None:
        """Pass an item on."""
        self._try(lambda: self._writer.put(item))

    def close(self) -> None:
        """There are no more items."""
        self._try(self._writer.end)
        if self._file is not None:
            self._try(self._file.close, always=True)

    def _try(self, act: Callable[[], None], *, always: bool = False) -> None:
        if self.error is not None and not always:
            return
        try:
            act()
        except (OSError, SpecError) as problem:
            cause = problem.cause if isinstance(problem, SpecError) else problem.strerror
            remedy = problem.remedy if isinstance(problem, SpecError) else "it ends there"
            if self.error is None:
                self.error = SpecError(f"{self._name}: {cause or problem}", remedy)
                self._failed(self.error)


class _Late(RawIOBase):
    """A new file, which is made or emptied by the first write."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: FileIO | None = None

    def writable(self) -> bool:
        """It is, as `check_target` found."""
        return True

    def write(self, data: ReadableBuffer, /) -> int | None:
        """Write some bytes, and return how many."""
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = FileIO(self._path, "wb")
        return self._file.write(data)

    def close(self) -> None:
        """Close the file, if there is one."""
        super().close()
        if self._file is not None:
            self._file.close()


def opened(path: Path, reads: Iterable[str | Path | None]) -> BinaryIO:
    """A new file, which is made or emptied when something is written to it.

    Raises:
        OutputError: it cannot be written, or is one of those read.
    """
    check_target(path, reads=reads)
    return BufferedWriter(_Late(path))
