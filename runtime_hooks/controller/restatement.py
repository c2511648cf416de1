"""States again what stands, for readers of the stream that missed how it came about.

A restatement is a mark and then ordinary events with `restated`. A reader that missed nothing skips
them; one that came late, or that lines are missing for, begins anew with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runtime_hooks.trace.names import cached_blocks, name_of, without_copies
from spec.claims.states import ClaimState
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from runtime_hooks.claims.entry import Entry
    from runtime_hooks.claims.registry import Registry
    from runtime_hooks.controller.arbitration import Arbitration
    from runtime_hooks.settings.config import Settings
    from runtime_hooks.trace.emitter import Emitter
    from runtime_hooks.trace.journal import Journal
    from runtime_hooks.tracking.offloaded import OffloadTracker
    from runtime_hooks.tracking.tracker import BlockTracker

__all__ = ["Restatement"]

_NS: Final = 1_000_000_000
_APART_NS: Final = _NS
"""The least time between two restatements: what is lost meanwhile is mended by one."""

_REPORTS: Final = {
    ClaimState.MATERIALIZED: Kind.CLAIM_MATERIALIZED,
    ClaimState.OFFLOADED: Kind.CLAIM_OFFLOADED,
    ClaimState.HARMED: Kind.CLAIM_HARMED,
}
"""The report that leads to a state."""


class Restatement:
    """When the claims, blocks and requests of one engine are stated again, and how.

    They are after lines of the stream were lost, and at an interval. After a hook failed there are
    none: it may have left the books of the plugin half written, and a judge would begin with them.
    """

    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        emitter: Emitter,
        registry: Registry,
        tracker: BlockTracker,
        offloaded: OffloadTracker,
        arbitration: Arbitration,
    ) -> None:
        self._every_ns = int(settings.restate_seconds * _NS)
        self._journal, self._emitter, self._registry = journal, emitter, registry
        self._tracker, self._offloaded, self._arbitration = tracker, offloaded, arbitration
        self._dropped = 0
        self._last_ns: int | None = None

    def write_if_due(self) -> None:
        """State everything again if it is time to, between two steps of the engine."""
        if self._journal.gaps:
            return
        now, last = self._emitter.now_ns, self._last_ns
        if last is None:  # the stream begins, and says everything
            self._last_ns = last = now
        lost = self._journal.dropped != self._dropped and self._journal.drained
        if (lost and now - last >= _APART_NS) or (self._every_ns and now - last >= self._every_ns):
            self._last_ns = now
            self.write()

    def write(self) -> None:
        """State everything again, now."""
        self._dropped = self._journal.dropped
        with self._emitter.restating():
            for entry in self._registry.live.values():
                self._introduce(entry)
            for entry, places in self._tracker.standing():
                for part in without_copies(places):
                    fields = cached_blocks(part, None)
                    self._emitter.fact(Kind.BLOCK_CACHED, claim_id=entry.claim_id, **fields)
                if entry.copied:
                    self._emitter.fact(Kind.HOST_COPY_FOUND, claim_id=entry.claim_id)
            self._arbitration.restate()
            for entry in self._registry.live.values():
                self._report(entry)
            for request_id, claim_id in self._offloaded.awaited():
                named = name_of(request_id)
                about = {"claim_id": claim_id, "request_id": named}
                self._emitter.report(Kind.CLAIM_RESTORE_REQUIRED, **about)

    def _introduce(self, entry: Entry) -> None:
        """State a claim, with what is left of its duration."""
        fields = {**entry.terms, "duration": self._registry.left_exactly(entry)}
        self._emitter.fact(Kind.CLAIM_REGISTERED, **fields, keys=entry.named)
        if not entry.watched:
            self._emitter.fact(Kind.CLAIM_COMMITTED, **fields)
            self._emitter.report(Kind.CLAIM_ACCEPTED, **fields)

    def _report(self, entry: Entry) -> None:
        """Report again where a claim stands, if that is more than accepted.

        A claim that is being restored has a copy, or was harmed: which requests wait for it is
        reported after that.
        """
        state = entry.lifecycle.state
        if state is ClaimState.RESTORING:
            state = ClaimState.OFFLOADED if entry.copied else ClaimState.HARMED
        if entry.watched:
            state = ClaimState.MATERIALIZED if entry.holds else ClaimState.ACCEPTED
        if (kind := _REPORTS.get(state)) is not None:
            self._emitter.report(kind, claim_id=entry.claim_id)
