"""Draws a run as a lane diagram: client, runtime, blocks, and what a reader concludes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.events.alphabet import FACTS, REPORTS, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spec.events.canonical import Event

__all__ = ["lanes"]

_LANES: Final = ("client", "runtime", "blocks", "reader")


def lanes(events: Sequence[Event], ends: str) -> str:
    """The events as a Mermaid sequence diagram; `ends` is what the reader notes at the end."""
    lines = ["sequenceDiagram", *(f"    participant {lane}" for lane in _LANES)]
    lines += [f"    {line}" for event in events for line in _lane(event)]
    lines.append(f"    Note over reader: {_plain(ends)}")
    return "\n".join(lines) + "\n"


def _lane(event: Event) -> Iterator[str]:
    request, about = event.request_id or "", event.object_id or ""
    match event.kind:
        case Kind.CLAIM_REGISTERED:
            yield f"Note over runtime: the feature, for {_plain(about)}"
        case Kind.CLAIM_COMMITTED:
            pass
        case Kind.DURATION_ELAPSED:
            yield f"Note over client: duration of {_plain(event.claim_id)} is over"
        case Kind.CLAIM_ACCEPTED:
            yield f"Note over reader: {_plain(event.claim_id)} accepted, {event.mode}"
        case Kind.REQUEST_ARRIVED:
            yield f"client->>runtime: {request} needs {event.needed} of {event.usable}"
        case Kind.REQUEST_FINISHED:
            yield f"runtime-->>client: {request} ends"
        case kind if kind in FACTS and kind is not Kind.CLAIM_RETIRED:
            what = _numbers(event.block_ids) or about
            yield f"runtime->>blocks: {_plain(f'{kind} {what} {request}')}"
        case kind if kind in REPORTS or kind is Kind.CLAIM_RETIRED:
            yield f"runtime-->>reader: {_plain(f'{kind} {event.claim_id or request}')}"


def _numbers(blocks: Iterable[int | str]) -> str:
    return " ".join(map(str, blocks))


def _plain(text: str | None) -> str:
    """`text` without what Mermaid would read as its own."""
    return "".join(" " if each in ':;"#%{}' else each for each in text or "").strip()
