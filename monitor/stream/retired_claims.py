"""Keeps retired claims in bounded memory: counted by outcome, and recognised by digests.

The last ones keep a record of bounded size each, from which the claim is recalled when it is named
again. Of those before it is only known that they may have been there.
"""

from __future__ import annotations

from dataclasses import dataclass
from sys import intern
from typing import TYPE_CHECKING, Final, NamedTuple

from monitor.pool.bloom_filter import DIGEST, digest
from monitor.stream.retired_summary import again, likeness
from spec.events.fields import IDENTITY
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from monitor.evaluate.claim import ClaimRun
    from monitor.pool.seen import Recent, Seen
    from spec.claims.predicates import MaterializationPredicate

__all__ = ["REMEMBERED", "Alike", "LostIds", "RetiredClaims"]

REMEMBERED: Final = 65_536
"""Claims of which a record is kept."""

_LONGEST: Final = 256  # characters of each text in a record
_MOST_LIKES: Final = 1_000
_UNSTATED: Final = bytes(DIGEST)
_PLACE: Final = IDENTITY.index("object_id") * DIGEST
_OBJECT: Final = slice(_PLACE, _PLACE + DIGEST)
_CLEAN: Final = (Verdict.SATISFIED, Verdict.UNEXERCISED)
_OWN: Final = ("footprint", "declared", "lead", "ended_by")
_MISNAMED: Final = "when it was no longer tracked, its object was reported under an unregistered id"
_TOO_VARIED: Final = "claims ended in more different states than are kept"


@dataclass(slots=True, eq=False)
class Alike:
    """Claims of which all is alike that may still matter: one like them, and how many there are.

    `troubled` says that an obligation was violated, or could not be judged; `altered` that less
    could be concluded after they were forgotten. `into` is set once others have turned out to be
    like them, too.
    """

    run: ClaimRun
    troubled: bool
    altered: bool = False
    count: int = 0
    into: Alike | None = None


class _Record(NamedTuple):
    """What is a forgotten claim's own; `binding` has a digest for each field of its identity."""

    alike: Alike
    binding: bytes
    owner_scope: str | None
    duration: str | None
    predicate: MaterializationPredicate | None
    priority: int | None
    facts: tuple[int, ...]  # the registers `_OWN`
    misses: int  # of the stream when it was forgotten; below 0 if it had missed any before


class LostIds(NamedTuple):
    """The ids of claims that were forgotten, and of which there is no record any more.

    `recorded` are the ids of which there is one; `ids` knows the others, or the last of them.
    """

    recorded: frozenset[str]
    ids: Recent

    def may_have(self, claim_id: str) -> bool:
        """Whether this may be one of them; an id that is not remembered at all may be one, too."""
        if claim_id in self.recorded:
            return False
        return self.ids.forgotten > 0 or self.ids.has("claim_id", claim_id)


