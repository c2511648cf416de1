"""Defines the state of a pool: claims and their terms, blocks and owners, unfinished requests.

Everything is worked out from its definition whenever it is asked for. Counts are in blocks; numbers
of events count from 1 in their stream.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

from spec.claims.claim import Mode
from spec.claims.predicates import MaterializationPredicate, parse_predicate
from spec.claims.states import TERMINAL, ClaimState
from spec.contract.interpret import Value
from spec.contract.ledgers import CLAIM_FACTS, DECLARED
from spec.contract.modes import MODES
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.events.fields import IDENTITY
from spec.language.errors import SpecError

__all__ = [
    "LARGEST",
    "UNSTATED",
    "Claim",
    "Object",
    "Placed",
    "Pool",
    "Request",
    "TooLarge",
    "about_of",
    "alike",
    "attributed",
    "bind",
    "held_by",
    "in_hand",
    "is_over",
    "is_to_watch",
    "is_tracked",
    "lead",
    "means",
    "meant",
    "object_of",
    "owners",
    "same_object",
    "tell",
]

UNSTATED: Final = 2**63
"""The threshold of a predicate that is not stated: it never holds."""

LARGEST: Final = 4_096
"""Positions of one claim that are looked at one by one."""

_INTRODUCES: Final = frozenset({Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED})
_OWNS: Final = _INTRODUCES - {Kind.CLAIM_ACCEPTED}
_WITHIN: Final = ("cache_identity", "token_map")
_WATCHED: Final = frozenset(mode for mode, spec in MODES.items() if spec.constants["watched"])

predicate_of = cache(parse_predicate)


class TooLarge(SpecError):
    """More than is looked at one by one."""


@dataclass(eq=False)
class Claim:
    """One claim of the pool: what it states, and its registers.

    `met` is the line that first names it, 0 before. The first statement of everything holds;
    `owner` is what its registration or its commitment states, `footprint` the most of any. It is
    `known` once a registry holds it, an auditor's or the runtime's. `took` is the event by which
    responsibility for it last began. `least` is the earliest time at which its duration can be
    over, `end` when it is, `unclear` since which line that is unknown; `elapsed` says that it is,
    `told` that this was stated of this commitment or of one before. It `strayed` once an event took
    blocks from behind its end, and none of its own; it was `missed` if anything may have happened
    since it ended that was not observed. `keys` are the contents of its first positions, which it
    `tells` itself, or others on its object do (`spec.projection.contents`). It is `behind` claims
    that were not tracked when it came to its content, and held other blocks of that. Its end was
    `early` if its entry ended before its duration was over. It is `disputed` if two priorities of
    it were stated. `computed` are the positions that were computed since it was last away,
    `waiting` the requests for which a restore of it is required. `owed` are, by request and kind of
    report, what its routes and their reuse came to and are not reported yet, in the order in which
    it happened. `unsaid` are the blocks that it lost and no report named, None for a block whose id
    is unknown.
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
    disputed: bool = False
    keys: tuple[str, ...] = ()
    tells: bool = False
    behind: frozenset[str] = frozenset()
    footprint: int = 0
    known: bool = False
    introduced: bool = False
    accepted: bool = False
    unwatched: bool = False
    strayed: bool = False
    missed: bool = False
    early: bool = False
    computed: frozenset[int] = frozenset()
    waiting: frozenset[str] = frozenset()
    owed: dict[tuple[str | None, Kind], list[Value]] = field(default_factory=dict)
    unsaid: frozenset[int | None] = frozenset()
    took: int = 0
    least: int | None = None
    end: int | None = None
    unclear: tuple[int, bool] | None = None  # the line; whether only the steps are not stated
    elapsed: bool = False
    told: bool = False
    state: ClaimState = ClaimState.SUBMITTED
    facts: dict[str, Value] = field(
        default_factory=lambda: {
            r.name: r.initial for ledger in (CLAIM_FACTS, DECLARED) for r in ledger.registers
        }
    )

    @property
    def start(self) -> int:
        """The first logical position that the predicate needs."""
        return self.predicate.start if self.predicate is not None else 0

    @property
    def threshold(self) -> int:
        """The number of blocks that the predicate needs."""
        return self.predicate.threshold if self.predicate is not None else UNSTATED

    @property
    def extent(self) -> int:
        """How many positions are its own: those of its footprint as stated, or its predicate."""
        end = self.predicate.end if self.predicate is not None else 0
        return max(end, self.footprint, len(self.keys))

    @property
    def responsible(self) -> bool:
        """Whether the runtime is responsible for the claim."""
        return bool(self.facts["responsible"])

    @property
    def live(self) -> bool:
        """Whether reports about it are owed in a mode that watches what is registered
        (`spec.contract.ledgers.live`).
        """
        pending = self.facts["registered"] and not self.facts["committed"]
        return self.responsible or bool(pending)

    @property
    def watched(self) -> bool:
        """Whether reports about it are owed, and its entry has not ended."""
        return self.live and not self.unwatched

    @property
    def size(self) -> int:
        """Blocks that it takes: what it declared, while the runtime is responsible."""
        return int(self.facts["declared"]) if self.responsible else 0

    @property
    def torn(self) -> bool:
        """Whether it goes by two modes: it asked for one, and was accepted in the other."""
        return {self.mode, self.other_mode} <= set(Mode)

    def may_go_by(self, mode: Mode) -> bool:
        """Whether it asked for the mode, or for none that there is, or was accepted in it."""
        return mode in {self.mode, self.other_mode} or self.mode not in set(Mode)

    def goes_by(self, mode: Mode) -> Mode:
        """The mode that it asks for, or this one, where it asks for none that there is."""
        return Mode(self.mode) if self.mode in set(Mode) else mode

    @property
    def alive(self) -> bool:
        """Whether it was met, and its end was not reported, or the runtime is responsible still."""
        return self.met > 0 and (self.state not in TERMINAL or self.responsible)


