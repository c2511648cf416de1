"""Remembers the claims whose owners do not know yet that they were accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime_hooks.claims.entry import Entry

__all__ = ["Unanswered"]


class Unanswered:
    """Claims by the unfinished requests whose answers say that they were accepted.

    A claim that is sent again has several of them; one answer that is received is enough, for good.
    """

    def __init__(self) -> None:
        self._claims: dict[str, Entry] = {}
        self._requests: dict[Entry, set[str]] = {}

    def __contains__(self, entry: object) -> bool:
        return entry in self._requests

    def add(self, request_id: str, entry: Entry) -> None:
        """A request is to be answered that its claim was accepted."""
        if entry.acknowledged:
            return
        self._claims[request_id] = entry
        self._requests.setdefault(entry, set()).add(request_id)

    def received(self, request_id: str) -> None:
        """A request ended with its answer: the owner knows of the claim."""
        entry = self._claims.pop(request_id, None)
        if entry is not None:
            self.acknowledge(entry)

    def acknowledge(self, entry: Entry) -> None:
        """The owner knows of a claim, or wants it kept without an answer."""
        if not entry.acknowledged:
            entry.acknowledged = True
            for other in self._requests.pop(entry, ()):
                self._claims.pop(other, None)

    def aborted(self, request_id: str) -> Entry | None:
        """A request was given up by its client; its claim, if no other request can answer it."""
        entry = self._claims.pop(request_id, None)
        if entry is None:
            return None
        waiting = self._requests[entry]
        waiting.discard(request_id)
        if waiting:
            return None
        del self._requests[entry]
        return entry
