"""Writes items to where a person asked for them; what fails there ends no judgement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from monitor.timeline.items import Item

__all__ = ["Output", "Writer", "utf8"]


class Writer(Protocol):
    """Turns items into something that is written."""

    def put(self, item: Item) -> None:
        """Write what an item is."""

    def end(self) -> None:
        """Write what is left: there are no more items."""


class Output:
    """Passes items to a writer until that fails.

    Args:
        name: the option and what it names, for messages.
        file: what is closed at the end, if the writer writes to one.
        failed: called once, with the error, as soon as something fails.

    Attributes:
        error: the first that occurred, if any.
    """

    def __init__(
        self,
        name: str,
        writer: Writer,
        file: BinaryIO | None = None,
        failed: Callable[[SpecError], None] = lambda error: None,
    ) -> None:
        self._name, self._writer, self._file, self._failed = name, writer, file, failed
        self.error: SpecError | None = None

    def put(self, item: Item) -> None:
        """Pass an item on."""
        if self.error is None:
            self._try(lambda: self._writer.put(item))

    def close(self) -> None:
        """There are no more items."""
        if self.error is None:
            self._try(self._writer.end)
        if self._file is not None:
            self._try(self._file.close)

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except OSError as problem:
            reason = problem.strerror or str(problem)
            self._fail(SpecError(f"{self._name}: {reason}", "what was written of it ends there"))
        except SpecError as problem:
            self._fail(SpecError(f"{self._name}: {problem.cause}", problem.remedy))

    def _fail(self, error: SpecError) -> None:
        if self.error is None:
            self.error = error
            self._failed(error)


def utf8(text: str) -> str:
    """A text that UTF-8 can encode: names of files may hold other bytes."""
    return text.encode("utf-8", "replace").decode("utf-8")
