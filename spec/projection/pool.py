"""The pool's own ledger: claims and what they state, blocks and who holds them, requests in hand.

Everything is worked out from its definition whenever it is asked for. Counts are in blocks; numbers
of events count from 1 in their stream.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, NamedTuple

from spec.alphabet import BLOCKS_GONE, Kind
from spec.errors import SpecError
from spec.events import Event
from spec.fields import IDENTITY
from spec.ledgers import CLAIM_FACTS, DECLARED
from spec.predicates import MaterializationPredicate, parse_predicate
from spec.projection.interpret import Value
from spec.states import TERMINAL, ClaimState

__all__ = [
    "LARGEST",
    "UNSTATED",
    "Claim",
    "Pool",
    "Request",
    "TooLarge",
    "after",
    "alike",
    "attributed",
    "bind",
    "fellows",
    "held_by",
    "in_hand",
    "lead",
    "meant",
    "named_blocks",
    "owners",
    "placed",
    "same_object",
    "tell",
]

UNSTATED: Final = 2**63
"""The threshold of a predicate that nobody stated: it never holds."""

LARGEST: Final = 4_096
"""Positions of one claim that are looked at one by one."""

_INTRODUCES: Final = frozenset({Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED})
_OWNS: Final = _INTRODUCES - {Kind.CLAIM_ACCEPTED}
_PLACES: Final = frozenset({Kind.BLOCK_CACHED, Kind.LOAD_FINISHED})
_WITHIN: Final = ("cache_identity", "token_map")

predicate_of = lru_cache(maxsize=256)(parse_predicate)


class TooLarge(SpecError):
    """More than is looked at one by one."""


@dataclass(eq=False)
class Claim:
    """One claim of the pool: what it states, and its registers.

    `met` is the line that first names it, 0 before. The first statement of everything holds;
    `owner` is what its registration or its commitment states, `footprint` the most of any. It is
    `known` once a registry holds it, an auditor's or the runtime's. `took` is the event by which
    responsibility for it last began. `end` is when its duration is over, `unclear` since which line
    nobody can see that; `elapsed` says that it is.
    """

    claim_id: str
    met: int = 0
    stated: dict[str, str] = field(default_factory=dict)
    predicate: MaterializationPredicate | None = None
    mode: str | None = None
    other_mode: str | None = None
    owner: str | None = None
    duration: str | None = None
    priority: int | None = None
    keys: tuple[str, ...] = ()
    footprint: int = 0
    known: bool = False
    introduced: bool = False
    accepted: bool = False
    unwatched: bool = False
    took: int = 0
    end: int | None = None
    unclear: tuple[int, bool] | None = None  # the line; whether only the steps are not told
    elapsed: bool = False
    state: ClaimState = ClaimState.SUBMITTED
    facts: dict[str, Value] = field(
        default_factory=lambda: {
            r.name: r.initial for ledger in (CLAIM_FACTS, DECLARED) for r in ledger.registers
        }
    )

    @property
    def start(self) -> int:
        return self.predicate.start if self.predicate is not None else 0

    @property
    def threshold(self) -> int:
        return self.predicate.threshold if self.predicate is not None else UNSTATED

    @property
    def extent(self) -> int:
        """How many positions are its own: those of its footprint as stated, or its predicate."""
        end = self.predicate.end if self.predicate is not None else 0
        return max(end, self.footprint, len(self.keys))

    @property
    def responsible(self) -> bool:
        return bool(self.facts["responsible"])

    @property
    def size(self) -> int:
        """Blocks that it takes: what it declared, while the runtime is responsible."""
        return int(self.facts["declared"]) if self.responsible else 0

    @property
    def alive(self) -> bool:
        """Whether it was met, and its end was not told."""
        return self.met > 0 and self.state not in TERMINAL


@dataclass
class Request:
    """One request: what it needs, and how its loads went. `since` is the event that it came by.

    `failed` are the claims of which a load failed for it, `lacks` says that the runtime answers for
    one of them; `unsure` that nobody knows what it needs.
    """

    needed: int = 0
    usable: int = 0
    since: int = 0
    in_hand: bool = True
    unsure: bool = False
    failed: set[str] = field(default_factory=set)
    lacks: bool = False


class Object(NamedTuple):
    """What a fact that names no claim is about."""

    object_id: str
    cache_identity: str | None
    token_map: str | None


class Placed(NamedTuple):
    """A position of a claim, or of an object, is held in a block; None for one nobody named."""

    owner: str | Object
    position: int
    block: int | None


@dataclass(frozen=True)
class Pool:
    """Claims and requests by their ids, and what is held where."""

    claims: dict[str, Claim]
    requests: dict[str, Request] = field(default_factory=dict)
    placed: frozenset[Placed] = frozenset()


# What claims state.


def tell(claim: Claim, event: Event) -> bool:
    """Take what an event that names a claim states of it; whether the event means its object."""
    if event.predicate is not None and claim.predicate is None:
        claim.predicate = predicate_of(event.predicate)
    if event.kind in _INTRODUCES:
        claim.introduced = True
        claim.mode = claim.mode or event.mode
        if event.mode != claim.mode:
            claim.other_mode = claim.other_mode or event.mode
        if event.kind in _OWNS:
            claim.owner = claim.owner or event.owner_scope
        claim.footprint = max(claim.footprint, event.footprint or 0)
        claim.duration = claim.duration or event.duration
        claim.priority = event.priority if claim.priority is None else claim.priority
        claim.accepted = claim.accepted or event.kind is Kind.CLAIM_ACCEPTED
    if event.kind is Kind.CLAIM_COMMITTED:
        claim.keys = claim.keys or event.content_keys
    binds = bind(claim, event)
    claim.known = claim.known or (event.kind in _OWNS and binds)
    return binds


def bind(claim: Claim, event: Event) -> bool:
    """Whether the event means the object that the claim was first bound to."""
    agrees = True
    for name in IDENTITY:
        value = getattr(event, name)
        if value is not None:
            value = str(predicate_of(value)) if name == "predicate" else value
            agrees &= claim.stated.setdefault(name, value) == value
    return agrees


def same_object(one: Claim, other: Claim) -> bool | None:
    """Whether two claims are on one object; None where nobody knows that they share nothing."""
    caches = [claim.stated.get("cache_identity") for claim in (one, other)]
    objects = [claim.stated.get("object_id") for claim in (one, other)]
    maps = [claim.stated.get("token_map") for claim in (one, other)]
    if None not in caches and caches[0] != caches[1]:
        return False
    stated = objects[0] is not None and objects[0] == objects[1] and caches[0] == caches[1]
    return True if stated and (None in maps or maps[0] == maps[1]) else None


def alike(one: Claim, here: int, other: Claim, there: int) -> bool | None:
    """Whether a position of one claim and one of another hold the same, by what was stated."""
    keys = [claim.keys[at : at + 1] for claim, at in ((one, here), (other, there))]
    if all(keys):
        return keys[0] == keys[1]
    return same_object(one, other) if here == there else False


def meant(pool: Pool, event: Event) -> list[Claim]:
    """The claims, known to a registry, on the object that an event names, as far as it says."""
    about = Object(event.object_id or "", event.cache_identity, event.token_map)
    return [claim for claim in pool.claims.values() if event.object_id and _means(about, claim)]


def _means(about: Object, claim: Claim) -> bool:
    if not claim.known or claim.unwatched or claim.stated.get("object_id") != about.object_id:
        return False
    pairs = [(getattr(about, name), claim.stated.get(name)) for name in _WITHIN]
    return all(said is None or stated is None or said == stated for said, stated in pairs)


# Blocks.


def held_by(pool: Pool, claim: Claim) -> set[tuple[int, int | None]]:
    """The positions of a claim that are held, each with a block: its own, and those of the same
    content, whoever they were cached for."""
    if claim.unwatched:
        return set()
    found: set[tuple[int, int | None]] = set()
    for owner, position, block in pool.placed:
        places = [position]
        if isinstance(owner, Object):
            places = places if _means(owner, claim) and position < claim.extent else []
        elif owner != claim.claim_id:
            places = fellows(pool.claims[owner], position, claim)
        found.update((place, block) for place in places)
    return found


def fellows(one: Claim, position: int, other: Claim) -> list[int]:
    """The positions of another claim that are known to hold what this position of one holds.

    An object may be longer than a claim on it: what is behind its extent is none of the claim's.
    """
    places = {position, *(at for at, key in enumerate(other.keys) if key in one.keys)}
    within = sorted(at for at in places if at < other.extent and other.known)
    return [at for at in within if alike(one, position, other, at)]


def named_blocks(pool: Pool, claim: Claim, position: int) -> set[int]:
    """The named blocks that hold a position of a claim."""
    return {b for at, b in held_by(pool, claim) if at == position and b is not None}


def owners(pool: Pool, blocks: Iterable[int]) -> list[Claim]:
    """The claims that hold a position in any of these blocks."""
    wanted = set(blocks)
    claims = pool.claims.values()
    return [c for c in claims if any(block in wanted for _, block in held_by(pool, c))]


def lead(pool: Pool, claim: Claim) -> int:
    """Positions held one after another from the start of the claim's predicate."""
    held, end = {position for position, _ in held_by(pool, claim)}, claim.start
    while end in held:
        end += 1
    return end - claim.start


