"""An honest runtime: whatever it does it says, at once and truly, and keeps what it promised.

Claims share blocks by content; requests come and go, wait, are refused and come again. It is driven
by a source of chance, and writes canonical events that are not stamped with a sequence number. One
that is not honest does now and then what it must not, or does not say it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar, Final

from spec.claims.predicates import parse_predicate
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.events.alphabet import Kind
from spec.events.canonical import Event

__all__ = ["CLAIMS", "OWNER", "REQUESTS", "Promise", "Runtime"]

CLAIMS: Final = ("claim:a", "claim:b", "claim:c")
REQUESTS: Final = ("request:1", "request:2", "request:3")
OWNER: Final = "tenant"
USABLE: Final = 8
_CACHE: Final = "model/16"
_PREDICATES: Final = (
    "leading_prefix_at_least(1)",
    "leading_prefix_at_least(2)",
    "leading_prefix_at_least(2)",
    "contiguous_range(1, 2)",
)
_WATCHED: Final = frozenset(mode for mode, spec in MODES.items() if spec.constants["watched"])
_SAID: Final = (Kind.CLAIM_MATERIALIZED, Kind.CLAIM_UNMATERIALIZED, Kind.CLAIM_HARMED)
_SECOND: Final = 1_000_000_000


@dataclass(eq=False)
class Promise:
    """What the runtime knows of one claim. `keys` are the contents of its positions."""

    name: str
    mode: Mode
    object_id: str
    keys: tuple[str, ...]
    predicate: str
    priority: int
    duration: int | None = None
    registered: bool = False
    responsible: bool = False
    over: bool = False
    said: bool = False  # whether its predicate is said to hold
    there: bool = False  # whether it held since the commitment
    copied: bool = False
    restoring: str | None = None
    end: int | None = None
    held: set[int] = field(default_factory=set)

    @property
    def span(self) -> range:
        found = parse_predicate(self.predicate)
        return range(found.start, found.end)

    @property
    def watched(self) -> bool:
        return self.mode in _WATCHED

    @property
    def live(self) -> bool:
        return self.responsible or (self.watched and self.registered and not self.over)


class Runtime:
    """One pool; `told` is what was said so far.

    Args:
        mode: of most claims.
        keyed: whether commitments state the contents of their positions.
        timed: whether lines have times.
        honest: how likely it is that something is done as it must be.
    """

    others: ClassVar[float] = 0.15
    """How likely a claim, but for the first one, is of any mode."""

    def __init__(
        self, chance: Random, mode: Mode, *, keyed: bool, timed: bool, honest: float = 1
    ) -> None:
        self.chance, self.mode, self.keyed, self.honest = chance, mode, keyed, honest
        self.told: list[Event] = []
        self.now = 0 if timed else None
        self.blocks: dict[str, set[int]] = {}  # of each content that is cached
        self.free = list(range(100, 140))
        self.needs: dict[str, int] = {}  # of the requests in hand
        self.shared = chance.choice((0, 1, 2))  # contents that two objects have in common
        # Without keys no reader can know what the claims of two objects take together.
        self.counts = keyed or not self.shared
        self.claims = [self._promise(name) for name in CLAIMS[: chance.choice((1, 2, 2, 3))]]

    def _promise(self, name: str) -> Promise:
        chance = self.chance
        differs = name != CLAIMS[0] and chance.random() < self.others
        other = chance.choice(tuple(Mode)) if differs else None
        where, predicate = chance.choice("xyz"), chance.choice(_PREDICATES)
        size = parse_predicate(predicate).end + chance.choice((0, 0, 1))
        keys = [f"{'s' if at < self.shared and where != 'z' else where}{at}" for at in range(size)]
        mode = other or self.mode
        lasts = mode is Mode.EXPIRING or chance.random() < 0.1
        duration = chance.randrange(4, 20) if lasts and self.now is not None else None
        rank = chance.choice((1, 1, 5, 9))
        return Promise(name, mode, f"o:{where}", tuple(keys), predicate, rank, duration)

    def keeps(self, claim: Promise, mode: Mode) -> bool:
        """Whether the runtime treats the claim as this mode has it: it and most are of it."""
        return claim.mode is self.mode is mode

    # Saying.

    def say(self, kind: Kind, **fields: Any) -> None:
        """Say something now."""
        self.told.append(Event(kind=kind, time_ns=self.now, **fields))

    def of(self, kind: Kind, claim: Promise, **fields: Any) -> None:
        """Say something of a claim."""
        self.say(kind, claim_id=claim.name, **fields)

    def cheats(self) -> bool:
        """Whether what comes next is not as it must be."""
        return self.honest < 1 and self.honest < self.chance.random()

    def tick(self) -> None:
        """Time passes; what is over is said to be before anything else is done."""
        if self.now is not None:
            self.now += _SECOND
            for claim in self.claims:
                if claim.responsible and claim.end is not None and claim.end <= self.now:
                    if self.cheats():  # it is over, and nobody says so
                        claim.end = None
                        continue
                    if self.chance.random() < 0.3:
                        self.of(Kind.DURATION_ELAPSED, claim)
                    self.expire(claim)

    # Claims begin and end.

    def submit(self, claim: Promise) -> None:
        """A claim is registered, and taken on, turned away or withdrawn."""
        if claim.registered:
            return
        claim.registered = True
        asked: dict[str, Any] = {"mode": str(claim.mode), "owner_scope": OWNER}
        if claim.mode is Mode.SOFT_PRIORITY:
            asked["priority"] = claim.priority
        if claim.watched or self.chance.random() < 0.5:
            asked["footprint"] = len(claim.keys)
        if claim.duration is not None:
            asked["duration"] = f"{claim.duration} s"
        about = {"cache_identity": _CACHE, "object_id": claim.object_id}
        self.of(Kind.CLAIM_REGISTERED, claim, predicate=claim.predicate, **about, **asked)
        fate = self.chance.random()
        if claim.watched:
            if claim.mode is Mode.ROUTED_REUSE and fate < 0.2:
                self.of(Kind.CLAIM_ACCEPTED, claim, footprint=len(claim.keys))
        elif fate < 0.06:
            claim.over = True
            self.of(Kind.CLAIM_REJECTED, claim)
            return
        elif fate < 0.1:
            claim.over = True
            self.of(Kind.CLAIM_RELEASED, claim, by=OWNER)
            return
        else:
            self._commit(claim)
        there = {at: self.blocks[key] for at, key in enumerate(claim.keys) if self.blocks.get(key)}
        if there:
            blocks = {"block_ids": tuple(map(max, there.values())), "positions": tuple(there)}
            self.of(Kind.BLOCK_CACHED, claim, **blocks, found=True)
        self.look([claim])

    def _commit(self, claim: Promise) -> None:
        claim.responsible = True
        if claim.duration is not None and self.now is not None:
            claim.end = self.now + claim.duration * _SECOND
        size, keys = len(claim.keys), claim.keys if self.keyed else ()
        cheat = self.chance.randrange(5) if self.cheats() else None
        if cheat != 0:
            self.of(Kind.CLAIM_COMMITTED, claim, footprint=size, content_keys=keys)
        if cheat == 1:
            self.of(Kind.CLAIM_REJECTED, claim)
        if cheat != 2:
            self.of(Kind.CLAIM_ACCEPTED, claim, footprint=size + (cheat == 3))
        claim.there = claim.span and self._holds(claim)

    def retire(self, claim: Promise, by: str, report: Kind) -> None:
        """Responsibility ends, and is said to have."""
        claim.responsible, claim.over, claim.restoring = False, True, None
        cheat = self.chance.randrange(6) if self.cheats() else None
        if cheat == 0:
            self.of(report, claim, by=by)
        if cheat != 1:
            self.of(Kind.CLAIM_RETIRED, claim, by="runtime" if cheat == 2 and by == OWNER else by)
        if cheat == 3 or self.chance.random() < 0.05:
            said = Kind.CLAIM_MATERIALIZED if claim.said else Kind.CLAIM_UNMATERIALIZED
            self.of(said, claim)
        if cheat != 0 and (cheat != 4 or self.chance.random() < 0.5):
            self.of(report, claim, by="somebody" if cheat == 4 else by)
        if cheat == 5:
            self.of(Kind.CLAIM_COMMITTED, claim, footprint=len(claim.keys))

    def release(self, claim: Promise) -> None:
        """The owner gives the claim up."""
        if claim.responsible:
            self.retire(claim, OWNER, Kind.CLAIM_RELEASED)
        elif claim.live:
            claim.over = True
            self.of(Kind.CLAIM_RETIRED, claim, by=OWNER)

    def expire(self, claim: Promise) -> None:
        """The duration of the claim is over."""
        self.retire(claim, "runtime", Kind.CLAIM_EXPIRED)

    def demote(self, claim: Promise) -> None:
        """The claim is given up before it is lost."""
        if claim.responsible:
            by = "runtime" if self.keeps(claim, Mode.DEMOTABLE) else OWNER
            self.retire(claim, by, Kind.CLAIM_DEMOTED)

    # Blocks.

    def _holds(self, claim: Promise) -> bool:
        return all(at in claim.held for at in claim.span)

    def look(self, claims: Iterable[Promise], *, breaking: bool = False) -> None:
        """Say of these claims what became of their predicates."""
        for claim in claims:
            held = {at for at, key in enumerate(claim.keys) if self.blocks.get(key)}
            thinned = breaking and bool(claim.held - held)
            claim.held = held
            holds = self._holds(claim)
            claim.there |= holds
            was, claim.said = claim.said, holds if claim.live else claim.said
            if not claim.live or claim.restoring or (was != holds and self.cheats()):
                continue
            if self.cheats() and self.chance.random() < 0.2:
                self.of(self.chance.choice(_SAID), claim)
            if holds and not was:
                self.of(Kind.CLAIM_MATERIALIZED, claim)
            elif was and not holds:
                self._tell_loss(claim)
            elif thinned and claim.mode is Mode.SOFT_PRIORITY:
                self.of(Kind.CLAIM_BLOCK_LOST, claim)

    def _tell_loss(self, claim: Promise) -> None:
        if claim.watched:
            self.of(Kind.CLAIM_UNMATERIALIZED, claim)
        elif not (self.keeps(claim, Mode.OFFLOADABLE) and claim.copied):
            self.of(Kind.CLAIM_HARMED, claim)

    def compute(self, claim: Promise, request: str | None, *, found: bool = False) -> None:
        """Blocks of the claim that are missing are computed, or found, and cached."""
        missing = {at: key for at, key in enumerate(claim.keys) if not self.blocks.get(key)}
        self.place(claim, missing, Kind.BLOCK_CACHED, request, found=found)

    def place(
        self, claim: Promise, missing: dict[int, str], kind: Kind, request: str | None, **more: Any
    ) -> list[Promise]:
        """These positions are held from now on, for every claim on the same content."""
        if not missing:
            return []
        for key in missing.values():
            self.blocks.setdefault(key, set()).add(self.free.pop(0))
        gained = [c for c in self.claims if set(c.keys) & set(missing.values()) and c.registered]
        gained = [c for c in gained if not c.over]
        for each in [claim, *(other for other in gained if other is not claim)]:
            pairs = {
                at: max(self.blocks[key])
                for at, key in enumerate(each.keys)
                if key in missing.values()
            }
            said = kind if each is claim else Kind.BLOCK_CACHED
            if said is Kind.BLOCK_CACHED:
                more = {"found": more.get("found", False) or each is not claim}
            about: dict[str, Any] = {"claim_id": each.name}
            if each is claim and self.chance.random() < 0.2 and kind is Kind.BLOCK_CACHED:
                about = {"object_id": each.object_id, "cache_identity": _CACHE}
            blocks = {"block_ids": tuple(pairs.values()), "positions": tuple(pairs)}
            self.say(said, **about, request_id=request, **blocks, **more)
        if kind is Kind.BLOCK_CACHED:
            self.look(gained)
        return gained

    def copy(self, claim: Promise) -> None:
        """A second block comes to hold a position, or one that has two loses one."""
        at = self.chance.randrange(len(claim.keys))
        blocks = self.blocks.get(claim.keys[at], set())
        if len(blocks) == 1 and claim.live:
            blocks.add(block := self.free.pop(0))
            for each in self.claims:
                if claim.keys[at] in each.keys and each.live:
                    about = {"block_ids": (block,), "positions": (each.keys.index(claim.keys[at]),)}
                    self.of(Kind.BLOCK_CACHED, each, **about, found=True)
        elif len(blocks) > 1:
            blocks.remove(block := min(blocks))
            self.free.append(block)
            self.say(Kind.BLOCK_EVICTED, block_ids=(block,))

    def lose(self, keys: Iterable[str], kind: Kind, of: Promise | None = None, **more: Any) -> None:
        """These contents are gone, of all claims; told by their blocks, or as all of a claim."""
        gone = [block for key in keys for block in self.blocks.pop(key, ())]
        if gone:
            self.free += gone
            whose: dict[str, Any] = {"block_ids": tuple(gone)}
            self.say(kind, **({"claim_id": of.name} if of is not None else whose), **more)
            self.look(self.claims, breaking=True)

    def reset(self) -> None:
        """The whole cache is lost, or the blocks of one claim are."""
        if self.chance.random() < 0.3 and self.blocks:
            self.free += [block for blocks in self.blocks.values() for block in blocks]
            self.blocks.clear()
            self.say(Kind.BLOCK_LOST)
            self.look(self.claims, breaking=True)
        else:
            claim = self.chance.choice(self.claims)
            if claim.live and self.chance.random() < 0.3:
                self.lose(claim.keys, Kind.BLOCK_LOST, of=claim)
            else:
                self.lose(claim.keys[:2], Kind.BLOCK_LOST)

    def evict(self, claim: Promise) -> None:
        """Blocks of the claim are taken, if nobody is kept from losing them."""
        keys = [key for key in claim.keys if self.blocks.get(key)][-self.chance.choice((1, 2, 3)) :]
        touched = [c for c in self.claims if set(keys) & set(c.keys) and c.live]
        for other in touched:
            gives = other.mode is Mode.DEMOTABLE or other.mode is not self.mode
            if other.responsible and gives and not self.cheats():
                self.demote(other)
        if self.mode is Mode.SOFT_PRIORITY:
            self._evict_ranked(claim, keys)
        elif all(not c.responsible or self._spare(c) for c in touched) or self.cheats():
            self.lose(keys, Kind.BLOCK_EVICTED)

    def _spare(self, claim: Promise) -> bool:
        """Whether the claim may leave the GPU."""
        return claim.copied and self.keeps(claim, Mode.OFFLOADABLE)

    def _evict_ranked(self, claim: Promise, keys: list[str]) -> None:
        """The lowest first, or one that no lower one could be taken instead of."""
        ranked = [c for c in self.claims if c.live and c.held and c.mode is Mode.SOFT_PRIORITY]
        lowest = min((c.priority for c in ranked), default=0)
        touched = [c for c in ranked if set(keys) & set(c.keys)]
        top = max((c.priority for c in touched), default=0)
        if top <= lowest or self.cheats():
            stated = self.chance.choice(({}, {"lowest_priority": lowest}))
            self.lose(keys, Kind.BLOCK_EVICTED, **stated)
        elif self.chance.random() < 0.4:
            self.lose(keys, Kind.BLOCK_EVICTED, lowest_priority=top)
