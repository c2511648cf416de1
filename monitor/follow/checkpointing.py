"""Keeps checkpoints of a follower, and restores it from the last one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from monitor.durable.checkpoints import Saved
from monitor.results import USUAL
from spec.language.errors import SpecError
from spec.stream.breaks import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from monitor.durable.checkpoints import Checkpoints
    from monitor.follow.buffer import Position, Source
    from monitor.follow.engines import Engines
    from monitor.follow.judge import Judge

__all__ = ["RESTARTED", "Recording", "Restored"]

RESTARTED: Final = "the follower was restarted"

_LIMITS: Final = ("live", "requests", "ids")
_SHARE: Final = 10  # checkpoints take at most one part in so many of the time


class Restored(NamedTuple):
    """What a follower goes on from.

    Attributes:
        positions: where each source is read on.
        emitted: by source, bytes of the file of verdicts with no line that is decided again.
        interrupted: sources that cannot be read again from there.
    """

    positions: dict[str, Position]
    emitted: dict[str, int]
    interrupted: list[str]


class Terms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What all judges judge by.

    Attributes:
        mode: the mode that claims are judged by; empty where each is by its own.
        reorder: the window within which lines are put into order; empty for none.
        limits: of what is followed at once.
    """

    mode: str = ""
    reorder: str = ""
    limits: Limits = USUAL

    def shown(self) -> dict[str, str]:
        """What a person typed for each."""
        texts = {"--mode": self.mode or "auto", "--reorder": self.reorder}
        texts |= {f"--max-{name}": str(getattr(self.limits, name)) for name in _LIMITS}
        return {name: f"{name} {text}" if text else f"no {name}" for name, text in texts.items()}


class _Judges(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The judges by the names of their sources, what they judge by, and the merged engines."""

    terms: Terms
    judges: dict[str, bytes]
    engines: bytes = b""


class Recording:
    """The checkpoints of one follower, in a folder.

    Args:
        every: seconds between two checkpoints, at least.
        terms: what the judges judge by.
        report: says something to people.
    """

    def __init__(
        self,
        checkpoints: Checkpoints,
        every: float,
        terms: Terms,
        report: Callable[[str], None],
    ) -> None:
        self._checkpoints, self._every = checkpoints, every
        self._terms, self._report = terms, report
        self._next = time.monotonic() + every
        self.saved_at: float | None = None  # time.time() of the last one
        self.failures = 0

    @property
    def folder(self) -> Path:
        """Where they are."""
        return self._checkpoints.folder

    def restore(
        self, judges: Mapping[str, Judge], sources: Mapping[str, Source], engines: Engines
    ) -> Restored:
        """Have the judges go on where the last checkpoint left them, if there is one.

        Raises:
            SpecError: the checkpoint cannot be read, is of another specification, or of another
                mode, window or limit than this follower.
        """
        saved = self._checkpoints.load()
        for note in self._checkpoints.notes:
            self._report(note)
        if saved is None:
            return Restored({}, {}, [])
        found = self._decoded(saved.monitor)
        for name in found.judges.keys() - judges.keys():
            self._report(f"{name} was followed before this start, and is not any more")
        for name, state in found.judges.items():
            if name in judges:
                judges[name].restore(state)
        engines.restore(found.engines)
        positions = {name: dict(at) for name, at in saved.positions.items() if name in judges}
        known = [name for name in found.judges if name in judges]
        interrupted = [name for name in known if not sources[name].replays]
        return Restored(positions, saved.emitted, interrupted)

    def due(self) -> bool:
        """Whether it is time for one."""
        return time.monotonic() >= self._next

    def save(
        self,
        judges: Mapping[str, Judge],
        positions: Mapping[str, Position],
        emitted: Mapping[str, int],
        engines: Engines,
    ) -> None:
        """Keep where everything stands; a failure is reported, and the last checkpoint stays."""
        began = time.monotonic()
        try:
            state = {name: judge.snapshot() for name, judge in judges.items()}
            monitor = msgspec.msgpack.encode(_Judges(self._terms, state, engines.snapshot()))
            self._checkpoints.save(Saved(monitor, {**positions}, {**emitted}))
        except (OSError, SpecError) as error:
            self.failures += 1
            self._report(f"no checkpoint was written: {error}")
        else:
            self.saved_at = time.time()
        ended = time.monotonic()
        self._next = ended + max(self._every, _SHARE * (ended - began))

    def _decoded(self, monitor: bytes) -> _Judges:
        hint = "name another folder, or remove this one to begin anew"
        try:
            found = msgspec.msgpack.decode(monitor, type=_Judges)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise SpecError(f"{self.folder} holds no checkpoint of follow", hint) from None
        now = self._terms.shown()
        for name, was in found.terms.shown().items():
            if was != now[name]:
                raise SpecError(f"the checkpoint in {self.folder} was made with {was}", hint)
        return found