def after(pool: Pool, event: Event) -> Pool:
    """The pool with the blocks that an event brings, or without those that it takes."""
    if event.kind in _PLACES:
        return replace(pool, placed=pool.placed | placed(pool, event))
    return replace(pool, placed=_left(pool, event)) if event.kind in BLOCKS_GONE else pool


def placed(pool: Pool, event: Event) -> frozenset[Placed]:
    """What an event brings: of the claim that it names, or of its object, or of its blocks.

    Raises:
        TooLarge: it counts more blocks than are looked at one by one.
    """
    if event.kind not in _PLACES:
        return frozenset()
    pairs: list[tuple[int, int | None]] = [(position, None) for position in event.positions]
    named = bool(event.block_ids and event.positions)
    if named:
        pairs = [*zip(event.positions, event.block_ids, strict=False)]
    run = 0 if named or event.held is None else event.held
    if run > LARGEST:
        raise TooLarge(f"{run} blocks are more than {LARGEST}", "judge it without the reference")
    about: list[str | Object] = []
    if event.claim_id is not None:
        claims, about = [pool.claims[event.claim_id]], [event.claim_id]
    elif event.object_id is not None:
        claims = meant(pool, event)
        about = [Object(event.object_id, event.cache_identity, event.token_map)]
    else:
        claims = owners(pool, event.block_ids) if event.kind is Kind.LOAD_FINISHED else []
        about = [claim.claim_id for claim in claims]
    found = {Placed(owner, position, block) for owner in about for position, block in pairs}
    runs = {(c.claim_id, at) for c in claims for at in range(c.start, c.start + run)}
    return frozenset(found | {Placed(owner, at, None) for owner, at in runs})