class RetiredClaims:
    """The claims of one stream that were forgotten.

    `misses` is how often anything may have happened in the stream that was not observed; `keyed`
    says that any of the claims stated the contents of its positions, which are not remembered.
    `given_up` counts those that have no record any more.

    Args:
        seen: knows those that have no record any more, and the objects of any.
        most: claims that have a record.
    """

    def __init__(self, seen: Seen, most: int) -> None:
        self._seen, self.most = seen, most
        self._likes: dict[tuple[str, Hashable], Alike] = {}
        self._ways = 0
        self.misses = self.given_up = 0
        self.keyed = False
        self._records: dict[str, _Record] = {}  # the oldest first
        self._on: dict[bytes, str] = {}  # the last of these on each object

    def __iter__(self) -> Iterator[Alike]:
        return iter(self._likes.values())

    def has(self, claim_id: str) -> bool:
        """Whether there is a record of a claim of this id."""
        return claim_id in self._records

    def mode(self, claim_id: str) -> str | None:
        """The mode that a claim stated of which there is a record."""
        return self._records[claim_id].alike.run.declared_mode

    def lost(self, claim_id: str) -> bool:
        """Whether a claim of this id may have been forgotten, and there is no record of it."""
        return claim_id not in self._records and self._seen.ids.has("claim_id", claim_id)

    @property
    def forgotten(self) -> int:
        """How many ids of claims are not even known to have been there any more."""
        return self._seen.ids.forgotten

    @property
    def lost_ids(self) -> LostIds | None:
        """The ids of claims of which there is no record any more; None where there is none."""
        ids = self._seen.ids
        return None if ids.is_empty else LostIds(frozenset(self._records), ids)

    def may_be_lost(self, claim_id: str) -> bool:
        """The same as `lost`, where an id that is not remembered at all may be one, too."""
        return self.lost(claim_id) or (self.forgotten > 0 and not self.has(claim_id))

    def way(self, claim: ClaimRun, clock: str) -> Alike:
        """The claims like this one, which is over.

        Args:
            clock: why it is unknown whether its duration is over; empty where that is known.
        """
        key = (clock, likeness(claim))
        if key not in self._likes and len(self._likes) >= _MOST_LIKES:
            claim.distrust(None, _TOO_VARIED)
            key = (clock, likeness(claim))
        if key not in self._likes:
            self._ways += 1
            run = again(claim, f"claims that ended in state {self._ways}")
            self._likes[key] = Alike(run, _troubled(run))
        return self._likes[key]

    def add(self, claim: ClaimRun, alike: Alike) -> None:
        """Count a claim as one of those alike, and keep a record of it."""
        alike.count += 1
        binding = _binding_of(claim)
        texts = (claim.claim_id, claim.owner_scope or "", claim.duration or "")
        if max(map(len, texts)) > _LONGEST:
            self.drop(claim.claim_id, binding)
            return
        owner, duration = (intern(text) or None for text in texts[1:])
        lead = claim.fact("lead") if claim.constants.watched else 0  # else that is not followed
        facts = (claim.fact("footprint"), claim.fact("declared"), lead, claim.fact("ended_by"))
        misses = -1 if claim.missed else self.misses
        rest = (owner, duration, claim.predicate, claim.priority, facts, misses)
        self._records[claim.claim_id] = _Record(alike, binding, *rest)
        if binding[_OBJECT] in self._on:
            self._seen.objects.add(binding[_OBJECT])
        self._on[binding[_OBJECT]] = claim.claim_id
        while len(self._records) > self.most:
            oldest = next(iter(self._records))
            self.drop(oldest, self._leave(oldest).binding)

    def forsake(self, judged: Callable[[ClaimRun], bool]) -> None:
        """Remember no more of claims that are judged elsewhere than `leave` does.

        Args:
            judged: whether claims like this one are judged here.
        """
        for claim_id, record in [*self._records.items()]:
            if not judged(record.alike.run):
                self._seen.objects.add(self._leave(claim_id).binding[_OBJECT])

    def drop(self, claim_id: str, binding: bytes) -> None:
        """Remember no more of a claim than that it, and its object, may have been there."""
        self.given_up += 1
        self._seen.ids.add(digest("claim_id", claim_id))
        self._seen.objects.add(binding[_OBJECT])

    def leave(self, claim: ClaimRun) -> None:
        """Remember no more of a claim than that there may have been one on its object."""
        self._seen.objects.add(_binding_of(claim)[_OBJECT])

    def recall(self, claim_id: str) -> ClaimRun | None:
        """A claim of which there is a record, as far as it goes; it is forgotten no more."""
        if claim_id not in self._records:
            return None
        record = self._leave(claim_id)
        alike = record.alike
        while alike.into is not None:
            alike = alike.into
        alike.count -= 1
        claim = again(alike.run, claim_id)
        claim.owner_scope, claim.duration = record.owner_scope, record.duration
        claim.priority = record.priority
        if record.predicate is not None:
            claim.fix_predicate(record.predicate)
        claim.know(**dict(zip(_OWN, record.facts, strict=True)))
        each = [record.binding[n * DIGEST : (n + 1) * DIGEST] for n in range(len(IDENTITY))]
        pairs = zip(IDENTITY, each, strict=True)
        claim.binding = {name: known for name, known in pairs if known != _UNSTATED}
        claim.past, claim.missed = alike.run, record.misses != self.misses
        if _misnaming(record.binding[_OBJECT]) in self._seen:
            claim.distrust(None, _MISNAMED)
        return claim

    def misname(self, object_id: str) -> None:
        """A report under a name that no registry holds is about the claims on this object."""
        self._seen.add(_misnaming(digest("object_id", object_id)))

    def records(self) -> Iterator[tuple[str, ClaimRun]]:
        """The ids of which there is a record, each with a claim like it."""
        return ((name, record.alike.run) for name, record in self._records.items())

    def last_on(self, object_id: str) -> str | None:
        """The id of the last claim on this object of which there is a record."""
        return self._on.get(digest("object_id", object_id))

    def others_on(self, object_id: str | None) -> bool:
        """Whether there may be any on this object but the last."""
        objects = self._seen.objects
        return object_id is not None and (
            bool(objects.forgotten) or objects.has("object_id", object_id)
        )

    def change(self, alter: Callable[[ClaimRun], bool]) -> None:
        """Less can be concluded of claims, which may become alike; `alter` says whether of one."""
        altered = [alike for alike in self if alter(alike.run)]
        if not altered:
            return
        for alike in altered:
            alike.troubled = alike.altered = True
        likes, self._likes = self._likes, {}
        for (clock, _), alike in likes.items():
            known = self._likes.setdefault((clock, likeness(alike.run)), alike)
            if known is not alike:
                known.count += alike.count
                alike.into, alike.run = known, known.run

    def _leave(self, claim_id: str) -> _Record:
        """Take a record out."""
        record = self._records.pop(claim_id)
        if self._on.get(record.binding[_OBJECT]) == claim_id:
            del self._on[record.binding[_OBJECT]]
        return record


def _misnaming(object_digest: bytes) -> bytes:
    return digest("misnamed", object_digest.hex())


def _troubled(run: ClaimRun) -> bool:
    return any(found.verdict not in _CLEAN for _, found in run.findings())


def _binding_of(claim: ClaimRun) -> bytes:
    """A digest of each field of a claim's identity, one after another."""
    stated = ((name, claim.binding.get(name)) for name in IDENTITY)
    return b"".join(
        known if isinstance(known, bytes) else digest(name, known) if known else _UNSTATED
        for name, known in stated
    )