@dataclass
class Request:
    """One request: what it needs, and how its loads went. `since` is the event that it came by.

    It is `in_hand` from its arrival until it has `ended`. `failed` are the claims of which a load
    failed for it; `unsure` says that its needs are unknown.
    """

    needed: int = 0
    usable: int = 0
    since: int = 0
    in_hand: bool = True
    ended: bool = False
    unsure: bool = False
    failed: set[str] = field(default_factory=set)


class Object(NamedTuple):
    """What a fact that names no claim is about."""

    object_id: str | None
    cache_identity: str | None
    token_map: str | None


class Placed(NamedTuple):
    """A position of a claim is held in a block; None for a block without a known id.

    What is stated for an object is held for the object, too, for the sake of claims to come.
    """

    owner: str | Object
    position: int
    block: int | None


@dataclass(frozen=True)
class Pool:
    """Claims and requests by their ids, and what is held where.

    `watched` says that news is owed, by the mode that judges, of every claim that is registered.
    """

    claims: dict[str, Claim]
    requests: MutableMapping[str, Request] = field(default_factory=dict)
    placed: frozenset[Placed] = frozenset()
    watched: bool = False

    def request_of(self, event: Event) -> Request | None:
        """The request that an event belongs to, if anything is known of it."""
        return self.requests.get(event.request_id or "")


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
        if claim.priority is None:
            claim.priority = event.priority
        claim.disputed |= event.priority not in (None, claim.priority)
        claim.accepted = claim.accepted or event.kind is Kind.CLAIM_ACCEPTED
    binds = bind(claim, event)
    if event.kind is Kind.CLAIM_COMMITTED and binds and event.content_keys and not claim.tells:
        own, claim.tells = event.content_keys, True
        claim.keys = own if claim.keys[: len(own)] != own else claim.keys
    claim.known = claim.known or (event.kind in _OWNS and binds)
    return binds


def bind(claim: Claim, event: Event) -> bool:
    """Whether the event means the object that the claim was first bound to.

    What it states besides is bound as well, if it does.
    """
    stated = {name: value for name in IDENTITY if (value := getattr(event, name)) is not None}
    if "predicate" in stated:
        stated["predicate"] = predicate_of(stated["predicate"]).plain
    agrees = all(claim.stated.get(name, value) == value for name, value in stated.items())
    if agrees:
        claim.stated |= stated
    return agrees


def same_object(one: Claim, other: Claim) -> bool | None:
    """Whether two claims are on one object; None if it is unknown whether they share blocks."""
    here, there = (object_of(claim) for claim in (one, other))
    caches = {here.cache_identity, there.cache_identity} - {None}
    if len(caches) > 1:
        return False
    return True if here.object_id is not None and here == there else None


def object_of(claim: Claim) -> Object:
    """The object that a claim is on, as far as it is stated."""
    return Object(*map(claim.stated.get, Object._fields))


def alike(one: Claim, other: Claim, position: int) -> bool | None:
    """Whether a position of two claims holds the same, by what was stated."""
    keys = [claim.keys[position : position + 1] for claim in (one, other)]
    return keys[0] == keys[1] if all(keys) else same_object(one, other)


def meant(pool: Pool, event: Event) -> list[Claim]:
    """The claims, known to a registry, on the object that an event names, as far as it says."""
    about = about_of(event)
    return [claim for claim in pool.claims.values() if event.object_id and means(about, claim)]


def about_of(event: Event) -> Object:
    """The object that an event names."""
    return Object(event.object_id, event.cache_identity, event.token_map)


def means(about: Object, claim: Claim) -> bool:
    """Whether a claim, known to a registry, is on this object, as far as both say."""
    if not claim.known or claim.unwatched or claim.stated.get("object_id") != about.object_id:
        return False
    pairs = [(getattr(about, name), claim.stated.get(name)) for name in _WITHIN]
    return all(own is None or stated is None or own == stated for own, stated in pairs)


# Blocks.


def is_to_watch(pool: Pool, claim: Claim) -> bool:
    """Whether news is owed of the claim once it is registered: by the mode that it states, or by
    the one that judges where it states none that there is.
    """
    return pool.watched if claim.mode not in set(Mode) else claim.mode in _WATCHED


def is_tracked(pool: Pool, claim: Claim) -> bool:
    """Whether hooks say what becomes of the claim's blocks: it is responsible, or watched."""
    watched = is_to_watch(pool, claim) and claim.introduced and not claim.unwatched
    return claim.responsible or (watched and claim.state is not ClaimState.REFUSED)


def is_over(pool: Pool, claim: Claim) -> bool:
    """Whether the end of the claim was reported, and nothing is owed for it."""
    return claim.state in TERMINAL and not (claim.responsible or is_to_watch(pool, claim))


def held_by(pool: Pool, claim: Claim) -> set[tuple[int, int | None]]:
    """The positions of a claim that are held, each with a block."""
    if claim.unwatched:
        return set()
    return {(at, block) for owner, at, block in pool.placed if owner == claim.claim_id}


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


# Requests.


def in_hand(pool: Pool) -> dict[str, Request]:
    """The requests that arrived and have not ended."""
    return {name: request for name, request in pool.requests.items() if request.in_hand}


def attributed(pool: Pool, event: Event) -> list[str]:
    """The requests to which an event may belong: one, where that is known; none, where it is none.

    Blocks of which no event says who cached them were cached by the only request in hand.
    """
    if event.request_id is not None:
        return [event.request_id]
    computed = event.kind is Kind.BLOCK_CACHED and not event.found
    return list(in_hand(pool)) if computed else []
