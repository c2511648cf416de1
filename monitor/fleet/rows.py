"""Defines the rows that the query writes: verdicts, claims, routes, and lines that were refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

from monitor.follow.verdict_line import ClaimLine, ViolationLine, key_of
from monitor.input.plain import event_of
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from monitor.follow.verdict_line import VerdictLine
    from monitor.input.errors import InputError

__all__ = ["KINDS", "Places", "Row", "fact_row", "rejected_row", "verdict_row"]

KINDS: Final = ("verdicts", "claims", "routes", "rejected")
"""What a row is; each kind has a folder of its own."""

Places: TypeAlias = Callable[[int], tuple[str, int]]
"""The file in which a line of a source is, and its number there."""


class Row(NamedTuple):
    """One row, in columns.

    `id` is there once. `line` is the number in the `file`. `json` is the whole line of a verdict as
    `follow --verdicts` writes it. `what` is the schema of a verdict, or the kind of an event;
    `says` is the verdict, the obligation that is violated, or why a line is refused. The fields of
    claims and routes are those of the event, and null where it states none.
    """

    kind: str
    id: str
    source: str
    stream: str
    claim_id: str | None
    file: str
    line: int
    what: str
    says: str
    json: str
    mode: str | None = None
    state: str | None = None
    owner: str | None = None
    model: str | None = None
    footprint: int | None = None
    worker: str | None = None
    request_id: str | None = None
    hit: bool | None = None
    cost: int | None = None


_ENCODE: Final = msgspec.json.Encoder().encode
_ROUTES: Final = (Kind.REQUEST_ROUTED, Kind.REUSE_SERVED)


def verdict_row(line: VerdictLine, places: Places) -> Row:
    """The row of a verdict."""
    file, number = places(line.at.line)
    text = _ENCODE(line).decode()
    about = "verdicts", line.id, line.source, line.stream
    if isinstance(line, ViolationLine):
        said = "violation", line.obligation, text, line.mode
        return Row(*about, line.claim_id, file, number, *said)
    if isinstance(line, ClaimLine):
        what = "final" if line.final else "claim"
        said = what, line.verdict, text, line.mode
        return Row(*about, line.claim_id, file, number, *said, line.state)
    return Row(*about, None, file, number, "limit", line.limit, text)


def fact_row(text: bytes, source: str, line: int, places: Places) -> Iterator[Row]:
    """The row of an event that registers or accepts a claim, or that is about a route."""
    event = event_of(text)
    if event is None:
        return  # the judge refused it, or reads it more slowly than is worth it here
    file, number = places(line)
    stream = event.stream or source
    kind = "routes" if event.kind in _ROUTES else "claims"
    yield Row(
        kind,
        key_of(kind, source, stream, line),
        source,
        stream,
        event.claim_id,
        file,
        number,
        event.kind,
        "",
        text.decode(),
        event.mode,
        None,
        event.owner_scope,
        event.cache_identity,
        event.footprint,
        event.worker,
        event.request_id,
        event.hit,
        event.cost,
    )


def rejected_row(error: InputError, source: str, stream: str, told: str, places: Places) -> Row:
    """The row of a line that was refused.

    Args:
        told: the reason, where the line itself does not show it.
    """
    file, number = places(error.line or 0)
    about = "rejected", key_of("rejected", source, stream, error.line), source, stream
    return Row(*about, None, file, number, "line", told or error.reason, "")
