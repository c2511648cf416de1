"""Judges the runs of one stream of one source, and keeps what it needs of them between batches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from monitor.fleet.rows import Row, fact_row, rejected_row, verdict_row
from monitor.fleet.runs import natural, unpacked
from monitor.follow.judge import Judge
from monitor.follow.verdict_line import Counts
from monitor.input.errors import kept_state
from monitor.input.reorder_window import Window
from monitor.results import USUAL
from spec.claims.states import Mode
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from monitor.input.errors import InputError

__all__ = ["PIECES", "VERSION", "Asked", "Given", "Keyed"]

VERSION: Final = 1
"""Of the form in which the state of a key is written."""

PIECES: Final = 1_000
"""Files of a source whose lines a verdict of it can cite: the last ones."""

_FACTS: Final = re.compile(
    rb'"kind"\s*:\s*"(?:claim_(?:registered|accepted)|request_routed|reuse_served)"'
)


_LIMITS: Final = USUAL._replace(troubled=0)
"""A claim that is in hand no more is not listed: its verdict is a row."""


class Asked(msgspec.Struct, frozen=True):
    """How all streams are judged: as `follow` has these options."""

    mode: Mode | None = None
    window: Window | None = None


class Given(msgspec.Struct, frozen=True):
    """A run of the stream: the file that it is from, and its lines as `packed` wrote them."""

    piece: str
    first: int
    data: bytes


class _Piece(msgspec.Struct, array_like=True):
    """A file, and by how much the line numbers of the source are ahead of its own."""

    name: str
    base: int


class _State(msgspec.Struct, array_like=True):
    version: int
    judge: bytes
    pieces: list[_Piece]
    last: int


class Keyed:
    """The judge of one stream of one source.

    A source is one file, which is whole, or a folder of files, its pieces. Of a source of pieces no
    one knows whether a piece is missing, so its streams need sequence numbers: a stream without is
    inconclusive. Its lines are counted over the pieces, as far as they are of this stream; rows
    cite the piece and the line there.

    Args:
        state: what `save` returned; None for a new stream.

    Raises:
        SpecError: the state is damaged, or was made by another release.
    """

    def __init__(self, source: str, stream: str, asked: Asked, state: bytes | None = None) -> None:
        self.source, self.stream = source, stream
        self._pieces: list[_Piece] = []
        self._last = 0
        self._refused: list[InputError] = []
        self._judge = Judge(
            source,
            asked.mode,
            Counts(),
            lossy=source.endswith("/"),
            window=asked.window,
            limits=_LIMITS,
            on_reject=self._refused.append,
        )
        if state is not None:
            self._load(state)

    def take(self, runs: Iterable[Given]) -> Iterator[Row]:
        """Judge runs; what they decide, and the facts that questions about a fleet need.

        Args:
            runs: of one batch. They are judged in the order of the names of their files, in which
                digits count as numbers, and of their lines there.
        """
        for run in sorted(runs, key=lambda each: (natural(each.piece), each.first)):
            base = self._enter(run.piece)
            for number, text, why in unpacked(run.data):
                self._last = base + number
                self._judge.count_from(self._last - 1)
                for verdict in self._judge.take(text):
                    yield verdict_row(verdict, self._places)
                if text is not None and _FACTS.search(text):
                    yield from fact_row(text, self.source, self._last, self._places)
                for error in self._refused:
                    yield rejected_row(error, self.source, self.stream, why, self._places)
                self._refused.clear()

    def save(self) -> bytes:
        """The state, for another `Keyed`; raises SpecError where there is more than it may hold."""
        state = _State(VERSION, self._judge.snapshot(), self._pieces, self._last)
        return msgspec.msgpack.encode(state)

    def finish(self) -> Iterator[Row]:
        """What is concluded of the claims that are not over, if no line comes any more."""
        for line in self._judge.finish()[0]:
            yield verdict_row(line, self._places)

    def _load(self, data: bytes) -> None:
        state = kept_state(data, _State, self.source)
        if state.version != VERSION:
            cause = f"the state of {self.source} has version {state.version}, and this is {VERSION}"
            raise SpecError(cause, "begin anew in another folder of checkpoints")
        self._judge.restore(state.judge)
        self._pieces, self._last = state.pieces, state.last

    def _enter(self, piece: str) -> int:
        """By how much the numbers of the lines of a piece are behind those of the source."""
        if not self._pieces or self._pieces[-1].name != piece:
            self._pieces.append(_Piece(piece, self._last))
            del self._pieces[:-PIECES]
        return self._pieces[-1].base

    def _places(self, line: int) -> tuple[str, int]:
        """The piece in which a line of the source is, and its number there."""
        for piece in reversed(self._pieces):
            if line > piece.base:
                return piece.name, line - piece.base
        return "", line
