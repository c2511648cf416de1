"""Represents a claim in the registry: its contents, the blocks that hold them, its lifecycle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from runtime_hooks.trace.names import Place
from spec.claims.lifecycle import ClaimLifecycle
from spec.contract.modes import MODES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from spec.claims.claim import ResidentClaim

__all__ = ["WATCHED", "Content", "Entry", "owners_of"]

WATCHED: Final = frozenset(mode for mode, spec in MODES.items() if spec.constants["watched"])
"""The modes without acceptance. Their claims are owed reports from their registration on, and never
keep a request out.
"""

_HISTORY: Final = 8  # steps of its lifecycle that an entry remembers


@dataclass(slots=True, eq=False)
class Content:
    """The content of the blocks at one position of some claims.

    `at` is the position and `group` the group of caches. They are the same in all these claims,
    because a key also names everything before it. `blocks` are the copies, the oldest first. `pin`
    is the copy that is excluded from eviction, on behalf of `wanted` claims.
    """

    at: int
    group: int = 0
    owners: dict[Entry, None] = field(default_factory=dict)
    blocks: dict[int, None] = field(default_factory=dict)
    wanted: int = 0
    pin: int | None = None


@dataclass(slots=True, eq=False)
class Entry:
    """A claim that the registry holds.

    `keys` has one key for each position of the footprint, `blocks` one for each block that a hit
    on them needs in any group of caches, and `contents` the content of each of these. `held` are
    the positions that have all their blocks. `holds` says whether the materialization predicate
    was true when it was last evaluated, `ever_held` whether it ever was, and `made_by` names the
    request that made it true by computing every missing block itself.
    `stored` are those of `blocks` that have a copy in the offload tier; `copied` says that all do.
    `restores` counts the requests for which the claim is being restored. `brought` names a request
    whose load brought part of the claim back, as long as that was not reported.
    `lifecycle` is the claim's state by its own reports, `accepted_at` the reading of the clock of
    its duration, in ns or steps, when it was accepted, and `since_ns` the time then.
    `follows` is the id of the claim whose renewal this one is. `acknowledged` says that its
    owner knows of its acceptance, or wants it kept without an answer. `terms` and `named` are the
    fields and the keys of the event that registered it, for restatements.
    """

    claim: ResidentClaim
    keys: tuple[bytes, ...]
    blocks: tuple[bytes, ...]
    holds: bool = False
    ever_held: bool = False
    made_by: str | None = None
    copied: bool = False
    contents: tuple[Content, ...] = ()
    held: set[int] = field(default_factory=set)
    stored: set[bytes] = field(default_factory=set)
    restores: int = 0
    brought: str | None = None
    accepted_at: int = 0
    since_ns: int = 0
    follows: str = ""
    acknowledged: bool = False
    terms: Mapping[str, Any] = field(default_factory=dict)
    named: tuple[str, ...] = ()
    lifecycle: ClaimLifecycle = field(init=False)

    def __post_init__(self) -> None:
        self.lifecycle = ClaimLifecycle(self.claim, history=_HISTORY)

    @property
    def claim_id(self) -> str:
        """The id of the claim."""
        return self.claim.claim_id

    @property
    def watched(self) -> bool:
        """Whether the claim's mode owes reports only: it never keeps a request out."""
        return self.claim.protection_mode in WATCHED

    @property
    def never_there(self) -> bool:
        """Whether the claim was never there: neither on the device nor as a copy in the tier."""
        return not (self.ever_held or self.copied)

    @property
    def footprint(self) -> int:
        """The positions that the claim declares: the blocks of a full group."""
        return self.claim.footprint_blocks

    @property
    def cached(self) -> int:
        """How many of the claim's blocks are cached."""
        return sum(bool(content.blocks) for content in self.contents)

    @property
    def places(self) -> Iterator[Place]:
        """Each block that holds a content of the claim."""
        return (Place(c.at, block, c.group) for c in self.contents for block in c.blocks)

    @property
    def reach(self) -> int:
        """How many of the claim's blocks a look-up can reach.

        A look-up stops at the first missing block before the predicate's range.
        """
        before = range(self.claim.materialization_predicate.start)
        return next((at for at in before if at not in self.held), self.footprint)

    def needs(self, position: int) -> bool:
        """Whether the predicate is true now and would be false without this position."""
        predicate = self.claim.materialization_predicate
        return self.holds and predicate.start <= position < predicate.end

    def evaluate(self) -> tuple[bool, bool]:
        """Evaluate the predicate; returns whether it was true before, and whether it is now."""
        was, self.holds = self.holds, self.claim.materialization_predicate.holds(self.held)
        self.ever_held = self.ever_held or self.holds
        return was, self.holds

    def gain(self, computed_by: str | None) -> bool:
        """Evaluate the predicate after blocks were cached; returns whether it became true.

        Args:
            computed_by: the request that computed the blocks; None where they were found or loaded.
        """
        was, now = self.evaluate()
        if now and not was:
            self.made_by = computed_by
        elif computed_by != self.made_by:
            self.made_by = None
        return now and not was


def owners_of(entries: Iterable[Entry]) -> tuple[tuple[str, int], ...]:
    """For each claim its owner and the blocks that it takes."""
    return tuple((entry.claim.owner_scope, len(entry.blocks)) for entry in entries)
