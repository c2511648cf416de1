"""Registries and joins for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from monitor.check.events import EventMonitor
from monitor.input.dialects.kv_events import KvEventsDialect
from monitor.report.verdict import Report
from monitor.watch.join import Change, Join
from monitor.watch.prefixes import Tree
from monitor.watch.registry import Watching, load_registry

__all__ = ["Session", "registry", "write_registry"]


def registry(claims: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """A registry of claims, which was made before all events; a field of None is left out."""
    whole = [{"owner": "team", **claim} for claim in claims]
    about = {"schema": "resident-claims/registry/1", "model": "tiny", "block_size": 4}
    found = about | {"registered": "1970-01-01T00:00:00Z", "claims": whole} | fields
    return {name: value for name, value in found.items() if value is not None}


def write_registry(folder: Path, claims: list[dict[str, Any]], **fields: Any) -> Path:
    """The same in a file."""
    path = folder / "registry.json"
    path.write_text(json.dumps(registry(claims, **fields)))
    return path


class Session:
    """Reads lines of one engine with a registry, and judges what they come to."""

    def __init__(self, path: Path) -> None:
        self.watching: Watching = load_registry(path)
        self.joins: dict[str, Join] = {}
        self.changes: list[tuple[str, str, str]] = []
        self._dialect = KvEventsDialect("capture", self._join)
        self._monitor = EventMonitor(None, name="capture")
        self.records: list[Any] = []
        self._lines = 0

    def _join(self, stream: str) -> Join:
        tree = Tree(self.watching.claims, self.watching.block_size, self.watching.hashing)
        self.joins[stream] = Join(self.watching, tree, stream, self._note)
        return self.joins[stream]

    def _note(self, change: Change) -> None:
        standing = change.standing
        self.changes.append((standing.claim.claim_id, str(standing.state), standing.why))

    @property
    def join(self) -> Join:
        """The only one."""
        (found,) = self.joins.values()
        return found

    def take(self, text: bytes) -> None:
        """Read a line."""
        self._lines += 1
        self._pass(self._dialect.feed(json.loads(text), self._lines))

    def finish(self) -> Report:
        """The report at the end of the stream."""
        self._pass(self._dialect.flush())
        return self._monitor.finish()

    def _pass(self, records: Any) -> None:
        for record in records:
            self.records.append(record)
            self._monitor.take(record)
