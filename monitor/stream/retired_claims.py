"""Keeps retired claims in bounded memory: counted by outcome, and recognised by digests.

The last ones keep a record of bounded size each, from which the claim is recalled when it is named
again. Of those before it is only known that they may have been there.
"""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, ClassVar, Final

from monitor.evaluate.nothing import NOTHING
from monitor.evaluate.python_terms import CLAIM_REGISTERS
from monitor.pool.bloom_filter import DIGEST, digest
from monitor.pool.objects import noted_on
from monitor.pool.terms import bind, identity_of
from monitor.stream.retired_record import Alike, LostIds, Record
from monitor.stream.retired_summary import again, likeness
from spec.events.fields import IDENTITY
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping

    from monitor.evaluate.claim import ClaimRun
    from monitor.pool.seen import Seen

__all__ = ["REMEMBERED", "RetiredClaims"]

REMEMBERED: Final = 65_536
"""Claims of which a record is kept."""

_LONGEST = 256  # characters of each text in a record
_MOST_LIKES: Final = 1_000
_MOST_KNOWN: Final = 10_000
_UNSTATED: Final = bytes(DIGEST)
_PLACE: Final = IDENTITY.index("object_id") * DIGEST
_CLEAN: Final = (Verdict.SATISFIED, Verdict.UNEXERCISED)
_OWN: Final = ("footprint", "declared", "lead", "ended_by")
_FOOTPRINT: Final = CLAIM_REGISTERS.index("footprint")
_DECLARED: Final = CLAIM_REGISTERS.index("declared")
_LEAD: Final = CLAIM_REGISTERS.index("lead")
_ENDED_BY: Final = CLAIM_REGISTERS.index("ended_by")
_MISNAMED: Final = "when it was no longer tracked, its object was reported under an unregistered id"
_TOO_VARIED: Final = "claims ended in more different states than are kept"


class RetiredClaims:
    """The claims of one stream that were forgotten.

    `misses` is how often anything may have happened in the stream that was not observed; `keyed`
    says that any of the claims stated the contents of its positions, which are not remembered.
    `given_up` counts those that have no record any more.

    Args:
        seen: knows those that have no record any more, and the objects of any.
        most: claims that have a record.
    """

    DERIVED: ClassVar[Mapping[str, object]] = {"_known": NOTHING}
    """What no snapshot holds, with what it is without it."""

    def __init__(self, seen: Seen, most: int) -> None:
        self._seen, self.most = seen, most
        self._likes: dict[tuple[str, Hashable], Alike] = {}
        self._ways = 0
        self._known: dict[Hashable, Alike] = NOTHING  # by products, and what no product says
        self.misses = self.given_up = 0
        self.keyed = False
        self._records: dict[str, Record] = {}  # the oldest first
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
        if (product := claim.product) is None:
            return self._way(claim, clock)
        unusual = claim.unusual
        stands = product, clock, claim.accepted, claim.registered, claim.elapsed, unusual.unwatched
        said = unusual.strayed, unusual.early, unusual.disputed
        key = stands, said, claim.declared_mode, unusual.other_mode
        if (found := self._known.get(key)) is None:
            found = self._way(claim, clock)
            if claim.product is product and len(self._known) < _MOST_KNOWN:
                self._known = self._known or {}
                self._known[key] = found
        return found

    def _way(self, claim: ClaimRun, clock: str) -> Alike:
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
        known = claim.facts
        lead = int(known[_LEAD]) if claim.constants.watched else 0  # else that is not followed
        facts = int(known[_FOOTPRINT]), int(known[_DECLARED]), lead, int(known[_ENDED_BY])
        misses = -1 if claim.unusual.missed else self.misses
        rest = (owner, duration, claim.predicate, claim.priority, facts, misses)
        self._records[claim.claim_id] = Record(alike, binding, *rest)
        if _object_of(binding) in self._on:
            self._seen.objects.add(_object_of(binding))
        self._on[_object_of(binding)] = claim.claim_id
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
                self._seen.objects.add(_object_of(self._leave(claim_id).binding))

    def drop(self, claim_id: str, binding: bytes) -> None:
        """Remember no more of a claim than that it, and its object, may have been there."""
        self.given_up += 1
        self._seen.ids.add(digest("claim_id", claim_id))
        self._seen.objects.add(_object_of(binding))

    def leave(self, claim: ClaimRun) -> None:
        """Remember no more of a claim than that there may have been one on its object."""
        self._seen.objects.add(_object_of(_binding_of(claim)))

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
        bind(claim, {name: None if known == _UNSTATED else known for name, known in pairs})
        claim.past, claim.missed = alike.run, record.misses != self.misses
        if _misnaming(_object_of(record.binding)) in self._seen:
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
        likes, self._likes, self._known = self._likes, {}, NOTHING
        for (clock, _), alike in likes.items():
            known = self._likes.setdefault((clock, likeness(alike.run)), alike)
            if known is not alike:
                known.count += alike.count
                alike.into, alike.run = known, known.run

    def _leave(self, claim_id: str) -> Record:
        """Take a record out."""
        record = self._records.pop(claim_id)
        if self._on.get(_object_of(record.binding)) == claim_id:
            del self._on[_object_of(record.binding)]
        return record


def _misnaming(object_digest: bytes) -> bytes:
    return digest("misnamed", object_digest.hex())


def _troubled(run: ClaimRun) -> bool:
    return any(found.verdict not in _CLEAN for _, found in run.findings())


def _object_of(binding: bytes) -> bytes:
    """The digest of the object, of the digests of a claim's identity."""
    return binding[_PLACE : _PLACE + DIGEST]


def _binding_of(claim: ClaimRun) -> bytes:
    """A digest of each field of a claim's identity, one after another."""
    found = list[bytes]()
    for name, known in zip(IDENTITY, identity_of(claim), strict=True):
        if name == "object_id" and (noted := noted_on(claim)) is not None:
            found.append(noted)
        elif known:
            found.append(known if isinstance(known, bytes) else digest(name, known))
        else:
            found.append(_UNSTATED)
    return b"".join(found)