def _left(pool: Pool, event: Event) -> frozenset[Placed]:
    """What is still held: without the blocks that are gone, and without what they may have been.

    A block that nobody named is gone where the event states its position.
    """
    named = event.claim_id is not None
    about = [pool.claims[event.claim_id]] if event.claim_id is not None else meant(pool, event)
    if not (event.block_ids or named or event.object_id):
        return frozenset()
    gone = set(event.block_ids)
    places: set[tuple[str, int]] = set()
    for claim in about:
        held = held_by(pool, claim)
        if not event.block_ids:
            gone |= {block for _, block in held if block is not None}
            places |= {(claim.claim_id, position) for position, _ in held}
        elif event.positions:
            pairs = zip(event.positions, event.block_ids, strict=False)
            places |= {(claim.claim_id, at) for at, block in pairs if (at, block) not in held}
    return frozenset(
        each
        for each in pool.placed
        if each.block not in gone
        and not (each.block is None and any(_is_at(pool, each, *place) for place in places))
    )


def _is_at(pool: Pool, each: Placed, claim_id: str, position: int) -> bool:
    single = replace(pool, placed=frozenset({each}))
    return any(at == position for at, _ in held_by(single, pool.claims[claim_id]))


# Requests.


def in_hand(pool: Pool) -> dict[str, Request]:
    """The requests that arrived and have not ended."""
    return {name: request for name, request in pool.requests.items() if request.in_hand}


def attributed(pool: Pool, event: Event) -> list[str]:
    """The requests to which an event may belong: one, where that is known; none, where it is none.

    Blocks that nobody says who cached were cached by the only request in hand.
    """
    if event.request_id is not None or event.kind is not Kind.BLOCK_CACHED or event.found:
        return [] if event.request_id is None else [event.request_id]
    return list(in_hand(pool))
