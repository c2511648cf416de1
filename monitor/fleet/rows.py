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

__all__ = ["VERDICTS", "Places", "Row", "fact_row", "rejected_row", "verdict_row"]

VERDICTS: Final = ("violation", "claim", "final", "limit")
"""What a row of a verdict states; its `json` is the line of the verdict."""

Places: TypeAlias = Callable[[int], tuple[str, int]]
"""The file in which a line of a source is, and its number there."""


class Row(NamedTuple):
    """One row, in columns.

    `kind` is `verdicts`, `claims`, `routes` or `rejected`: each has a folder of its own. `id` is
    there once. `line` is the number in the `file`, and `at` that in the source, by which the rows
    of a stream are in order. `what` is one of `VERDICTS`, or the kind of an event. `says` is the
    verdict, the obligation that is violated, the limit, or why a line is refused. `json` is the
    line of a verdict as `follow --verdicts` writes it, or of the event. `period` counts the runs of
    a stream from 1. The fields of claims and routes are those of the event, and null where it
    states none.
    """

    kind: str
    id: str
    source: str
    stream: str
    claim_id: str | None
    file: str
    line: int
    at: int
    what: str
    says: str
    json: str
    period: int | None = None
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
    place = *places(line.at.line), line.at.line
    text = _ENCODE(line).decode()
    claim_id, what, says = None, "limit", ""
    more: dict[str, str | int | None] = {}
    if isinstance(line, ViolationLine):
        claim_id, what, says = line.claim_id, "violation", line.obligation
        more = {"period": line.period, "mode": line.mode}
    elif isinstance(line, ClaimLine):
        claim_id, what, says = line.claim_id, "final" if line.final else "claim", str(line.verdict)
        more = {"period": line.period, "mode": line.mode, "state": line.state}
    else:
        says = line.limit
    about = "verdicts", line.id, line.source, line.stream, claim_id
    return Row(*about, *place, what, says, text, **more)  # type: ignore[arg-type]


def fact_row(text: bytes, source: str, line: int, places: Places) -> Iterator[Row]:
    """The row of an event that registers or accepts a claim, or that is about a route."""
    event = event_of(text)
    if event is None:
        return  # the judge refused it, or reads it more slowly than is worth it here
    stream = event.stream or source
    kind = "routes" if event.kind in _ROUTES else "claims"
    yield Row(
        kind,
        key_of(kind, source, stream, line),
        source,
        stream,
        event.claim_id,
        *places(line),
        line,
        event.kind,
        "",
        text.decode(),
        mode=event.mode,
        owner=event.owner_scope,
        model=event.cache_identity,
        footprint=event.footprint,
        worker=event.worker,
        request_id=event.request_id,
        hit=event.hit,
        cost=event.cost,
    )


def rejected_row(error: InputError, source: str, stream: str, why: str, places: Places) -> Row:
    """The row of a line that was refused.

    Args:
        why: the reason, where the line itself does not show it.
    """
    line = error.line or 0
    about = "rejected", key_of("rejected", source, stream, line), source, stream
    return Row(*about, None, *places(line), line, "line", why or error.reason, "")
