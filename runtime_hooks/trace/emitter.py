"""Emits facts as they are, and reports as they are unless fault injection changes them."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from spec.events.canonical import Mark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runtime_hooks.settings.config import Drill
    from runtime_hooks.trace.journal import Journal
    from spec.events.alphabet import Kind

__all__ = ["Emitter"]


class Emitter:
    """Writes the events of one stream.

    `now_ns` is the time of every event until it is set anew: at each call of a hook, and at the
    outcome of a failed restore.
    `reports` counts the reports by kind, also those that a drill suppresses, and
    `restore_refusals` those refusals among them for which a claim was not restored.
    """

    def __init__(self, journal: Journal, drill: Drill) -> None:
        self.now_ns = 0
        self.reports: Counter[Kind] = Counter()
        self.restore_refusals = 0
        self._journal, self._drill = journal, drill
        self._restates = False

    @contextmanager
    def restating(self) -> Iterator[None]:
        """Within the block, what is written states what stands, and nothing new."""
        self._journal.write(self.now_ns, Mark.STREAM_RESTATED, {})
        self._restates = True
        try:
            yield
        finally:
            self._restates = False

    def fact(self, kind: Kind, **fields: Any) -> None:
        """Write a fact."""
        self._write(kind, fields)

    def report(self, kind: Kind, **fields: Any) -> None:
        """Write a report, unless the drill suppresses it or has it name another claim."""
        if not self._restates:
            self.reports[kind] += 1
            self.restore_refusals += bool(fields.get("restore"))
        if kind in self._drill.suppress:
            return
        other = self._drill.misattribute.get(kind)
        if other is not None:
            named = {"claim_id": other, "outcome_claim_id": other, "blocking_claim_ids": (other,)}
            fields.update((name, value) for name, value in named.items() if name in fields)
        self._write(kind, fields)

    def _write(self, kind: Kind, fields: dict[str, Any]) -> None:
        if self._restates:
            fields["restated"] = True
        self._journal.write(self.now_ns, kind, fields)

    def gap(self) -> None:
        """Leave a gap in the sequence numbers: something happened that was not observed."""
        self._journal.gap()
