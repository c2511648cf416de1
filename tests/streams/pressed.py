"""Streams in which claims press on each other: requests that do not fit, actions on them, blocks
that claims share, restores, and requests that are routed.

Their runtime is honest, or does what it likes as often as a stream's `slack` says. They are short,
and what they are dense in is what caches of the monitor have to tell apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import msgspec

from spec.claims.claim import Mode
from spec.events.alphabet import CONFLICT_ACTIONS, Kind
from spec.events.canonical import CapacityProof, Event
from spec.projection.lines import Line

__all__ = ["pressed"]

_ACCEPTED: Final = (Mode.HARD_PROTECTED, Mode.DEMOTABLE, Mode.EXPIRING, Mode.OFFLOADABLE)
_ACTIONS: Final = sorted(CONFLICT_ACTIONS)
_SLACK: Final = (0, 0, 0, 0.15, 0.5, 1)
_LIVE: Final = 7
_DEEP: Final = 3  # things that happen in the middle of others


def pressed(chance: Random, modes: tuple[Mode, ...]) -> list[Line]:
    """One stream, in lines of one event each, about claims of these modes."""
    made = _Pressed(chance, modes)
    for _ in range(chance.choice((1, 2, 4))):
        made.enter()
    for _ in range(chance.choice((10, 20, 40))):
        made.act()
    times = sorted(event.time_ns or 0 for event in made.told)
    events = [
        msgspec.structs.replace(event, time_ns=time)
        for event, time in zip(made.told, times, strict=True)
    ]
    return [Line(at, (event,), at - 1, event.time_ns) for at, event in enumerate(events, 1)]


@dataclass
class _Claim:
    name: str
    mode: Mode
    size: int
    threshold: int
    blocks: dict[int, int] = field(default_factory=dict)  # by their positions
    ended: bool = False
    copied: bool = False
    committed: bool = False
    reported: bool = False

    @property
    def lead(self) -> int:
        return next(at for at in range(self.size + 1) if at not in self.blocks)


class _Pressed:
    def __init__(self, chance: Random, modes: tuple[Mode, ...]) -> None:
        self.chance, self.modes = chance, modes
        self.told: list[Event] = []
        self.claims: dict[str, _Claim] = {}
        self.requests: dict[str, tuple[int, int]] = {}  # needed, usable
        self.acted = set[str]()
        self.slack = chance.choice(_SLACK)
        self.keyed, self.one_object = chance.random() < 0.5, chance.random() < 0.25
        self._time = self._blocks = self._arrived = self._depth = 0

    def say(self, kind: Kind, **fields: Any) -> None:
        self._time += self.chance.choice((0, 300_000, 2_000_000))
        self.told.append(Event(kind=kind, time_ns=self._time, **fields))

    def may(self, share: float) -> bool:
        """Whether a thing is done as it need not be."""
        return self.chance.random() < share * self.slack

    def inside(self, do: Callable[[], None]) -> None:
        if self._depth < _DEEP:
            self._depth += 1
            do()
            self._depth -= 1

    def act(self) -> None:
        """One thing happens, and now and then what was told is left out or said twice."""
        chance, of = self.chance, self.chance.random()
        if of < 0.2 and len(self.live) < _LIVE:
            self.inside(self.enter)
        elif of < 0.4:
            self.arrive()
        elif of < 0.86 and self.requests:
            request = chance.choice(list(self.requests))
            if of < 0.55:
                self.press(request)
            elif of < 0.72:
                self.inside(lambda: self.use(request))
            else:
                self.finish(request)
        elif of < 0.93:
            self.evict()
        else:
            self.inside(self.leave)
        if self.may(0.03) and self.told:
            at = chance.randrange(len(self.told))
            if chance.random() < 0.5:
                del self.told[at]
            else:
                self.told.insert(at, self.told[at])

    @property
    def live(self) -> list[_Claim]:
        return [claim for claim in self.claims.values() if not claim.ended]

    @property
    def committed(self) -> list[_Claim]:
        return [claim for claim in self.live if claim.committed]

    # Claims.

    def enter(self) -> None:
        chance, number = self.chance, len(self.claims) + 1
        size = chance.choice((1, 2, 2, 2, 3))
        claim = _Claim(f"c{number}", chance.choice(self.modes), size, chance.randint(1, size))
        self.claims[claim.name] = claim
        about: dict[str, Any] = {"claim_id": claim.name}
        if not self.may(0.03):
            self.say(Kind.CLAIM_REGISTERED, **about, **self._terms(claim, number))
        if claim.mode in _ACCEPTED or chance.random() < 0.1:
            keys = self._keys(claim) if self.keyed and chance.random() < 0.8 else ()
            self.say(Kind.CLAIM_COMMITTED, **about, footprint=size, content_keys=keys)
            claim.committed = True
            if self.may(0.3):
                self.act()
            if not self.may(0.05):
                self.say(Kind.CLAIM_ACCEPTED, **about, footprint=size + self.may(0.1))
        if not self.may(0.2):
            self.fill(claim, None)

    def _terms(self, claim: _Claim, number: int) -> dict[str, Any]:
        chance, mode = self.chance, claim.mode
        terms: dict[str, Any] = {
            "object_id": f"o{chance.randint(1, 3) if self.one_object else number}",
            "cache_identity": chance.choice(("m", "m", "n")),
            "predicate": f"leading_prefix_at_least({claim.threshold})",
            "mode": str(mode),
            "owner_scope": "t",
        }
        if mode is Mode.EXPIRING:
            short = chance.choice(("0.001 s", "0.02 s"))
            terms["duration"] = short if self.may(0.5) else "100000 s"
        if mode is Mode.SOFT_PRIORITY:
            terms["priority"] = chance.randint(1, 3)
        return terms if self.may(0.05) else {**terms, "footprint": claim.size}

    def _keys(self, claim: _Claim) -> tuple[str, ...]:
        rest = (self.chance.choice((f"k{at}", f"k{at}{claim.name}")) for at in range(1, claim.size))
        return self.chance.choice(("s1", "s2")), *rest

    def fill(self, claim: _Claim, request: str | None) -> None:
        chance = self.chance
        positions = [at for at in range(claim.size) if at not in claim.blocks] or [0]
        positions = positions[:1] if self.may(0.2) else positions
        for at in positions:
            others = [each.blocks[at] for each in self.claims.values() if at in each.blocks]
            self._blocks += 1
            shares = others and not self.keyed and chance.random() < 0.15
            claim.blocks[at] = chance.choice(others) if shares else self._blocks
        blocks = tuple(claim.blocks[at] for at in positions)
        self.say(
            Kind.BLOCK_CACHED,
            claim_id=claim.name,
            request_id=request,
            block_ids=blocks,
            positions=tuple(positions),
            found=chance.random() < 0.3,
        )
        for each in self.claims.values():
            whole = each.lead >= each.threshold and not each.reported
            if whole and (each.committed or each is claim) and not self.may(0.1):
                self.say(Kind.CLAIM_MATERIALIZED, claim_id=each.name)
                each.reported = True
        if claim.mode is Mode.OFFLOADABLE and chance.random() < 0.8:
            self.say(Kind.STORE_FINISHED, claim_id=claim.name)
            claim.copied = True

    def evict(self) -> None:
        """Blocks go of a claim that ended, or has a copy; or of any."""
        may_go = [
            claim
            for claim in self.claims.values()
            if claim.blocks and (claim.ended or claim.copied or self.slack)
        ]
        if not may_go:
            return
        claim = self.chance.choice(may_go)
        blocks = tuple(dict.fromkeys(claim.blocks.values()))
        lost = blocks[-1:] if self.chance.random() < 0.3 else blocks
        self._lose(lost)
        if claim.mode is Mode.SOFT_PRIORITY and self.chance.random() < 0.8:
            self.say(Kind.CLAIM_BLOCK_LOST, claim_id=claim.name, block_ids=lost)
        if (not claim.ended or self.may(0.5)) and not self.may(0.2):
            claim.reported = False
            report = Kind.CLAIM_UNMATERIALIZED if claim.copied else Kind.CLAIM_HARMED
            self.say(report, claim_id=claim.name)
            if claim.copied and self.chance.random() < 0.7:
                self.say(Kind.CLAIM_OFFLOADED, claim_id=claim.name)

    def _lose(self, blocks: tuple[int, ...]) -> None:
        kind = self.chance.choice((Kind.BLOCK_EVICTED, Kind.BLOCK_EVICTED, Kind.BLOCK_LOST))
        self.say(kind, block_ids=blocks)
        for claim in self.claims.values():
            kept = {at: block for at, block in claim.blocks.items() if block not in blocks}
            claim.blocks = kept

    def leave(self) -> None:
        if not self.live:
            return
        claim = self.chance.choice(self.live)
        claim.ended, claim.committed = True, False
        by: dict[str, Any] = {"claim_id": claim.name, "by": "t"}
        self.say(Kind.CLAIM_RETIRED, **by)
        if self.may(0.3):
            self.act()
        if not self.may(0.1):
            self.say(Kind.CLAIM_DEMOTED if self.may(0.3) else Kind.CLAIM_RELEASED, **by)
        if self.chance.random() < 0.6 and claim.blocks:
            self._lose(tuple(dict.fromkeys(claim.blocks.values())))

    # Requests.

    def arrive(self) -> None:
        chance, taken = self.chance, sum(claim.size for claim in self.committed)
        usable = max(1, chance.choice((taken, taken + 1, taken + 2, 8, 20)))
        few = (1, 1, 2, usable, max(0, usable - taken), max(0, usable - taken + 1), usable + 1)
        needed = chance.choice(few)
        if not self.slack and (self.keyed or self.one_object):
            usable = needed + 1_000
        elif not self.slack and needed + taken > usable:
            needed = usable  # then all claims stand in its way
        self._arrived += 1
        request = f"q{self._arrived}"
        self.requests[request] = needed, usable
        about = {"claim_id": chance.choice(self.live).name} if self.live and self.may(0.03) else {}
        self.say(Kind.REQUEST_ARRIVED, request_id=request, needed=needed, usable=usable, **about)

    def press(self, request: str) -> None:
        """An action on a request; an honest one is taken once, on one that does not fit."""
        chance, (needed, usable) = self.chance, self.requests[request]
        taken = sum(claim.size for claim in self.committed)
        fits = not needed <= usable < taken + needed
        if not self.slack and (fits or request in self.acted):
            return
        self.acted.add(request)
        names = [claim.name for claim in self.committed]
        if self.may(0.5):
            names = chance.sample(names, chance.randint(0, len(names)))
        if self.may(0.1):
            names.append(chance.choice((*self.claims, "stranger")))
        more: dict[str, Any] = {}
        if chance.random() < 0.6:
            total = taken + needed
            sums = [taken, needed, total, usable, max(0, total - usable)]
            proof = [max(0, each + chance.choice((-1, 1)) * self.may(0.1)) for each in sums]
            more["proof"] = CapacityProof(*proof)
        if self.may(0.1):
            more[chance.choice(("restore", "echo"))] = True
        if self.may(0.05) and names:
            more["outcome_claim_id"] = chance.choice(names)
        kind = Kind.REQUEST_REFUSED if chance.random() < 0.6 else chance.choice(_ACTIONS)
        blocking = tuple(dict.fromkeys(names))
        self.say(kind, request_id=request, blocking_claim_ids=blocking, **more)

    def finish(self, request: str) -> None:
        if not self.slack:
            self.press(request)
        self.say(Kind.REQUEST_FINISHED, request_id=request)
        del self.requests[request]

    def use(self, request: str) -> None:
        """A request is routed to a claim, has it restored, computes it, or reuses it."""
        if not self.live:
            return
        claim = self.chance.choice(self.live)
        both: dict[str, Any] = {"claim_id": claim.name, "request_id": request}
        away = claim.lead < claim.size
        if self.may(0.05) or (claim.mode is Mode.ROUTED_REUSE and self.chance.random() < 0.8):
            for _ in range(self.chance.choice((1, 1, 2))):
                self._route(both)
        elif away and claim.copied and self.chance.random() < 0.7:
            self._restore(claim, both)
        elif away and self.chance.random() < 0.5:
            self.fill(claim, request if self.chance.random() < 0.7 else None)
        else:
            self.say(Kind.PREFIX_LOOKUP, **both, held=claim.lead, asked=claim.size)
            if self.chance.random() < 0.8:
                self.say(Kind.PREFIX_REUSED, **both)

    def _route(self, both: dict[str, Any]) -> None:
        chance = self.chance
        cost, worker = {"cost": chance.randint(0, 2)}, {"worker": f"w{chance.randint(0, 1)}"}
        hit = {"hit": chance.random() < 0.7}
        reports = (
            (Kind.ROUTE_COST_REPORTED, cost, {"cost": 1}),
            (Kind.ROUTE_PLACEMENT_REPORTED, worker, {"worker": "w0"}),
            (Kind.ROUTE_REUSE_REPORTED, hit, {"hit": True}),
        )
        self.say(Kind.REQUEST_ROUTED, **both, **cost, **worker)
        for kind, right, wrong in reports:
            if kind is Kind.ROUTE_REUSE_REPORTED:
                if self.may(0.3):
                    self.act()
                self.say(Kind.REUSE_SERVED, **both, **hit)
            if not self.may(0.1):
                said: dict[str, Any] = wrong if self.may(0.1) else right
                self.say(kind, **both, **said)

    def _restore(self, claim: _Claim, both: dict[str, Any]) -> None:
        self.say(Kind.PREFIX_LOOKUP, **both, held=claim.lead, asked=claim.size)
        self.say(Kind.CLAIM_RESTORE_REQUIRED, **both)
        if self.chance.random() < 0.25:
            outcome = self.chance.choice(("refusal", "harm", "expiry", "demotion"))
            self.say(Kind.LOAD_FAILED, **both)
            if not self.may(0.2):
                self.say(Kind.CLAIM_RESTORATION_FAILED, **both, outcome=outcome)
            blocking = {"blocking_claim_ids": (claim.name,), "restore": True}
            self.say(Kind.REQUEST_REFUSED, request_id=both["request_id"], **blocking)
            return
        if self.may(0.3):
            self.act()
        for at in range(claim.size):
            self._blocks += 1
            claim.blocks[at] = self._blocks
        there = {"block_ids": tuple(claim.blocks.values()), "positions": tuple(claim.blocks)}
        self.say(Kind.LOAD_FINISHED, **both, **there, held=claim.size)
        self.say(Kind.CLAIM_RESTORED, **both, from_tier=True)
        self.say(Kind.PREFIX_REUSED, **both)
