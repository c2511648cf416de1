"""Places events of a run on the lanes of a sequence diagram."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import Event

__all__ = ["LANES", "Message", "messages"]

LANES: Final = ("client", "runtime", "blocks", "reader")


class Message(NamedTuple):
    """An arrow from a lane to another; a note where both are the same lane."""

    source: str
    target: str
    text: str

    @property
    def reply(self) -> bool:
        """Whether the arrow is an answer or a report."""
        return self.target in ("client", "reader")


def messages(event: Event) -> Iterator[Message]:
    """The message that the diagram shows of an event; a commitment has none."""
    request, about = event.request_id or "", event.object_id or ""
    match event.kind:
        case Kind.CLAIM_REGISTERED:
            yield Message("runtime", "runtime", f"the feature, for {about}")
        case Kind.CLAIM_COMMITTED:
            pass
        case Kind.DURATION_ELAPSED:
            yield Message("client", "client", f"duration of {event.claim_id} is over")
        case Kind.CLAIM_ACCEPTED:
            yield Message("reader", "reader", f"{event.claim_id} accepted, {event.mode}")
        case Kind.REQUEST_ARRIVED:
            text = f"{request} needs {event.needed} of {event.usable}"
            yield Message("client", "runtime", text)
        case Kind.REQUEST_FINISHED:
            yield Message("runtime", "client", f"{request} ends")
        case kind if kind in FACTS and kind is not Kind.CLAIM_RETIRED:
            what = " ".join(map(str, event.block_ids)) or about
            yield Message("runtime", "blocks", " ".join(f"{kind} {what} {request}".split()))
        case kind:
            yield Message("runtime", "reader", f"{kind} {event.claim_id or request}".strip())
