"""Draws a run as a sequence diagram in SVG, each action a link to the state after it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from models.explorer.links import url
from models.framework.model import Signal
from models.report.lanes import LANES, Message, messages
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from models.explorer.walk import Turn, Walk
    from models.framework.model import Emitted
    from models.framework.shims import Shim

__all__ = ["diagram", "read"]

_WIDTH: Final = 640
_ROW: Final = 30
_HEAD: Final = 40
_SHOWN: Final = 44
"""Characters of a message that are shown; all of them are in its tooltip."""

_NOTE: Final = 140
"""Half the width of a note."""

_X: Final = {lane: _WIDTH * (2 * n + 1) // (2 * len(LANES)) for n, lane in enumerate(LANES)}


def read(emitted: Emitted, shim: Shim) -> Iterator[Message]:
    """What a reader reads of what is emitted; of a signal that it does not read, its name."""
    events = shim.events(emitted)
    for event in events:
        yield from messages(event)
    if isinstance(emitted, Signal) and not events:
        yield Message("runtime", "runtime", f"{emitted.name} {emitted.holder}, not read")


def diagram(walk: Walk) -> str:
    """The run so far; the last action is below."""
    rows: list[str] = []
    for at, turn in enumerate(walk.taken, 1):
        for row in _rows(walk, at, turn):
            rows.append(f'<g transform="translate(0 {_HEAD + _ROW * len(rows)})">{row}</g>')
    height = _HEAD + _ROW * len(rows)
    lines = [
        f'<line class="lane" x1="{x}" x2="{x}" y1="26" y2="{height}"/>'
        f'<text class="head" x="{x}" y="18">{lane}</text>'
        for lane, x in _X.items()
    ]
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="group" aria-label="Sequence diagram">'
        f"{''.join(lines)}{''.join(rows)}</svg>"
    )


def _rows(walk: Walk, at: int, turn: Turn) -> Iterator[str]:
    here = url(walk.start, walk.numbers[:at])
    title = escape(f"{at}. {turn.step.action}")
    yield (
        f'<line class="turn" x1="0" x2="{_WIDTH}" y1="4" y2="4"/>'
        f'<a href="{here}"><text class="turn" x="4" y="20">{title}</text></a>'
    )
    for emitted in turn.step.emits:
        yield from map(_message, read(emitted, walk.start.shim))
    for move in turn.moves:
        if move.after is Verdict.VIOLATED:
            text = f"{move.claim}: {move.obligation} violated"
            yield f'<text class="violated" x="{_WIDTH - 4}" y="17">{escape(text)}</text>'


def _message(message: Message) -> str:
    if message.source == message.target:
        x = min(max(_X[message.source], _NOTE), _WIDTH - _NOTE)
        return _text(x, message.text, "note")
    begin, end = _X[message.source], _X[message.target]
    back = 7 if end > begin else -7
    look = "reply" if message.reply else "call"
    return (
        f'<line class="{look}" x1="{begin}" x2="{end}" y1="22" y2="22"/>'
        f'<path class="tip" d="M{end} 22l{-back} -4v8z"/>'
        f"{_text((begin + end) // 2, message.text, 'message')}"
    )


def _text(x: int, text: str, look: str) -> str:
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
    tooltip = "" if shown == text else f"<title>{escape(text)}</title>"
    return f'<text class="{look}" x="{x}" y="17">{escape(shown)}{tooltip}</text>'
