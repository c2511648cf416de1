"""What is said of claims: facts as they are, reports as they are unless a drill changes them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from runtime_hooks.requests.metadata import identity_text, name_of
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runtime_hooks.enforce.ledger import Entry
    from runtime_hooks.settings.config import Drill
    from runtime_hooks.trace.journal import Journal
    from spec.claims.claim import ResidentClaim

__all__ = ["Voice", "blocks_of", "contents_of", "terms"]


class Voice:
    """Writes facts and reports of one moment; `now_ns` is set by whoever speaks next."""

    def __init__(self, journal: Journal, drill: Drill) -> None:
        self.now_ns = 0
        self._journal, self._drill = journal, drill

    def fact(self, kind: Kind, **fields: Any) -> None:
        """Write a fact."""
        self._journal.write(self.now_ns, kind, fields)

    def report(self, kind: Kind, **fields: Any) -> None:
        """Write a report, unless a drill keeps it back or has it name another claim."""
        if kind in self._drill.suppress:
            return
        other = self._drill.misattribute.get(kind)
        if other is not None:
            named = {"claim_id": other, "outcome_claim_id": other, "blocking_claim_ids": (other,)}
            fields.update((name, said) for name, said in named.items() if name in fields)
        self._journal.write(self.now_ns, kind, fields)

    def cached(
        self, entry: Entry, places: Sequence[tuple[int, int]], computed_by: str | None
    ) -> None:
        """A claim gained blocks, each with its position; say so, and where its predicate came to
        hold.
        """
        about = {"claim_id": entry.claim_id}
        for part in _once(places):
            self.fact(Kind.BLOCK_CACHED, **about, **blocks_of(part, computed_by))
            if entry.gain(computed_by):
                self.there(entry, computed_by)

    def there(self, entry: Entry, computed_by: str | None) -> None:
        """The predicate of a claim came to hold: say so, or that the tier brought it back, in the
        name of the request that needed a part of it.

        While it is being restored nobody says that: what is said next is how that came out.
        """
        if entry.restores:
            return
        if entry.brought and computed_by is None:
            about = {"claim_id": entry.claim_id, "request_id": entry.brought}
            self.report(Kind.CLAIM_RESTORE_REQUIRED, **about)
            self.report(Kind.CLAIM_RESTORED, **about, from_tier=True)
        else:
            self.report(Kind.CLAIM_MATERIALIZED, claim_id=entry.claim_id)
        entry.brought = None

    def gap(self) -> None:
        """Something could not be told."""
        self._journal.gap()


def blocks_of(places: Sequence[tuple[int, int]], computed_by: str | None) -> dict[str, Any]:
    """What is said of blocks that are cached, each with its position: the request that computed
    them, or that they were found.
    """
    said: dict[str, Any] = {
        "block_ids": tuple(block for _, block in places),
        "positions": tuple(at for at, _ in places),
    }
    return said | ({"found": True} if computed_by is None else {"request_id": name_of(computed_by)})


def _once(places: Sequence[tuple[int, int]]) -> Iterable[Sequence[tuple[int, int]]]:
    """The same in parts, each with every position once at most; all of them are in the first."""
    parts: list[dict[int, int]] = []
    for at, block in places:
        part = next((part for part in parts if at not in part), None)
        if part is None:
            parts.append(part := {})
        part[at] = block
    return (list(part.items()) for part in parts)


def contents_of(keys: Sequence[bytes]) -> tuple[str, ...]:
    """The contents of a claim's positions as events name them."""
    return tuple(hashlib.blake2b(key, digest_size=_CONTENT).hexdigest() for key in keys)


def terms(claim: ResidentClaim) -> dict[str, Any]:
    """What the events that introduce a claim say of it."""
    return {
        "claim_id": claim.claim_id,
        "cache_identity": identity_text(claim.cache_identity),
        "object_id": claim.object_id,
        "predicate": str(claim.materialization_predicate),
        "mode": str(claim.protection_mode),
        "owner_scope": claim.owner_scope,
        "duration": None if claim.duration is None else str(claim.duration),
        "priority": claim.priority,
        "footprint": claim.footprint_blocks,
    }


_CONTENT: Final = 12  # bytes of the name of a content
