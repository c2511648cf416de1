"""Defines how long a line of a stream is waited for that others have overtaken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from spec.language.errors import ClaimError, SpecError

if TYPE_CHECKING:
    from typing import Self

__all__ = ["MOST_LINES", "Window"]

MOST_LINES: Final = 1_000_000
"""Lines of one stream that a window may hold back."""

_USUAL: Final = 100_000  # lines, where only a time is stated
_HINT: Final = "write lines, seconds or both: 100, 5s, or 100,5s"


class Window(msgspec.Struct, frozen=True):
    """How long a missing line is waited for: whichever limit is reached first ends it.

    `lines` are those of its stream that are held back meanwhile. `nanoseconds`, None for no limit,
    are counted by the `time_ns` of the lines, from the first that is held back to the last that
    came; lines without a time are bounded by their number alone.
    """

    lines: int
    nanoseconds: int | None = None

    def __str__(self) -> str:
        """The window as `parse` reads it."""
        if self.nanoseconds is None:
            return str(self.lines)
        whole, part = divmod(self.nanoseconds, 1_000_000_000)
        return f"{self.lines},{f'{whole}.{part:09}'.rstrip('0').rstrip('.')}s"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The window that a text states, such as `100`, `5s` or `100,5s`.

        Raises:
            SpecError: it states none.
        """
        lines: int | None = None
        nanoseconds: int | None = None
        for part in (part.strip() for part in text.split(",")):
            if part.isascii() and part.isdigit() and lines is None:
                lines = int(part) if len(part) < len(str(MOST_LINES)) + 1 else MOST_LINES + 1
            elif not part[-1:].isdigit() and nanoseconds is None:
                nanoseconds = _nanoseconds(part, text)
            else:
                raise SpecError(f"{text!r} is no window", _HINT)
        if lines is not None and lines > MOST_LINES:
            raise SpecError(f"{text!r} holds back too many lines", f"at most {MOST_LINES:,}")
        return cls(_USUAL if lines is None else lines, nanoseconds)


def _nanoseconds(part: str, text: str) -> int:
    from spec.claims.durations import Duration, TimeUnit

    try:
        duration = Duration.parse(part)
    except ClaimError as error:
        raise SpecError(f"{text!r} is no window: {error.cause}", _HINT) from None
    if duration.unit is TimeUnit.STEPS:
        raise SpecError(f"{text!r} is no window: it counts steps", _HINT)
    return int(duration.nanoseconds)
